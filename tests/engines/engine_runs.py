"""Releases of the engine for tests, fetched once, skipped with the reason where not; walks of model and engine."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sglang_walks import Call, Walk, as_step

from kvproto.diagnostics import KvError
from kvproto.engines import fetching, fitting, kept
from kvproto.engines.child import Child
from kvproto.engines.protocol import Now
from kvproto.trace import codec
from kvproto.trace.trace import Trace

TRACES = Path(__file__).parents[2] / "traces"


def started(version: str) -> Iterator[Child]:
    """A process that runs the release, for a fixture."""
    release = kept.parse(f"sglang=={version}")
    try:
        fetching.fetch(release, print)
    except KvError as error:
        pytest.skip(f"{error.diagnostic.message}: {error.diagnostic.reason}")
    with Child(release) as child:
        yield child


def recorded(name: str) -> Trace:
    """A trace of `traces/`."""
    return codec.read(str(TRACES / f"sglang-{name}.trace.json"))


def same(one: Any, other: Any) -> bool:
    """Equality of values of a state; unlike in Python, `true` is not 1."""
    return type(one) is type(other) and one == other


def key(call: Call) -> str:
    """A step of the model as the engine writes it."""
    step = as_step(call, {})
    return json.dumps([step.action, fitting.arguments(step)], sort_keys=True)


@dataclass
class Together:
    """A walk that model and engine take together: only steps that both allow."""

    walk: Walk
    child: Child
    now: Now
    done: list[str] = field(default_factory=list)
    only_model: set[str] = field(default_factory=set)

    @classmethod
    def begin(cls, child: Child, scope: str, **settings: bool | int | str) -> Together:
        """Both at their initial state."""
        walk = Walk(scope, **settings)
        return cls(walk, child, child.start(fitting.sizes(walk.trace())))

    def differences(self) -> list[tuple[str, Any, Any]]:
        """Variables that differ now."""
        model, engine = self.walk.shown(), self.now.state
        return [(path, model[path], value) for path, value in engine.items() if not same(model[path], value)]

    def wander(self, rng: random.Random, length: int) -> list[tuple[str, Any, Any]]:
        """Take random steps up to the first difference; gives it."""
        for _ in range(length):
            found = self.differences()
            if found or not self._step(rng):
                return found
        return self.differences()

    def _step(self, rng: random.Random) -> bool:
        possible = {json.dumps([one.action, dict(one.args)], sort_keys=True) for one in self.child.actions()}
        for call in self.walk.shuffled(rng):
            if self.walk.after(call) is None or call[0].name in fitting.GROUPED[1:]:
                continue
            if key(call) not in possible:
                self.only_model.add(call[0].name)
            elif not self._unlike(call):
                self._take(call)
                return True
        return False

    def _unlike(self, call: Call) -> bool:
        """From 0.5.22 on an abort of what was never published carries no generation, and gets no acknowledgement."""
        step = as_step(call, {})
        unpublished = self.walk.shown()[f"req[{step.args['r']}].decode"] == "PREALLOC" if "r" in step.args else False
        return step.action == "abort_on_decode" and unpublished and self.child.version >= "0.5.22"

    def _take(self, call: Call) -> None:
        step = as_step(call, {})
        done = self.child.perform(step.action, fitting.arguments(step))
        assert done.refused == ""
        assert self.walk.take(call)
        self.done.append(key(call))
        self.now = done.now
        if step.action == fitting.GROUPED[0]:
            for name in fitting.GROUPED[1:]:
                rest = [c for c in self.walk.calls if c[0].name == name and as_step(c, {}).args["r"] == step.args["r"]]
                any(map(self.walk.take, rest))
