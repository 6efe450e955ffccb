"""Random walks of the model `sglang`, stepped by the reference evaluator, and traces made of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from kvproto.shipped.models.sglang import model
from kvproto.shipped.models.sglang.config import Config

from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.evaluate import Args, Machine, choices
from kvproto.engine.evaluate import State as Values
from kvproto.engine.lower import lower
from kvproto.engine.native import Unavailable, load_engine
from kvproto.engine.tier0 import PythonExplorer
from kvproto.ir.nodes import Action, System
from kvproto.ir.types import label, leaves, show_path
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.passes import run as folded
from kvproto.trace.trace import State, Step, Trace

SWITCHES = [name for name, p in Config.parameters().items() if isinstance(p.default, bool)]
SCOPES = [scope.name for scope in model.scopes]

EAGERNESS = {
    "disconnect": 0.08,
    "waiting_timeout": 0.08,
    "bootstrap_timeout": 0.05,
    "release_timeout": 0.4,
    "abort_on_prefill": 0.6,
    "abort_on_decode": 0.6,
    "call_fails": 0.3,
    "resubmit": 0.3,
    "vanish": 0.3,
    "crash_worker": 0.05,
    "prefill_dies": 0.02,
    "lose_up": 0.1,
    "lose_down": 0.1,
    "retract": 0.3,
    "attend": 0.5,
}
"""Weights of actions in random walks: aborts and faults are rarer than work, or no request would get far."""

Call = tuple[Action, Args]


@lru_cache(maxsize=4)
def system(scope: str, settings: tuple[tuple[str, bool | int | str], ...]) -> System:
    """The model in a scope, with some of its sizes and switches changed."""
    sets = dict(settings)
    preset = sets.pop("preset", None)
    return folded(build(model, choose(model, preset=preset and str(preset), scope=scope, sets=sets)))


def random_settings(rng: random.Random) -> dict[str, bool | int]:
    """Random switches, few or many of them on."""
    density = rng.choice([0.1, 0.3, 0.5])
    return {name: rng.random() < density for name in SWITCHES}


class Walk:
    """A walk of the model: the state now, and what is needed to make a trace of the way to it."""

    def __init__(self, scope: str, **settings: bool | int | str) -> None:
        self.system = system(scope, tuple(sorted(settings.items())))
        self.machine = Machine(self.system)
        self.kinds = [(show_path(path, self.system.state), kind) for path, kind in leaves(self.system.state)]
        self.calls: list[Call] = [(action, args) for action in self.system.actions for args in choices(action.params)]
        self.state: Values = self.machine.zero()
        self.init = self.shown()
        self.steps: list[Step] = []

    def shown(self) -> State:
        """The state as traces write it."""
        return {path: label(value, kind) for value, (path, kind) in zip(self.state, self.kinds, strict=True)}

    def after(self, call: Call) -> Values | None:
        """The state after an action, or None if its guard is false."""
        action, args = call
        return self.machine.step(action.params, action.body, self.state, args)

    def take(self, call: Call) -> bool:
        """Do an action if its guard holds."""
        after = self.after(call)
        if after is None:
            return False
        before, self.state = self.shown(), after
        now = self.shown()
        self.steps.append(as_step(call, {path: (before[path], now[path]) for path in now if now[path] != before[path]}))
        return True

    def shuffled(self, rng: random.Random) -> list[Call]:
        """All actions with all arguments, in random order, the eager ones more often in front."""

        def place(call: Call) -> float:
            return rng.random() ** (1 / EAGERNESS.get(call[0].name, 1.0))

        return sorted(self.calls, key=place, reverse=True)

    def wander(self, rng: random.Random, length: int) -> Walk:
        """Take up to `length` random steps."""
        for _ in range(length):
            if not any(map(self.take, self.shuffled(rng))):
                break
        return self

    def follow(self, *schedule: tuple[Any, ...]) -> Walk:
        """Take steps given as (action, arguments in order), all of which must be enabled."""
        for name, *args in schedule:
            call = next(call for call in self.calls if (call[0].name, [*call[1]]) == (name, args))
            assert self.take(call), f"{name}{args} is not enabled"
        return self

    def trace(self) -> Trace:
        """The walk so far as a trace."""
        empty = dict.fromkeys(("preset", "scope", "property", "claim", "verdict", "digest"), "")
        parameters = dict(self.system.parameters)
        return Trace(model=model.name, parameters=parameters, init=self.init, steps=tuple(self.steps), **empty)


def deep(scope: str, count: int, *, limit: int, seed: int, **settings: bool | int | str) -> Iterator[Walk]:
    """Shortest ways to states of a search, late ones rather than early ones, with a few random steps more."""
    lowered = lower(system(scope, tuple(sorted(settings.items()))), (), [], [])
    engine = load_engine()
    made = PythonExplorer if isinstance(engine, Unavailable) else CExplorer
    explorer = made(lowered.program, memory_limit=1 << 30, seed=0)
    explorer.start([lowered.layout.pack(Walk(scope, **settings).state)])
    while explorer.frontier() and explorer.states() < limit:
        explorer.advance(limit // 10)
    rng = random.Random(seed)
    for _ in range(count):
        walk = Walk(scope, **settings)
        _, way = explorer.path(int(explorer.states() * rng.random() ** 0.5))
        for number in way:
            assert walk.take(lowered.instances[number])
        yield walk.wander(rng, 12)
    explorer.close()


def as_step(call: Call, delta: dict[str, tuple[object, object]]) -> Step:
    """An action as a step of a trace."""
    action, args = call
    named = {p.name: label(value, p.type) for p, value in zip(action.params, args, strict=True)}
    return Step(action.name, named, "", "", "", (), (), delta)


def bootstrapped(r: int, *, long: bool = False) -> list[tuple[Any, ...]]:
    """From the client to a metadata row, one rank a side."""
    first = [("submit", r, long), ("enter", r), ("prealloc", r), ("admit", r)]
    return [*first, ("receive_metadata", 0, 0, r), ("finalize", r)]


def sending(r: int) -> list[tuple[Any, ...]]:
    """The worker takes a chunk and posts its writes."""
    return [("dequeue", 0, r), ("check", 0, r), ("begin", 0, r)]


def posted(r: int, *, long: bool = False) -> list[tuple[Any, ...]]:
    """From the client to posted writes, in one chunk."""
    return [*bootstrapped(r, long=long), ("forward", r), ("process_result", r), *sending(r)]


def landed(r: int, pages: int) -> list[tuple[Any, ...]]:
    """All writes land in order, the call returns and the worker reports."""
    return [*(("land", 0, 0, r, k) for k in range(pages)), ("call_succeeds", 0, r), ("conclude", 0, r)]


def answered(r: int) -> list[tuple[Any, ...]]:
    """Both sides take the success for what it says."""
    taken = [("inflight_success", r), ("receive_success", 0, 0, r), ("commit", r)]
    return [*taken, ("attend", r), ("finish", r)]


def incident(**settings: bool | int) -> Trace:
    """The incident: a short request runs through, then one that is longer than the prefill pool."""
    first = [*posted(0), *landed(0, 3), *answered(0)]
    return Walk("incident", **settings).follow(*first, *posted(1, long=True), *landed(1, 1), *answered(1)).trace()


def late_write(**settings: bool | int) -> Trace:
    """A call gives up, its write goes on; C gets the page, is served, and then A's write lands in it."""
    walk = Walk("large", probe=True, larger_pool=True, DPage=1, Pos=1, **settings)
    walk.follow(*posted(0), ("call_fails", 0, 0, 0), ("receive_failure", 0, 0, 0), ("transfer_failure", 0))
    walk.follow(("probe_session", 0, 0), *posted(2), *landed(2, 1), *answered(2)[:3])
    return walk.follow(("land_late", 0, 0, 0, 0), ("attend", 2), ("finish", 2)).trace()
