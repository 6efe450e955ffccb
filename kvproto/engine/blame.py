"""Which variables make a condition false: the starting points of an explanation."""

from __future__ import annotations

from kvproto.engine.evaluate import Machine, Run, State
from kvproto.ir.nodes import Cond, Expr, Let, Logic, Quant, Unary
from kvproto.ir.types import Path, Value


def blame(machine: Machine, cond: Expr, state: State) -> list[Path]:
    """Variables read by the smallest part of `cond` that decides its value in `state`, in order of reading.

    Of `all(...)` that is the first element that fails, of `a and b` the first false side, of `not any(...)` the first
    witness; a condition that cannot be taken apart is blamed whole.
    """
    found: dict[Path, None] = {}

    def watch(kind: str, path: Path) -> None:
        if kind == "read":
            found[path] = None

    quiet, loud = Machine(machine.system), Machine(machine.system, watch)
    _decide(quiet, loud, state, cond, {})
    return list(found)


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
