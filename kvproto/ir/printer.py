"""The IR as text that reads like the model it came from; also what the digest is taken of."""

from __future__ import annotations

from collections.abc import Iterator

from kvproto.ir.nodes import (
    Action,
    Assert,
    Assign,
    Binary,
    Checked,
    Claim,
    Cond,
    Const,
    Expr,
    For,
    If,
    Let,
    Local,
    Logic,
    Param,
    Place,
    Quant,
    Read,
    Require,
    SetLocal,
    SetOf,
    Stmt,
    System,
    ToIndex,
    Unary,
)
from kvproto.ir.types import ArrayT, EnumT, IntT, OptT, RecordT, SetT, SortT, Type, Value

WORDS = {"union": "|", "inter": "&", "diff": "-", "subset": "<="}


def show_expr(expr: Expr) -> str:
    """One expression on one line, fully parenthesised."""
    match expr:
        case Const(value=value):
            return show_constant(value)
        case Local(name=name):
            return name
        case Read(place=place):
            return show_place(place)
        case Unary(op=op, arg=arg):
            return f"{op}({show_expr(arg)})"
        case Binary(op=op, left=left, right=right):
            return f"({show_expr(left)} {WORDS.get(op, op)} {show_expr(right)})"
        case Logic(op=op, args=args):
            return "(" + f" {op} ".join(map(show_expr, args)) + ")"
        case Cond(test=test, then=then, orelse=orelse):
            return f"({show_expr(then)} if {show_expr(test)} else {show_expr(orelse)})"
        case SetOf(items=items):
            return "{" + ", ".join(map(show_expr, items)) + "}"
        case Let(name=name, value=value, body=body):
            return f"(let {name} = {show_expr(value)} in {show_expr(body)})"
        case Checked(test=test, body=body, code=code):
            return f"(check {show_expr(test)} [{code}] for {show_expr(body)})"
        case ToIndex(type=kind, arg=arg):
            return f"{kind}({show_expr(arg)})"
        case Quant():
            where = "" if expr.where is None else f" if {show_expr(expr.where)}"
            default = "" if expr.default is None else f" else {show_expr(expr.default)}"
            values = ", ".join(map(show_constant, expr.domain.values))
            return f"{expr.op}({show_expr(expr.body)} for {expr.var} in [{values}]{where}{default})"


def show_constant(value: Value) -> str:
    """A literal; sets in alphabetical order."""
    return "{" + ", ".join(sorted(map(str, value))) + "}" if isinstance(value, frozenset) else str(value)


def show_place(place: Place) -> str:
    """A part of the state: `s.req[r].phase`."""
    return "s" + "".join(f".{s}" if isinstance(s, str) else f"[{show_expr(s)}]" for s in place.steps)


def show_body(body: tuple[Stmt, ...], indent: str = "    ") -> Iterator[str]:
    """Statements, one line each."""
    for stmt in body:
        match stmt:
            case Require(cond=cond):
                yield f"{indent}require {show_expr(cond)}"
            case Assert(cond=cond, claim=claim):
                yield f"{indent}assert {show_expr(cond)} [{claim}]"
            case Assign(place=place, value=value):
                yield f"{indent}{show_place(place)} = {show_expr(value)}"
            case SetLocal(name=name, value=value):
                yield f"{indent}{name} = {show_expr(value)}"
            case If(test=test, then=then, orelse=orelse):
                yield f"{indent}if {show_expr(test)}:"
                yield from show_body(then, indent + "    ")
                if orelse:
                    yield f"{indent}else:"
                    yield from show_body(orelse, indent + "    ")
            case For(var=var, domain=domain, where=where):
                values = ", ".join(map(show_constant, domain.values))
                guard = "" if where is None else f" if {show_expr(where)}"
                yield f"{indent}for {var} in [{values}]{guard}:"
                yield from show_body(stmt.body, indent + "    ")


def show_type(kind: Type) -> str:
    """A type with all its values."""
    match kind:
        case SortT():
            return f"{kind.name}[{kind.size}]"
        case EnumT():
            return f"{kind.name}{{{', '.join(kind.members)}}}"
        case IntT():
            return f"{kind.lo}..{kind.hi}"
        case OptT():
            return f"Opt({show_type(kind.inner)})"
        case SetT():
            return f"Set({show_type(kind.element)})"
        case ArrayT():
            return f"Array({show_type(kind.index)}, {show_type(kind.element)})"
        case RecordT(shape="queue" | "set" | "bag" as shape):
            return f"{shape} {{" + ", ".join(f"{name}: {show_type(inner)}" for name, inner in kind.fields) + "}"
        case RecordT():
            return "{" + ", ".join(f"{name}: {show_type(inner)}" for name, inner in kind.fields) + "}"
        case _:
            return str(kind)


def show_params(params: tuple[Param, ...]) -> str:
    """`r: Req[2], k: Slot[8]`."""
    return ", ".join(f"{p.name}: {show_type(p.type)}" for p in params)


def show_action(action: Action) -> Iterator[str]:
    """An action with its body."""
    yield f"{action.machine}.{action.name}({show_params(action.params)})"
    yield from show_body(action.body)


def show_system(system: System) -> Iterator[str]:
    """Everything that decides how the system behaves and what is claimed of it."""
    yield f"state {show_type(system.state)}"
    for init in system.inits:
        yield f"init {init.name}({show_params(init.params)})"
        yield from show_body(init.body)
    for action in system.actions:
        yield from show_action(action)
    for claim in system.claims:
        yield show_claim(claim)
    for fair in system.fairness:
        yield f"{fair.kind} {', '.join(fair.actions)} per ({', '.join(fair.per)})"
    if system.constraint is not None:
        yield f"constraint {show_expr(system.constraint)}"


def show_claim(claim: Claim) -> str:
    """A property on one line: `leads_to served(r: Req[2]): s.waiting[r] ~> s.served[r]`."""
    params = f"({show_params(claim.params)})" if claim.params else ""
    trigger = f"{show_expr(claim.trigger)} ~> " if claim.trigger is not None else ""
    return f"{claim.kind} {claim.name}{params}: {trigger}{'' if claim.cond is None else show_expr(claim.cond)}"
