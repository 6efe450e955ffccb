"""The script: a Python file that needs nothing but Python, with the orders as data and a runner."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from string import Template

from kvproto.injection.schedule import Event, Order, Schedule


def script(schedule: Schedule, name: str) -> str:
    """The text of the script; `name` is what the trace's file is called."""
    trace = schedule.trace
    template = resources.files("kvproto.injection").joinpath("script.txt").read_text(encoding="utf-8")
    target = f"{trace.model}@{trace.preset}" if trace.preset else trace.model
    return Template(template).substitute(
        trace=_plain(name),
        target=_plain(target),
        property=repr(trace.property),
        claim=repr(trace.claim),
        why=_rows(repr(sentence) for sentence in trace.why),
        events=_rows(_event(event) for event in schedule.events),
        orders=_rows(_order(order) for order in schedule.orders),
        pages=_rows(repr((page.pool, page.page, page.owner, page.content)) for page in schedule.pages),
    )


def _plain(text: str) -> str:
    """Text for a docstring: one line, without quotes or escapes."""
    return "".join(char if char.isprintable() and char not in '"\\' else "?" for char in text)


def _rows(rows: Iterable[str]) -> str:
    """The items of a tuple, one a line."""
    return "".join(f"    {row},\n" for row in rows)


def _event(event: Event) -> str:
    return (
        f"Event({event.call!r}, {event.action!r}, {dict(event.args)!r}, {event.lane!r}, {event.text!r}, {event.code!r})"
    )


def _order(order: Order) -> str:
    needed = f", {order.needed}" if order.hook == "hold" else ""
    note = f", {order.note!r}" if order.note or needed else ""
    return f"({order.hook!r}, {order.event.call!r}, {order.step}{note}{needed})"
