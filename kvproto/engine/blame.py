"""Which variables make a condition false: the starting points of an explanation."""

from __future__ import annotations

from collections.abc import Mapping

from kvproto.engine.evaluate import Args, Machine, NotEnabled, Run, State
from kvproto.ir.nodes import Action, Cond, Expr, Let, Logic, Quant, Require, Stmt, Unary
from kvproto.ir.types import Path, Value


def blame(machine: Machine, cond: Expr, state: State, env: Mapping[str, Value] | None = None) -> list[Path]:
    """Variables read by the smallest part of `cond` that decides its value in `state`, in order of reading.

    `env` holds the locals that `cond` mentions.

    Of `all(...)` that is the first element that fails, of `a and b` the first false side, of `not any(...)` the first
    witness; a condition that cannot be taken apart is blamed whole.
    """
    found: dict[Path, None] = {}

    def watch(kind: str, path: Path) -> None:
        if kind == "read":
            found[path] = None

    quiet, loud = Machine(machine.system), Machine(machine.system, watch)
    _decide(quiet, loud, state, cond, dict(env or {}))
    return list(found)


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
    names = dict(zip((p.name for p in action.params), args, strict=True))
    run = _Refusal(machine, state, dict(names))
    try:
        run.block(action.body)
    except NotEnabled:
        assert run.guard is not None
        return blame(machine, run.guard, tuple(run.state), run.env)
    return None


def _decide(quiet: Machine, loud: Machine, state: State, expr: Expr, env: dict[str, Value]) -> None:
    """Evaluate with reads recorded, but only the parts that decide."""

    def value(part: Expr, names: dict[str, Value]) -> Value:
        return Run(quiet, state, dict(names)).value(part)

    match expr:
        case Unary(op="not", arg=arg):
            _decide(quiet, loud, state, arg, env)
        case Logic(op=op, args=args):
            wanted = value(expr, env)
            for arg in args:
                settles = bool(value(arg, env)) == (op == "or")
                if settles or wanted == (op == "and"):
                    _decide(quiet, loud, state, arg, env)
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
                        _decide(quiet, loud, state, where, names)
                    _decide(quiet, loud, state, body, names)
                    return
                if wanted == (expr.op == "all"):
                    _decide(quiet, loud, state, body, names)
        case Let():
            inner = {**env, expr.name: value(expr.value, env)}
            Run(loud, state, dict(env)).value(expr.value)
            _decide(quiet, loud, state, expr.body, inner)
        case Cond():
            _decide(quiet, loud, state, expr.test, env)
            _decide(quiet, loud, state, expr.then if value(expr.test, env) else expr.orelse, env)
        case _:
            Run(loud, state, dict(env)).value(expr)
