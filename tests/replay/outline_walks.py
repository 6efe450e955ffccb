"""Walks of the model stepped natively, and traces made of them."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from kvproto.shipped.models import outline
from kvproto.shipped.models.outline.state import Config

from kvproto.lang.binding import Binding, use
from kvproto.lang.model import ActionMark
from kvproto.lang.native import Members, Record, domain, field_types, step
from kvproto.lang.sorts import Array, Opt, Set, Sort
from kvproto.replay.outline import ENVIRONMENT
from kvproto.trace.trace import State, Step, Trace, Value

SORTS = ("Req", "Slot", "PPage", "DPage")
ACTIONS: dict[str, Callable[..., None]] = {fn.__name__: fn for fn, _ in outline.model.marked(ActionMark)}
SWITCHES = [name for name, p in Config.parameters().items() if isinstance(p.default, bool) and name not in ENVIRONMENT]
SCOPES = ("small", "medium", "incident")

EAGERNESS = {
    "disconnect": 0.15,
    "fail_transfer": 0.1,
    "release_timeout": 0.5,
    "abort_on_prefill": 0.6,
    "abort_on_decode": 0.6,
}
"""Weights of actions in random walks: aborts are rarer than work, or no request would get far."""

Call = tuple[str, Mapping[str, Any]]


def parameters(scope: str, **changes: bool | int) -> dict[str, bool | int]:
    """All sizes and switches of a scope of the model, with some of them changed."""
    sizes = next(s.values for s in outline.model.scopes if s.name == scope)
    defaults = {name: p.default for name, p in Config.parameters().items()}
    return {name: sizes[name] for name in SORTS} | defaults | dict(sizes) | changes


def random_parameters(rng: random.Random) -> dict[str, bool | int]:
    """A scope with random switches, few or many of them on."""
    density = rng.choice([0.0, 0.1, 0.3, 0.5])
    return parameters(rng.choice(SCOPES), **{name: rng.random() < density for name in SWITCHES})


def binding(values: Mapping[str, bool | int]) -> Binding:
    """The binding that puts parameters in force."""
    rest = {name: value for name, value in values.items() if name not in SORTS}
    return Binding({name: int(values[name]) for name in SORTS}, rest)


def value_of(kind: Any, value: Any) -> Value:
    """A native scalar or set as it stands in a trace."""
    match kind:
        case Opt():
            return None if value is None else value_of(kind.inner, value)
        case Set():
            assert isinstance(value, Members)
            return [value_of(kind.element, x) for x in value]  # type: ignore[misc]
        case Sort():
            return kind.label(value) if kind.labels else int(value)
        case _:
            return value.name if isinstance(value, Enum) else value


def paths(kind: Any, value: Any, prefix: str) -> Iterator[tuple[str, Value]]:
    """Every variable of a native value by path."""
    if isinstance(value, Record):
        for name, inner in field_types(type(value)).items():
            yield from paths(inner, getattr(value, name), f"{prefix}.{name}" if prefix else name)
    elif isinstance(kind, Array):
        for key in domain(kind.index):
            yield from paths(kind.element, value[key], f"{prefix}[{value_of(kind.index, key)}]")
    else:
        yield prefix, value_of(kind, value)


def arguments(name: str) -> dict[str, Any]:
    """Parameters of an action with their types."""
    found = inspect.get_annotations(ACTIONS[name], eval_str=True)
    return {key: kind for key, kind in found.items() if key != "return"}


def choices(name: str) -> list[dict[str, Any]]:
    """All choices of an action's arguments, in native values."""
    found: list[dict[str, Any]] = [{}]
    for key, kind in arguments(name).items():
        found = [{**chosen, key: value} for chosen in found for value in domain(kind)]
    return found


