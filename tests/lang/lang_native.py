"""Both readings of a model side by side: the front end with the evaluator, and plain Python."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

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
from kvproto.lang.model import ActionMark, InitMark, InvariantMark, Model
from kvproto.lang.native import Cells, Record
from kvproto.lang.sorts import Array, Opt, Set
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
        initial = list(self.machine.initial())
        assert initial == list(dict.fromkeys(self.native_initial()))
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
        found = list(self.machine.initial())
        assert found == list(dict.fromkeys(self.native_initial()))
        for _ in range(steps):
            if not found:
                return
            state = rng.choice(found)
            self.claims(state)
            found = list(self.steps(state))

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
        by_name = {fn.__name__: fn for fn, _ in self.model.marked(InvariantMark)}
        for claim in self.system.claims:
            if claim.kind == "invariant":
                self.claim(claim, by_name[claim.name], state)

    def claim(self, claim: Claim, fn: Any, state: State) -> None:
        assert claim.cond is not None
        try:
            ours: object = self.machine.holds(claim.cond, state)
        except Fault:
            ours = "fault"
        try:
            native: object = bool(fn(self.record(state)))
        except WRONG:
            native = "fault"
        assert ours == native, (claim.name, state, ours, native)

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
        kinds = inspect.get_annotations(fn, eval_str=True)
        return [as_native(arg, kinds[param.name]) for param, arg in zip(params, args, strict=True)]

    def flat(self, record: Record) -> State:
        return tuple(as_ours(self.at(record, path)) for path, _ in self.machine.leaves)

    def at(self, root: Any, path: tuple[Any, ...]) -> Any:
        for part in path:
            root = root[as_native(part, root._kind.index)] if isinstance(root, Cells) else getattr(root, part)
        return root

    def record(self, state: State) -> Record:
        record = self.model.state()
        for (path, _), value in zip(self.machine.leaves, state, strict=True):
            owner, last = self.at(record, path[:-1]), path[-1]
            if isinstance(owner, Cells):
                owner[as_native(last, owner._kind.index)] = as_native(value, owner._kind.element)
            else:
                setattr(owner, last, as_native(value, owner._types[last]))
        return record


def as_native(value: Any, kind: Any) -> Any:
    """A value of the IR as plain Python has it."""
    match kind:
        case Opt():
            return None if value is None else as_native(value, kind.inner)
        case Set():
            return {as_native(v, kind.element) for v in value}
        case Array():
            raise AssertionError("an array is no value")
        case type() if issubclass(kind, Enum):
            return kind[value]
        case _:
            return value


def as_ours(value: Any) -> Any:
    """A value of plain Python as the IR has it."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, set | frozenset):
        return frozenset(as_ours(v) for v in value)
    return value
