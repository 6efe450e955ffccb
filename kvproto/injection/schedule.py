"""The orders of a bench: what to hold, cause, let go, drop and wait for, so that a run goes as the trace says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.starting import call
from kvproto.injection.needed import Needed
from kvproto.ir.nodes import Action
from kvproto.ir.types import label
from kvproto.trace.trace import Trace, Value
from kvproto.whatif.subject import Subject

Hook = Literal["hold", "cause", "release", "drop", "wait_for"]

OUTSIDE = ("router", "client", "clients", "user", "users", "environment")
"""Lanes of those who use the engine: what they do is done by the test."""

FAULTS = {"outline": ("fail_transfer",)}
"""Faults of shipped models that do not say which steps are put off for ever."""

LOSSES = {
    "lose_up": {"METADATA": "receive_metadata", "ABORT": "receive_abort"},
    "lose_down": {"SUCCESS": "receive_success", "FAILED": "receive_failure", "ACK": "receive_ack"},
}
"""Actions of the shipped models in which a message is lost: kind of message -> what would have happened to it."""

GIVEN_UP = {"vanish": "land_late"}
"""Actions in which a write is given up, and what would have happened to it."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens in the engine or to it.  `call` names it; `code` is where it is in the engine."""

    call: str
    action: str
    args: Mapping[str, Value]
    lane: str
    text: str
    code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """One order to the bench.  `step` is the step of the trace, 0 for holds, which come first; `note` says why.

    `needed` is said of holds: without it the run does not get to where the trace ends, the other needed ones given.
    """

    hook: Hook
    event: Event
    step: int
    note: str = ""
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """A page at the end of the run that holds something else than its owner's."""

    pool: str
    page: str
    owner: str
    content: str | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """A trace as orders.  With the needed holds alone, and all else as early as it can be, the model gets there too."""

    trace: Trace
    orders: tuple[Order, ...]
    pages: tuple[Page, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, each once, as they first occur."""
        return tuple({order.event.call: order.event for order in self.orders}.values())


def schedule(subject: Subject) -> Schedule:
    """The orders for a trace."""
    return _Planner(subject).plan()


class _Planner:
    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.trace = subject.trace
        self.system = subject.system
        self.machine = Machine(self.system)
        self.actions = {action.name: action for action in self.system.actions}
        self.fair = {name for fairness in self.system.fairness for name in fairness.actions}

    def plan(self) -> Schedule:
        steps = [(self.actions[name], args) for name, args in self.subject.calls]
        held = self._held(steps)
        dropped = {self._event(*lost).call for action, args in steps if (lost := self._lost(action, args)) is not None}
        reasons = Needed(self.system, self.subject, steps, tuple(held)).reasons()
        orders = []
        for event, (first, last) in held.items():
            note = self._note(first, last, reasons.get(event))
            orders.append(Order("hold", self._event(*event), 0, note, needed=event in reasons))
        orders += [
            Order("hold", self._event(*lost), 0, "it is lost in this run")
            for action, args in steps
            if (lost := self._lost(action, args)) is not None and lost not in held
        ]
        for number, (action, args) in enumerate(steps, 1):
            lost = self._lost(action, args)
            if lost is not None:
                orders.append(Order("drop", self._event(*lost), number, _sentence(action, self._labels(action, args))))
                continue
            by_itself = self.own(action)
            happens = self._event(action, args)
            waits = (action, args) in held or happens.call in dropped
            hook: Hook = "cause" if not by_itself else "release" if waits else "wait_for"
            orders.append(Order(hook, happens, number))
        return Schedule(self.trace, tuple(orders), tuple(self._pages()))

    def own(self, action: Action) -> bool:
        """Whether the engine does this by itself, sooner or later."""
        if action.machine in OUTSIDE or action.name in FAULTS.get(self.system.model, ()):
            return False
        if "timeout" in action.name or "time_out" in action.name:
            return False
        return not self.fair or action.name in self.fair

    def _held(self, steps: list[tuple[Action, Args]]) -> dict[tuple[Action, Args], tuple[int, int]]:
        """Events that could happen where the trace does something else: the first and the last step they wait for."""
        found: dict[tuple[Action, Args], tuple[int, int]] = {}
        for at, state in enumerate(self.subject.states):
            following = steps[at] if at < len(steps) else None
            for event in self.possible(state):
                if event != following:
                    found[event] = (found.get(event, (at + 1, 0))[0], at + 1)
        return found

    def possible(self, state: State) -> Iterable[tuple[Action, Args]]:
        """What the engine could do by itself in a state; steps that change nothing are none."""
        for action in self.system.actions:
            if not action.switched_off and self.own(action):
                for args in choices(action.params):
                    if self._changes(state, action, args):
                        yield action, args

    def _changes(self, state: State, action: Action, args: Args) -> bool:
        try:
            after = self.machine.step(action.params, action.body, state, args)
        except Fault:
            return True
        return after is not None and after != state

    def _note(self, first: int, last: int, reason: str | None) -> str:
        steps = f"step {first}" if first == last else f"steps {first} to {last}"
        if first > len(self.trace.steps):
            return "it could happen once the trace has ended"
        return f"it could happen at {steps}; {reason or 'the order does not matter'}"

    def _lost(self, action: Action, args: Args) -> tuple[Action, Args] | None:
        """What would have happened to the message or write that this action loses."""
        by_name = dict(zip((p.name for p in action.params), args, strict=True))
        name = GIVEN_UP.get(action.name) or LOSSES.get(action.name, {}).get(str(by_name.get("m")))
        other = self.actions.get(name) if name is not None else None
        if other is None or not {p.name for p in other.params} <= set(by_name):
            return None
        return other, tuple(by_name[p.name] for p in other.params)

    def _labels(self, action: Action, args: Args) -> dict[str, Value]:
        return {p.name: label(value, p.type) for p, value in zip(action.params, args, strict=True)}

    def _event(self, action: Action, args: Args) -> Event:
        labels = self._labels(action, args)
        code = tuple(cite for cite in action.cites if not cite.startswith("note:"))
        return Event(call(action, args), action.name, labels, action.machine, _sentence(action, labels), code)

    def _pages(self) -> Iterable[Page]:
        """Owned pages of the last state that hold something else than their owner's."""
        *_, last = self.trace.states()
        for pool in self.trace.vocabulary.pools:
            for page in pool.pages:
                owner = last.get(pool.owned(page))
                if owner is not None:
                    contents = [last.get(path) for path in pool.contents(page).values()]
                    for content in [other for other in contents if other != owner][:1]:
                        yield Page(pool.name, page, str(owner), None if content is None else str(content))


def _sentence(action: Action, labels: Mapping[str, Value]) -> str:
    """What the model says of the action, with these arguments."""
    text = action.doc
    for name, value in labels.items():
        text = text.replace(f"{{{name}}}", str(value))
    return " ".join(text.partition("\n\n")[0].split())
