"""Both readings of a model side by side: the front end with the evaluator, and plain Python."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lang_values import arguments, flat, parameter_kinds, record_of

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.lower import lower
from kvproto.engine.reference import explore
from kvproto.ir.nodes import Claim, Param, System
from kvproto.lang import step
from kvproto.lang.bind import choose
from kvproto.lang.binding import use
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.lang.model import ActionMark, InitMark, Model
from kvproto.lang.native import Record
from kvproto.lang.properties import ClaimMark
from kvproto.passes.fold import fold

HEADER = """
from enum import Enum, auto
from kvproto.lang import *

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")
"""
FOOTER = """
model = Model("small", "one feature", state=State, parts=[__name__])
"""


def agree(folder: Path, text: str, *, header: str = HEADER, footer: str = FOOTER) -> int:
    """Check that both readings of a model agree in every reachable state; gives the number of states."""
    file = folder / "model.py"
    file.write_text(header + text + footer)
    with imported(str(file)) as model, use((chosen := choose(model)).binding):
        return _Pair(model, build(model, chosen)).walk()


@contextmanager
def imported(target: str) -> Iterator[Model]:
    """The model in a file, which is forgotten afterwards."""
    modules, folders = set(sys.modules), list(sys.path)
    try:
        yield find(target).model
    finally:
        sys.path[:] = folders
        for name in set(sys.modules) - modules:
            if name.startswith("_kvproto_target_"):
                del sys.modules[name]


def refusal(target: str) -> KvError:
    """How a model is refused: by import, choice of sizes, front end, lowering, or a complete search."""
    with pytest.raises(KvError) as caught:
        read_and_search(target)
    return caught.value


def read_and_search(target: str) -> None:
    """All that can refuse a model."""
    with imported(target) as model:
        system = build(model, choose(model))
        lower(fold(system), system.claims)
        search(system)


def search(system: System) -> None:
    """A complete search that raises the first error of the model itself."""
    error = explore(system).error
    if error is not None:
        _, step, node, message, code = error
        rows = system.sources[node.loc.file].splitlines()
        where = f"reached by {step[0]}" if step else "reached in an initial state"
        raise KvError(code, message, reason=where, cure="see the trace", loc=node.loc, line=rows[node.loc.line - 1])


def walked(model: Model, system: System, *, steps: int, seed: int) -> None:
    """Check that both readings agree along one random run."""
    _Pair(model, system).run(random.Random(seed), steps)


WRONG = (ValueError, IndexError, TypeError, ZeroDivisionError)
"""What plain Python raises where a step goes wrong."""


class _Pair:
    def __init__(self, model: Model, system: System) -> None:
        self.model = model
        self.system = system
        self.machine = Machine(system)

    def walk(self) -> int:
        initial = self.initial()
        seen, work = set(initial), list(initial)
        while work:
            state = work.pop()
            self.claims(state)
            for after in self.steps(state):
                if after not in seen:
                    seen.add(after)
                    work.append(after)
        return len(seen)

    def run(self, rng: random.Random, steps: int) -> None:
        found = self.initial()
        for _ in range(steps):
            if not found:
                return
            state = rng.choice(found)
            self.claims(state)
            found = list(self.steps(state))

    def initial(self) -> list[State]:
        """Initial states, on which both readings agree; none where making one goes wrong."""
        try:
            found = list(self.machine.initial())
        except Fault as fault:
            with pytest.raises(AssertionError if fault.claim else WRONG):
                list(self.native_initial())
            return []
        assert found == list(dict.fromkeys(self.native_initial()))
        return found

    def native_initial(self) -> Iterator[State]:
        marked = self.model.marked(InitMark)
        if not marked:
            yield self.flat(self.model.state())
        for (fn, _), init in zip(marked, self.system.inits, strict=True):
            for args in choices(init.params):
                after = step(fn, self.model.state(), *self.given(fn, init.params, args))
                if after is not None:
                    yield self.flat(after)

    def claims(self, state: State) -> None:
        by_name = {fn.__name__: fn for fn, _ in self.model.marked(ClaimMark)}
        for claim in self.system.claims:
            if claim.name in by_name:
                for args in choices(claim.params):
                    self.claim(claim, by_name[claim.name], state, args)
        if self.model.constraint is not None and self.system.constraint is not None:
            ours = self.truth(lambda: self.machine.holds(self.system.constraint, state))
            assert ours == self.truth(lambda: self.model.constraint(self.record(state)))

    def claim(self, claim: Claim, fn: Any, state: State, args: Args) -> None:
        env = dict(zip((p.name for p in claim.params), args, strict=True))
        parts = [claim.cond] if claim.trigger is None else [claim.trigger, claim.cond]
        ours = [self.truth(lambda part=part: self.machine.holds(part, state, env)) for part in parts]
        given = self.given(fn, claim.params, args)
        for at, found in enumerate(ours):

            def native(at: int = at) -> bool:
                value = fn(self.record(state), *given)
                return value[at] if claim.trigger is not None else value

            truth = self.truth(native)
            assert found == truth or (claim.trigger is not None and "fault" in ours), (claim.name, state, found, truth)

    @staticmethod
    def truth(ask: Callable[[], object]) -> object:
        """The answer, or that giving it went wrong."""
        try:
            return bool(ask())
        except (Fault, *WRONG):
            return "fault"

    def steps(self, state: State) -> Iterator[State]:
        before = self.record(state)
        for (fn, _), action in zip(self.model.marked(ActionMark), self.system.actions, strict=True):
            for args in choices(action.params):
                ours = self.ours(action.params, action.body, state, args)
                native = self.native(fn, action.params, before, args)
                assert ours == native, (action.name, args, state, ours, native)
                if isinstance(ours, tuple):
                    yield ours

    def ours(self, params: tuple[Param, ...], body: Any, state: State, args: Args) -> State | str | None:
        try:
            return self.machine.step(params, body, state, args)
        except Fault as fault:
            return "assert" if fault.claim else "fault"

    def native(self, fn: Any, params: tuple[Param, ...], before: Record, args: Args) -> State | str | None:
        try:
            after = step(fn, before, *self.given(fn, params, args))
        except AssertionError:
            return "assert"
        except KvError:
            raise
        except WRONG:
            return "fault"
        return None if after is None else self.flat(after)

    # --- values -------------------------------------------------------------------------------------------

    def given(self, fn: Any, params: tuple[Param, ...], args: Args) -> list[Any]:
        return arguments(params, args, parameter_kinds(fn))

    def flat(self, record: Record) -> State:
        return tuple(flat(self.system.state, record))

    def record(self, state: State) -> Record:
        return record_of(self.system.state, self.model.state, state)
