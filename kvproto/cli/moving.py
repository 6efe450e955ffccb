"""`kvproto replay --transport`: what moves the pages, how often the trace is run, and what that showed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import click

from kvproto.diagnostics import KvError
from kvproto.replay import ReplayResult
from kvproto.replay import replay as run
from kvproto.trace.trace import Trace
from kvproto.transports.registry import TRANSPORTS, make

LANDINGS = ("land", "land_late")
"""Actions of the models that let a write arrive."""

OPTIONS = (
    click.option(
        "--transport",
        type=click.Choice(list(TRANSPORTS)),
        default="scripted",
        show_default=True,
        help="What moves the pages.",
    ),
    click.option("--repeat", type=click.IntRange(1, 1000), default=1, metavar="N", help="Run so often, and compare."),
    click.option("--early-success", is_flag=True, help="The sender is told of success once the bytes have left it."),
    click.option("--landings-last", is_flag=True, help="What if: the same schedule, but writes land after all else."),
    click.option("--late", multiple=True, metavar="REQUEST", help="What if: the same for this request's writes alone."),
    click.option("--events", is_flag=True, help="Print every event of the transport."),
)


@dataclass(slots=True)
class Moving:
    """The options, and after `replay` what the runs had to tell.

    `strange` is the number of the first run that differs from the first one, in events, pages or outcome; 0 for none.
    """

    transport: str = "scripted"
    repeat: int = 1
    early_success: bool = False
    landings_last: bool = False
    late: tuple[str, ...] = ()
    events: bool = False
    log: list[str] = field(default_factory=list)
    strange: int = 0
    shared_network: bool = False

    @property
    def asked(self) -> bool:
        """Whether anything but the default was asked for."""
        return self != Moving(log=self.log, strange=self.strange, shared_network=self.shared_network)

    def replay(self, trace: Trace, **how: Any) -> ReplayResult:
        """Run a trace as often as was asked for, and give back what the first run gave."""
        if self.landings_last and self.late:
            raise KvError(
                "KV026",
                "--late says nothing with --landings-last",
                reason="the writes of all requests land last then",
                cure="leave one of the two out",
            )
        if self.landings_last:
            trace, how = _late(trace, None), {**how, "what_if": "writes land last"}
        elif self.late:
            trace, how = _late(trace, self.late), {**how, "what_if": f"writes of {', '.join(self.late)} land last"}
        first, self.log = self._once(trace, how)
        for number in range(2, self.repeat + 1):
            if not self.strange and self._once(trace, how) != (first, self.log):
                self.strange = number
        return first

    def _once(self, trace: Trace, how: dict[str, Any]) -> tuple[ReplayResult, list[str]]:
        mover = make(self.transport, early_success=self.early_success)
        try:
            result = run(trace, mover=mover, **how)
        finally:
            mover.close()
        self.shared_network = getattr(mover, "isolated", True) is False
        return result, mover.log

    def lines(self) -> list[str]:
        """What the report says of the transport, if anything but the default was asked for."""
        if not self.asked:
            return []
        told = [f"transport {self.transport}" + (", success reported early" if self.early_success else "")]
        told += [f"  {event}" for event in self.log] if self.events or self.transport != "scripted" else []
        if self.strange:
            told.append(f"run {self.strange} differs from run 1: in its events, its pages or its outcome")
        elif self.repeat > 1:
            told.append(f"{self.repeat} of {self.repeat} runs: the same events, and the same pages after every step")
        if self.shared_network:
            told.append("the engines shared this machine's network, on which they listen on all interfaces")
        return ["", *told]

    def summary(self) -> dict[str, object]:
        """The same as JSON values."""
        return {
            "name": self.transport,
            "early_success": self.early_success,
            "landings_last": self.landings_last,
            "late": list(self.late),
            "runs": self.repeat,
            "strange_run": self.strange or None,
            "events": self.log,
        }


def _late(trace: Trace, requests: tuple[str, ...] | None) -> Trace:
    """The same schedule with all landings at its end, or with those of some requests."""
    late = [s for s in trace.steps if s.action in LANDINGS and (requests is None or s.args.get("r") in requests)]
    missing = [name for name in requests or () if name not in {step.args.get("r") for step in late}]
    if missing or not late:
        option = f"--late {missing[0]}" if missing else "--landings-last"
        raise KvError(
            "KV026",
            f"{option} says nothing about this trace",
            reason=f"no write{' of that request' if missing else ''} lands in it",
            cure=f"leave {option} out",
        )
    return replace(trace, steps=(*(step for step in trace.steps if step not in late), *late))


def with_transport(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command that replays a trace; it is given a `Moving` instead of them."""

    @functools.wraps(command)
    def given_moving(**given: Any) -> int:
        names = ("transport", "repeat", "early_success", "landings_last", "late", "events")
        return command(moving=Moving(**{name: given.pop(name) for name in names}), **given)

    for option in reversed(OPTIONS):
        given_moving = option(given_moving)
    return given_moving
