"""The value of an expression, as a TLA+ expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from kvproto.export.ranges import bounds
from kvproto.export.tla.scope import Scope
from kvproto.export.tla.text import (
    ATOM,
    COMPARE,
    FALSE,
    OPEN,
    TRUE,
    Text,
    choose,
    conj,
    decide,
    disj,
    implies,
    infix,
    neg,
    number,
)
from kvproto.export.tla.types import Types
from kvproto.ir.nodes import (
    Binary,
    Checked,
    Cond,
    Const,
    Expr,
    Let,
    Local,
    Logic,
    Place,
    Quant,
    Read,
    SetOf,
    ToIndex,
    Unary,
)
from kvproto.ir.types import BoolT, SetT

OPERATORS = {
    "==": "=",
    "!=": "#",
    "<": "<",
    "<=": "<=",
    "+": "+",
    "-": "-",
    "*": "*",
    "in": "\\in",
    "union": "\\cup",
    "inter": "\\cap",
    "diff": "\\",
    "subset": "\\subseteq",
}


class Reader(Protocol):
    """Gives the value of a place in the state as it is by now."""

    def __call__(self, place: Place, env: Env) -> Text:
        """The value."""


@dataclass(frozen=True, slots=True)
class Env:
    """What names stand for, and how the state is read."""

    read: Reader
    values: Mapping[str, Text] = field(default_factory=dict)

    def bind(self, name: str, value: Text) -> Env:
        """With one more name."""
        return replace(self, values={**self.values, name: value})


class Values:
    """Translates expressions inside one definition."""

    def __init__(self, types: Types, scope: Scope, needs: set[str]) -> None:
        self.types = types
        self.scope = scope
        self.needs = needs
        """Operators of the exporter's own that have been used."""

    def bound(self, name: str, env: Env) -> str:
        """A name for a variable that is bound here."""
        return self.scope.bound(name, env.values)

    def value(self, expr: Expr, env: Env) -> Text:
        """The value of any expression."""
        match expr:
            case Const(value=value, type=kind):
                return self.types.value(value, kind)
            case Local(name=name):
                return env.values[name]
            case Read(place=place):
                return env.read(place, env)
            case Unary():
                return self._unary(expr, env)
            case Binary():
                return self._binary(expr, env)
            case Logic(op=op, args=args):
                return (conj if op == "and" else disj)(self.value(a, env) for a in args)
            case Cond(test=test, then=then, orelse=orelse):
                pick = decide if isinstance(expr.type, BoolT) else choose
                return pick(self.value(test, env), self.value(then, env), self.value(orelse, env))
            case Let(name=name, value=value, body=body):
                return self._let(name, value, body, env)
            case SetOf(items=items):
                return Text("{" + ", ".join(self.value(i, env).text for i in items) + "}")
            case ToIndex(arg=arg):
                return self.value(arg, env)
            case Checked(test=test, body=body, message=message):
                self.needs.add("TLC")
                wrong = Text(f'Assert(FALSE, "{message}")')
                return choose(self.value(test, env), self.value(body, env), wrong)
            case Quant():
                return self._quant(expr, env)

    def _let(self, name: str, value: Expr, body: Expr, env: Env) -> Text:
        found = self.value(value, env)
        if len(found.text) < 24:
            return self.value(body, env.bind(name, found))
        short = self.bound(name, env)
        inside = self.value(body, env.bind(name, Text(short)))
        return Text(f"LET {short} == {found} IN {inside}", OPEN) if short in inside.text else inside

    # --- operators ------------------------------------------------------------------------------------

    def _unary(self, expr: Unary, env: Env) -> Text:
        value = self.value(expr.arg, env)
        match expr.op:
            case "not":
                return neg(value)
            case "neg":
                return Text(f"-{value.at(ATOM)}", COMPARE + 1)
            case "int":
                return choose(value, number(1), number(0)) if isinstance(expr.arg.type, BoolT) else value
            case "is_none":
                self.types.none = True
                return infix("=", value, Text("None"))
            case "some" | "unwrap":
                return value
            case "card":
                return Text(f"Cardinality({value})")

    def _binary(self, expr: Binary, env: Env) -> Text:
        if expr.op in ("==", "!=") and isinstance(expr.left, Unary) and expr.left.op == "card":
            if isinstance(expr.right, Const) and expr.right.value == 0:
                return infix(OPERATORS[expr.op], self.value(expr.left.arg, env), Text("{}"))
        left, right = self.value(expr.left, env), self.value(expr.right, env)
        match expr.op:
            case "//" | "%":
                low = bounds(expr.right, {})
                if low is not None and low[0] > 0:
                    return infix("\\div" if expr.op == "//" else "%", left, right)
                self.needs.add("Div")
                return Text(f"{'Div' if expr.op == '//' else 'Mod'}({left}, {right})")
            case "min" | "max":
                name = expr.op.capitalize()
                self.needs.add(name)
                return Text(f"{name}({{{left}, {right}}})")
            case "<" | "<=" if isinstance(expr.left.type, BoolT):
                return infix(expr.op, *(choose(v, number(1), number(0)) for v in (left, right)))
            case _:
                return infix(OPERATORS[expr.op], left, right)

    # --- quantifiers ----------------------------------------------------------------------------------

    def _quant(self, expr: Quant, env: Env) -> Text:
        values = expr.domain.values
        if not values:
            return self._nothing(expr, env)
        if expr.op == "first":
            return self._first(expr, env)
        if expr.op == "sum" and len(set(values)) != len(values):
            total = number(0)
            for value in values:
                inner = env.bind(expr.var, self.types.value(value, expr.domain.type))
                total = infix("+", total, self._counted(expr, inner))
            return total
        name = self.bound(expr.var, env)
        inner = env.bind(expr.var, Text(name))
        where = TRUE if expr.where is None else self.value(expr.where, inner)
        domain = self.types.domain(expr.domain.type, values, expr.domain.whole)
        body = self.value(expr.body, inner)
        match expr.op:
            case "any":
                return Text(f"\\E {name} \\in {domain} : {conj([where, body])}", OPEN)
            case "all":
                return Text(f"\\A {name} \\in {domain} : {implies(where, body)}", OPEN)
            case "sum":
                return self._sum(expr, name, domain, where, inner)
            case "set":
                found = _image(name, domain, where, body)
                return Text(f"UNION {found}", COMPARE + 1) if isinstance(expr.body.type, SetT) else found
            case _:
                return self._extreme(expr, _image(name, domain, where, body), env)

    def _nothing(self, expr: Quant, env: Env) -> Text:
        match expr.op:
            case "any" | "all":
                return TRUE if expr.op == "all" else FALSE
            case "sum":
                return number(0)
            case "set":
                return Text("{}")
            case _:
                return self._otherwise(expr, env)

    def _otherwise(self, expr: Quant, env: Env) -> Text:
        if expr.default is not None:
            return self.value(expr.default, env)
        self.needs.add("TLC")
        return Text(f'Assert(FALSE, "{expr.op} of nothing")')

    def _counted(self, expr: Quant, env: Env) -> Text:
        body = self.value(expr.body, env)
        return body if expr.where is None else choose(self.value(expr.where, env), body, number(0))

    def _sum(self, expr: Quant, name: str, domain: Text, where: Text, env: Env) -> Text:
        """Counting is what most sums do."""
        match expr.body:
            case Const(value=1):
                return Text(f"Cardinality({_image(name, domain, where, Text(name))})")
            case Unary(op="int", arg=arg) if isinstance(arg.type, BoolT):
                return Text(f"Cardinality({_image(name, domain, conj([where, self.value(arg, env)]), Text(name))})")
            case _:
                self.needs.add("Sum")
                return Text(f"Sum([{name} \\in {domain} |-> {self._counted(expr, env)}])")

    def _extreme(self, expr: Quant, found: Text, env: Env) -> Text:
        name = expr.op.capitalize()
        self.needs.add(name)
        return self._of_set(found, lambda some: Text(f"{name}({some})"), expr, env)

    def _of_set(self, found: Text, pick: Callable[[Text], Text], expr: Quant, env: Env) -> Text:
        """What is picked of a set, or the default if it is empty."""
        if expr.where is None:
            return pick(found)
        name = self.bound("found", env)
        body = choose(infix("=", Text(name), Text("{}")), self._otherwise(expr, env), pick(Text(name)))
        return Text(f"LET {name} == {found} IN {body}", OPEN)

    def _first(self, expr: Quant, env: Env) -> Text:
        """The smallest number that qualifies; members have no order, so they are asked one by one."""
        values = expr.domain.values
        numbers = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
        if len(numbers) != len(values) or numbers != sorted(numbers) or len(numbers) < 2:
            return self._one_by_one(expr, env)
        name = self.bound(expr.var, env)
        inner = env.bind(expr.var, Text(name))
        where = TRUE if expr.where is None else self.value(expr.where, inner)
        domain = self.types.domain(expr.domain.type, values, expr.domain.whole)
        self.needs.add("Min")

        def pick(some: Text) -> Text:
            least = Text(f"Min({some})")
            body = expr.body.arg if isinstance(expr.body, Unary) and expr.body.op == "some" else expr.body
            if isinstance(body, Local) and body.name == expr.var:
                return least
            return Text(f"LET {name} == {least} IN {self.value(expr.body, inner)}", OPEN)

        return self._of_set(_image(name, domain, where, Text(name)), pick, expr, env)

    def _one_by_one(self, expr: Quant, env: Env) -> Text:
        found = self._otherwise(expr, env)
        for value in reversed(expr.domain.values):
            inner = env.bind(expr.var, self.types.value(value, expr.domain.type))
            where = TRUE if expr.where is None else self.value(expr.where, inner)
            found = choose(where, self.value(expr.body, inner), found)
        return found


def _image(name: str, domain: Text, where: Text, body: Text) -> Text:
    """`{body : name \\in domain}`, restricted."""
    picked = domain if where == TRUE else Text(f"{{{name} \\in {domain} : {where}}}")
    if body.text == name:
        return picked
    return Text(f"{{{body} : {name} \\in {picked}}}")


