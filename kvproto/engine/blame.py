"""Which variables make a condition false: the starting points of an explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kvproto.engine.evaluate import Args, Machine, NotEnabled, Run, State
from kvproto.ir.fold import fold_expr
from kvproto.ir.nodes import Action, Checked, Cond, Const, Expr, Let, Local, Logic, Quant, Require, Stmt, Unary
from kvproto.ir.types import Path, Value


def blame(machine: Machine, cond: Expr, state: State, env: Mapping[str, Value] | None = None) -> list[Path]:
    """Variables read by the smallest part of `cond` that decides its value in `state`, in order of reading.

    `env` holds the locals that `cond` mentions.

    Of `all(...)` that is the first element that fails, of `a and b` the first false side, of `not any(...)` the first
    witness; a condition that cannot be taken apart is blamed whole.
    """
    return list(dict.fromkeys(path for ground in grounds(machine, cond, state, env) for path in ground.reads))


@dataclass(frozen=True, slots=True)
class Ground:
    """A part of a condition that decides it: what it came to, and the variables that it read.

    A `local` is the value of a name on which other parts rest.
    """

    part: Expr
    value: Value
    reads: tuple[Path, ...]
    local: bool


def grounds(machine: Machine, cond: Expr, state: State, env: Mapping[str, Value] | None = None) -> list[Ground]:
    """The smallest parts of `cond` that decide its value in `state`, in order of evaluation (see `blame`)."""
    found: list[Ground] = []

    def take(part: Expr, names: dict[str, Value], local: bool) -> None:
        reads: dict[Path, None] = {}

        def watch(kind: str, path: Path) -> None:
            if kind == "read":
                reads[path] = None

        value = Run(Machine(machine.system, watch), state, dict(names)).value(part)
        found.append(Ground(part, value, tuple(reads), local))

    _decide(Machine(machine.system), take, state, cond, dict(env or {}))
    return found


class _Refusal(Run):
    """A run that remembers the guard at which it ended."""

    guard: Expr | None = None

    def statement(self, stmt: Stmt) -> None:
        """Execute one statement."""
        if isinstance(stmt, Require) and not self.value(stmt.cond):
            self.guard = stmt.cond
            raise NotEnabled
        super().statement(stmt)


def blame_refusal(machine: Machine, action: Action, args: Args, state: State) -> list[Path] | None:
    """Variables that decide that an action instance cannot happen in `state`; None if it can."""
    found = refusal(machine, action, args, state)
    return None if found is None else blame(machine, found.guard, found.state, found.env)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The guard that an action instance did not pass, and the state and locals that it met."""

    guard: Expr
    state: State
    env: Mapping[str, Value]


def refusal(machine: Machine, action: Action, args: Args, state: State) -> Refusal | None:
    """Which guard refuses an action instance in `state`; None if it can happen.  Raises Fault."""
    names = dict(zip((p.name for p in action.params), args, strict=True))
    run = _Refusal(machine, state, dict(names))
    try:
        run.block(action.body)
    except NotEnabled:
        assert run.guard is not None
        return Refusal(run.guard, tuple(run.state), run.env)
    return None


def conjuncts(machine: Machine, refused: Refusal) -> list[tuple[Expr, bool]]:
    """The guard, and parts of parts of it: the first ones that had to be true (False: had to be false) and were not.

    The last one is the smallest.  Only what has to hold together is taken apart; what `all` says of each element stays
    one part.
    """
    env, known = dict(refused.env), dict[str, Expr]()

    def value(part: Expr) -> bool:
        return bool(Run(machine, refused.state, dict(env)).value(part))

    part, wanted, found = refused.guard, True, list[tuple[Expr, bool]]()
    while True:
        found.append((part, wanted))
        match part:
            case Unary(op="not", arg=arg):
                part, wanted = arg, not wanted
            case Logic(op=op, args=args) if (op == "and") == wanted:
                part = next(arg for arg in args if value(arg) != wanted)
            case Let(name=name, value=inner, body=body):
                env[name] = Run(machine, refused.state, dict(env)).value(inner)
                known[name] = inner
                part = body
            case Local(name=name) if name in known:
                part = known[name]
            case Cond(test=test, then=then, orelse=orelse):
                part = then if value(test) else orelse
            case Checked(body=body):
                part = body
            case Logic(args=args) if len(open_ := [arg for arg in args if not isinstance(fold_expr(arg), Const)]) == 1:
                # `not cfg.check or equal`: the switch is settled, and what is left is meant.
                part = open_[0]
            case _:
                return found


Take = Callable[[Expr, dict[str, Value], bool], None]
"""Called with a part that is not taken apart, its locals, and whether its value is one of them."""


def _decide(quiet: Machine, take: Take, state: State, expr: Expr, env: dict[str, Value]) -> None:
    """Find the parts that decide."""

    def value(part: Expr, names: dict[str, Value]) -> Value:
        return Run(quiet, state, dict(names)).value(part)

    match expr:
        case Unary(op="not", arg=arg):
            _decide(quiet, take, state, arg, env)
        case Logic(op=op, args=args):
            wanted = value(expr, env)
            for arg in args:
                settles = bool(value(arg, env)) == (op == "or")
                if settles or wanted == (op == "and"):
                    _decide(quiet, take, state, arg, env)
                if settles:
                    return
        case Quant(op="any" | "all", where=where, body=body):
            wanted = value(expr, env)
            for item in expr.domain.values:
                names = {**env, expr.var: item}
                if where is not None and not value(where, names):
                    continue
                if bool(value(body, names)) == (expr.op == "any"):
                    if where is not None:
                        _decide(quiet, take, state, where, names)
                    _decide(quiet, take, state, body, names)
                    return
                if wanted == (expr.op == "all"):
                    _decide(quiet, take, state, body, names)
        case Let():
            inner = {**env, expr.name: value(expr.value, env)}
            take(expr.value, env, True)
            _decide(quiet, take, state, expr.body, inner)
        case Cond():
            _decide(quiet, take, state, expr.test, env)
            _decide(quiet, take, state, expr.then if value(expr.test, env) else expr.orelse, env)
        case _:
            take(expr, env, False)
