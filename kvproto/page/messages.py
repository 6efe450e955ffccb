"""Messages and causes in the space-time diagram: sloped lines between the machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvproto.page.labels import on_line
from kvproto.page.layout import EVENT, Layout
from kvproto.page.space import Point
from kvproto.page.svg import Shape, group, moved, tag, title
from kvproto.report.report import Message
from kvproto.trace.printable import cut, printable

_WORD = 20


def messages(layout: Layout) -> str:
    """A line for all messages that go from one step to another; a stub for what nobody has taken."""
    together: dict[tuple[int, int | None], list[Message]] = {}
    for message in layout.report.messages:
        together.setdefault((message.sent, message.taken), []).append(message)
    return "".join(
        _stub(layout, sent, found) if taken is None else _message(layout, sent, taken, found)
        for (sent, taken), found in together.items()
    )


def _told(found: Sequence[Message]) -> str:
    first = found[0]
    what = "; ".join(dict.fromkeys(f"{message.text} in {message.path}" for message in found))
    taken = f"taken by {first.taker} at step {first.taken}" if first.taken is not None else "taken by nobody yet"
    return f"{what}: sent by {first.sender} at step {first.sent}, {taken}"


def _attributes(sent: int, taken: int | None, found: Sequence[Message]) -> Shape:
    return {
        "class": "message",
        "data-from": str(sent),
        "data-to": None if taken is None else str(taken),
        "data-path": " ".join(dict.fromkeys(message.path for message in found)),
    }


def _message(layout: Layout, sent: int, taken: int, found: Sequence[Message]) -> str:
    start, stop = _line(layout, found[0])
    names = list(dict.fromkeys(printable(message.text) for message in found))
    return group(
        _attributes(sent, taken, found),
        title(_told(found)),
        tag("line", {"class": "line", "x1": start[0], "y1": start[1], "x2": stop[0], "y2": stop[1]}),
        on_line(layout.space, cut(", ".join(names), _WORD), EVENT, start, stop),
    )


def lines(layout: Layout) -> Iterator[tuple[Point, Point]]:
    """The lines of all messages that were taken."""
    return (_line(layout, message) for message in layout.report.messages if message.taken is not None)


def _line(layout: Layout, message: Message) -> tuple[Point, Point]:
    """From rim to rim of the dots."""
    x1, x2 = layout.lane(message.sender).x, layout.lane(message.taker).x
    way = 1 if x2 >= x1 else -1
    return (x1 + 5 * way, layout.y(message.sent)), (x2 - 7 * way, layout.y(message.taken or 0))


def _stub(layout: Layout, sent: int, found: Sequence[Message]) -> str:
    """A short line that ends open."""
    x, y = layout.lane(found[0].sender).x, layout.y(sent)
    stub = '<path class="line stub" d="M-4 3L-15 9"/><circle class="open" cx="-18" cy="10.5" r="3.2"/>'
    return group(
        _attributes(sent, None, found),
        title(_told(found)),
        tag("g", {"class": "from", "transform": moved(x, y)}, stub),
    )


def causes(layout: Layout) -> str:
    """What the steps of the slice read from each other, shown on demand."""
    together: dict[tuple[int, int], list[str]] = {}
    for edge in layout.report.causes:
        together.setdefault((edge.source, edge.step), []).append(edge.path)
    return "".join(_cause(layout, source, step, paths) for (source, step), paths in together.items())


def _cause(layout: Layout, source: int, step: int, paths: Sequence[str]) -> str:
    report = layout.report
    x1, x2 = (layout.lane(report.row(number).lane).x for number in (source, step))
    told = f"step {step} read what step {source} wrote: {', '.join(dict.fromkeys(paths))}"
    line = tag("line", {"class": "line", "x1": x1, "y1": layout.y(source), "x2": x2, "y2": layout.y(step)})
    return group({"class": "cause", "data-from": str(source), "data-to": str(step)}, title(told), line)
