"""An action taken although it is refused: what refuses it, and what it would have done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kvproto.engine.blame import Refusal, blame, conjuncts
from kvproto.engine.evaluate import Args, Fault, Machine, NotEnabled, Run, State
from kvproto.engine.wording import shortest
from kvproto.ir.nodes import Action, Assert, Assign, Const, Expr, Let, Local, Logic, Require, SetLocal, Stmt, System
from kvproto.ir.nodes import ToIndex as Index
from kvproto.ir.types import Path, Value
from kvproto.ir.walk import statements, subexpressions

End = Literal["refused", "fails", "possible", "idle"]
"""A guard is false; an assertion is; it can happen; it can happen and changes nothing (or is an error of the model)."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """A part of a guard (or of an assertion) that is false, in the model's words as it would have to be."""

    expr: Expr
    state: State
    env: Mapping[str, Value]
    reads: tuple[Path, ...]

    def met(self, machine: Machine, state: State) -> bool:
        """Whether it is true in another state; what locals stand for stays as it is."""
        try:
            return machine.holds(self.expr, state, self.env)
        except Fault:
            return False

    def text(self, system: System) -> str:
        """The smallest part that is short enough to be read at a glance."""
        found = conjuncts(Machine(system), Refusal(self.expr, self.state, self.env))
        return shortest(found, system.sources)[0]


@dataclass(frozen=True, slots=True)
class Attempt:
    """An action instance in a state: how it ends, all that refuses it, and the state after it had it been forced.

    `cut` says that it could not be forced to its end, so that `after` lacks what it does later.
    """

    action: Action
    args: Args
    end: End
    unmet: tuple[Unmet, ...]
    before: State
    after: State
    cut: bool

    def names(self) -> dict[str, Value]:
        """The arguments by name."""
        return dict(zip((p.name for p in self.action.params), self.args, strict=True))


class _Forced(Run):
    """A run that goes past guards and assertions, and remembers those that are false."""

    def __init__(self, system: System, state: State, env: dict[str, Value]) -> None:
        self.seen: list[Path] = []
        super().__init__(Machine(system, self._watch), state, env)
        self.behind: dict[str, tuple[Path, ...]] = {}
        self.guards: list[Unmet] = []
        self.asserts: list[Unmet] = []

    def _watch(self, kind: str, path: Path) -> None:
        if kind == "read":
            self.seen.append(path)

    def statement(self, stmt: Stmt) -> None:
        """Execute one statement."""
        match stmt:
            case Require(cond=cond) if not self.value(cond):
                self.guards += self._unmet(cond, dict(self.env))
            case Assert(cond=cond) if not self.value(cond):
                self.asserts += self._unmet(cond, dict(self.env))
            case Require() | Assert():
                pass
            case SetLocal(name=name, value=value):
                self.seen.clear()
                super().statement(stmt)
                self.behind[name] = tuple(dict.fromkeys([*self.seen, *self._of_locals(value)]))
            case _:
                super().statement(stmt)

    def _of_locals(self, expr: Expr) -> list[Path]:
        """What had been read for the locals that an expression mentions."""
        names = [part.name for part in subexpressions(expr) if isinstance(part, Local)]
        return [path for name in names for path in self.behind.get(name, ())]

    def _unmet(self, cond: Expr, env: dict[str, Value]) -> Iterator[Unmet]:
        """The parts that have to hold together and do not; one that cannot be looked at ends it."""
        quiet, state = Machine(self.machine.system), tuple(self.state)
        try:
            for part in _parts(quiet, cond, state, env):
                if not quiet.holds(part, state, env):
                    reads = dict.fromkeys([*blame(quiet, part, state, env), *self._of_locals(part)])
                    yield Unmet(part, state, dict(env), tuple(reads))
        except Fault:
            return


def _parts(quiet: Machine, cond: Expr, state: State, env: dict[str, Value]) -> Iterator[Expr]:
    match cond:
        case Let(name=name, value=value, body=Logic(op="and") as body):
            env[name] = Run(quiet, state, dict(env)).value(value)
            yield from (Let(arg.type, name, value, arg, arg.loc) for arg in body.args)
        case Logic(op="and", args=args):
            for arg in args:
                yield from _parts(quiet, arg, state, env)
        case _:
            yield cond


def attempt(system: System, action: Action, args: Args, state: State) -> Attempt:
    """Take an action instance by force."""
    names = dict(zip((p.name for p in action.params), args, strict=True))
    run, cut = _Forced(system, state, names), False
    try:
        run.block(action.body)
    except (Fault, NotEnabled):
        cut = True
    after = tuple(run.state)
    end: End = "refused" if run.guards else "fails" if run.asserts else "possible"
    if end == "possible" and (cut or after == state):
        end = "idle"
    unmet = run.guards or run.asserts
    return Attempt(action, args, end, tuple(unmet), state, after, cut)


def may_write(tried: Attempt, paths: Iterable[Path]) -> bool:
    """Whether an action instance stores into one of the paths somewhere, for all that its text says."""
    names, wanted = tried.names(), list(paths)
    places = [stmt.place for stmt in statements(tried.action.body) if isinstance(stmt, Assign)]
    return any(_fits(place.steps, path, names, sure=False) for place in places for path in wanted)


def may_set(tried: Attempt, paths: Iterable[Path]) -> Iterator[tuple[Path, Value]]:
    """Constants that an action instance stores into one of the paths on some way through it, also on ways not taken.

    Where the place depends on the state or on a loop nothing is said.
    """
    names, wanted = tried.names(), list(paths)
    for stmt in statements(tried.action.body):
        if isinstance(stmt, Assign) and isinstance(stmt.value, Const):
            fitting = [path for path in wanted if _fits(stmt.place.steps, path, names, sure=True)]
            yield from ((path, stmt.value.value) for path in fitting)


def _fits(steps: tuple[str | Expr, ...], path: Path, names: Mapping[str, Value], *, sure: bool) -> bool:
    if len(steps) != len(path):
        return False
    return all(_step_fits(step, key, names, sure=sure) for step, key in zip(steps, path, strict=True))


def _step_fits(step: str | Expr, key: object, names: Mapping[str, Value], *, sure: bool) -> bool:
    while isinstance(step, Index):
        step = step.arg
    match step:
        case str():
            return step == key
        case Const(value=value):
            return value == key
        case Local(name=name) if name in names:
            return names[name] == key
        case _:  # the variable of a loop, or something that depends on the state
            return not sure
