"""Random walks of the model `sglang`, stepped by the reference evaluator, and traces made of them."""

from __future__ import annotations

import random
from functools import lru_cache

from kvproto.shipped.models.sglang import model
from kvproto.shipped.models.sglang.config import Config

from kvproto.engine.evaluate import Args, Machine, choices
from kvproto.engine.evaluate import State as Values
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
def system(scope: str, settings: tuple[tuple[str, bool | int], ...]) -> System:
    """The model in a scope, with some of its sizes and switches changed."""
    return folded(build(model, choose(model, scope=scope, sets=dict(settings))))


def random_settings(rng: random.Random) -> dict[str, bool | int]:
    """Random switches, few or many of them on."""
    density = rng.choice([0.1, 0.3, 0.5])
    return {name: rng.random() < density for name in SWITCHES}


class Walk:
    """A walk of the model: the state now, and what is needed to make a trace of the way to it."""

    def __init__(self, scope: str, **settings: bool | int) -> None:
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

    def trace(self) -> Trace:
        """The walk so far as a trace."""
        empty = dict.fromkeys(("preset", "scope", "property", "claim", "verdict", "digest"), "")
        parameters = dict(self.system.parameters)
        return Trace(model=model.name, parameters=parameters, init=self.init, steps=tuple(self.steps), **empty)


def as_step(call: Call, delta: dict[str, tuple[object, object]]) -> Step:
    """An action as a step of a trace."""
    action, args = call
    named = {p.name: label(value, p.type) for p, value in zip(action.params, args, strict=True)}
    return Step(action.name, named, "", "", "", (), (), delta)