class Walk:
    """A walk of the model: the state now, and what is needed to make a trace of the way to it."""

    def __init__(self, values: Mapping[str, bool | int]) -> None:
        self.values = dict(values)
        with use(binding(values)):
            self.state: Any = outline.State()
            self.calls: list[Call] = [(name, args) for name in ACTIONS for args in choices(name)]
        self.flat = self._flat(self.state)
        self.init = dict(self.flat)
        self.steps: list[Step] = []

    def _flat(self, state: Any) -> State:
        with use(binding(self.values)):
            return dict(paths(type(state), state, ""))

    def after(self, call: Call) -> Any:
        """The native state after an action, or None if its guard is false."""
        with use(binding(self.values)):
            return step(ACTIONS[call[0]], self.state, *call[1].values())

    def as_step(self, call: Call, delta: Mapping[str, tuple[Value, Value]]) -> Step:
        """An action as a step of a trace."""
        kinds = arguments(call[0])
        named = {key: value_of(kinds[key], value) for key, value in call[1].items()}
        return Step(call[0], named, "", "", "", (), (), delta)

    def take(self, call: Call) -> bool:
        """Do an action if its guard holds."""
        after = self.after(call)
        if after is None:
            return False
        now = self._flat(after)
        delta = {path: (self.flat[path], now[path]) for path in now if now[path] != self.flat[path]}
        self.steps.append(self.as_step(call, delta))
        self.state, self.flat = after, now
        return True

    def shuffled(self, rng: random.Random) -> list[Call]:
        """All actions with all arguments, in random order, the eager ones more often in front."""
        return sorted(self.calls, key=lambda call: rng.random() ** (1 / EAGERNESS.get(call[0], 1.0)), reverse=True)

    def wander(self, rng: random.Random, length: int) -> None:
        """Take up to `length` random steps."""
        for _ in range(length):
            if not any(map(self.take, self.shuffled(rng))):
                return

    def follow(self, *schedule: tuple[Any, ...]) -> Walk:
        """Take steps given as (action, request, further arguments), all of which must be enabled."""
        for name, *values in schedule:
            call = (name, dict(zip(arguments(name), values, strict=True)))
            assert self.take(call), f"{call} is not enabled"
        return self

    def trace(self) -> Trace:
        """The walk so far as a trace."""
        empty = dict.fromkeys(("preset", "scope", "property", "claim", "verdict", "digest"), "")
        return Trace(model="outline", parameters=self.values, init=self.init, steps=tuple(self.steps), **empty)


def served(room: int, pages: int, *, long: bool) -> list[tuple[Any, ...]]:
    """The steps of a request from the client to its answer, with `pages` writes landing in order."""
    return [
        ("submit", room, long),
        *((name, room) for name in ("prealloc", "admit", "forward", "post")),
        *(("land", room, k) for k in range(pages)),
        *((name, room) for name in ("complete", "commit", "attend", "finish")),
    ]


def incident(**switches: bool | int) -> Trace:
    """The incident: a short request runs through, then one that is longer than the prefill pool."""
    walk = Walk(parameters("incident", **switches))
    return walk.follow(*served(0, 3, long=False), *served(1, 1, long=True)).trace()


def late_write(**switches: bool | int) -> Trace:
    """The other class: A goes away, B gets its page, and A's late write replaces what B's transfer brought."""
    walk = Walk(parameters("small", Slot=2, PPage=2, DPage=1, short_prompt=1, larger_pool=True, **switches))
    return walk.follow(
        ("submit", 0, False),
        *((name, 0) for name in ("prealloc", "admit", "forward", "post", "disconnect", "abort_on_decode")),
        *served(1, 1, long=False)[:-2],
        ("land", 0, 0),
        ("attend", 1),
        ("finish", 1),
    ).trace()


def misplaced(**switches: bool | int) -> Trace:
    """A late write that reads B's own second page, from a reused source page, into B's first: own text, wrong place."""
    walk = Walk(parameters("medium", Slot=2, larger_pool=True, **switches))
    return walk.follow(
        ("submit", 0, True),
        *((name, 0) for name in ("prealloc", "admit", "forward", "post", "disconnect")),
        *((name, 0) for name in ("abort_on_prefill", "abort_on_decode")),
        ("submit", 2, False),
        ("prealloc", 2),
        *served(1, 2, long=True)[:-4],
        ("land", 0, 1),
        *((name, 1) for name in ("complete", "commit", "attend")),
    ).trace()
