"""Formulas and refutations as JSON: small lists whose first item says what they are, variables by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvproto.prove.certificates.ground_steps import (
    Congruent,
    Contradiction,
    Element,
    Equal,
    Instance,
    Open,
    Step,
    Transitive,
)
from kvproto.prove.logic.formula import (
    BOOL,
    INT,
    And,
    Apply,
    Atom,
    Choose,
    Compare,
    Exists,
    ForAll,
    Formula,
    Not,
    Num,
    Or,
    Plus,
    Same,
    Symbol,
    Term,
    Times,
    Truth,
    Var,
)

Json = Any
"""What `json` reads and writes."""


class Malformed(Exception):
    """JSON that is no formula, or no refutation."""


def formula_to_json(formula: Formula) -> Json:
    """A formula as JSON.

    >>> r = Var("r", "Req")
    >>> formula_to_json(ForAll((r,), Atom(Symbol("done", ("Req",)), (r,))))
    ['all', [['r', 'Req']], ['is', 'done', 'r']]
    """
    match formula:
        case Truth(value):
            return value
        case Atom(symbol, args):
            return ["is", symbol.name, *(arg.name for arg in args)]
        case Same(left, right):
            return ["same", left.name, right.name]
        case Compare(op, left, right):
            return [op, term_to_json(left), term_to_json(right)]
        case Not(body):
            return ["not", formula_to_json(body)]
        case And(parts):
            return ["and", *map(formula_to_json, parts)]
        case Or(parts):
            return ["or", *map(formula_to_json, parts)]
        case ForAll(variables, body) | Exists(variables, body):
            word = "all" if isinstance(formula, ForAll) else "some"
            return [word, [[v.name, v.sort] for v in variables], formula_to_json(body)]


def term_to_json(term: Term) -> Json:
    """An integer term as JSON."""
    match term:
        case Var(name):
            return name
        case Num(value):
            return value
        case Apply(symbol, args):
            return ["of", symbol.name, *(arg.name for arg in args)]
        case Plus(left, right):
            return ["+", term_to_json(left), term_to_json(right)]
        case Times(factor, inner):
            return ["*", factor, term_to_json(inner)]
        case Choose(test, then, other):
            return ["if", formula_to_json(test), term_to_json(then), term_to_json(other)]


def step_to_json(step: Step) -> Json:
    """A step of a refutation as JSON."""
    match step:
        case Element(name, sort):
            return ["element", name, sort]
        case Open(atom, names):
            return ["open", atom, *names]
        case Instance(atom, terms):
            return ["instance", atom, *map(term_to_json, terms)]
        case Transitive(first, second, third):
            return ["transitive", first.name, second.name, third.name]
        case Congruent(one, other):
            return ["congruent", one, other]
        case Equal(symbol, left, right):
            return ["equal", symbol.name, [v.name for v in left], [v.name for v in right]]
        case Contradiction(weighted):
            return ["contradiction", *map(list, weighted)]


def symbol_to_json(symbol: Symbol) -> Json:
    """A symbol as JSON: its name, the sorts of its arguments, what it gives, how it is written."""
    return [symbol.name, list(symbol.args), symbol.result, symbol.spelled]


class Reader:
    """Reads what the functions above write, about given symbols; raises `Malformed`.

    Free variables are looked up in `constants`, which may grow while a refutation is read.
    """

    def __init__(self, symbols: Iterable[Symbol], constants: Mapping[str, Var]) -> None:
        self.symbols = {symbol.name: symbol for symbol in symbols}
        self.constants = constants

    def formula(self, data: Json) -> Formula:
        """A formula."""
        return self._formula(data, self.constants)

    def term(self, data: Json) -> Term:
        """An integer, or an element."""
        return self._constant(data) if isinstance(data, str) else self._term(data, self.constants)

    def step(self, data: Json) -> Step:
        """A step of a refutation."""
        match data:
            case ["element", str(name), str(sort)]:
                return Element(name, sort)
            case ["open", atom, *names]:
                return Open(whole(atom), tuple(map(text, names)))
            case ["instance", atom, *terms]:
                return Instance(whole(atom), tuple(map(self.term, terms)))
            case ["transitive", first, second, third]:
                return Transitive(self._constant(first), self._constant(second), self._constant(third))
            case ["congruent", one, other]:
                return Congruent(whole(one), whole(other))
            case ["equal", name, [*left], [*right]]:
                return Equal(self._symbol(name), tuple(map(self._constant, left)), tuple(map(self._constant, right)))
            case ["contradiction", *pairs]:
                return Contradiction(tuple(map(_weighted, pairs)))
        raise Malformed(f"no step: {data!r}")

    def _formula(self, data: Json, scope: Mapping[str, Var]) -> Formula:
        match data:
            case bool():
                return Truth(data)
            case ["is", name, *args]:
                return Atom(self._symbol(name), self._args(name, args, scope, BOOL))
            case ["same", left, right]:
                one, other = _named(left, scope), _named(right, scope)
                if one.sort != other.sort or one.sort == INT:
                    raise Malformed(f"{left} and {right} are not elements of one sort")
                return Same(one, other)
            case ["<=" | "<" | "==" as op, left, right]:
                return Compare(op, self._term(left, scope), self._term(right, scope))
            case ["not", body]:
                return Not(self._formula(body, scope))
            case ["and", *parts]:
                return And(tuple(self._formula(part, scope) for part in parts))
            case ["or", *parts]:
                return Or(tuple(self._formula(part, scope) for part in parts))
            case ["all" | "some" as word, [*pairs], body]:
                bound = tuple(Var(text(name), text(sort)) for name, sort in map(_pair, pairs))
                inner = self._formula(body, {**scope, **{variable.name: variable for variable in bound}})
                return ForAll(bound, inner) if word == "all" else Exists(bound, inner)
        raise Malformed(f"no formula: {data!r}")

    def _term(self, data: Json, scope: Mapping[str, Var]) -> Term:
        match data:
            case str() if _named(data, scope).sort == INT:
                return scope[data]
            case int():
                return Num(whole(data))
            case ["of", name, *args]:
                return Apply(self._symbol(name), self._args(name, args, scope, INT))
            case ["+", left, right]:
                return Plus(self._term(left, scope), self._term(right, scope))
            case ["*", factor, inner]:
                return Times(whole(factor), self._term(inner, scope))
            case ["if", test, then, other]:
                return Choose(self._formula(test, scope), self._term(then, scope), self._term(other, scope))
        raise Malformed(f"no term: {data!r}")

    def _args(self, name: Json, args: Sequence[Json], scope: Mapping[str, Var], result: str) -> tuple[Var, ...]:
        symbol, found = self._symbol(name), tuple(_named(arg, scope) for arg in args)
        if symbol.result != result or tuple(v.sort for v in found) != symbol.args:
            raise Malformed(f"{symbol.name} is not applied to {args!r}")
        return found

    def _symbol(self, name: Json) -> Symbol:
        if text(name) not in self.symbols:
            raise Malformed(f"there is no symbol {name!r}")
        return self.symbols[text(name)]

    def _constant(self, name: Json) -> Var:
        return _named(name, self.constants)


def text(data: Json) -> str:
    """A string."""
    if not isinstance(data, str):
        raise Malformed(f"no name: {data!r}")
    return data


def whole(data: Json) -> int:
    """An integer, which truth values are not."""
    if not isinstance(data, int) or isinstance(data, bool):
        raise Malformed(f"no integer: {data!r}")
    return data


def literals(data: Json) -> tuple[int, ...]:
    """A clause: integers other than 0."""
    if not isinstance(data, list) or 0 in map(whole, data):
        raise Malformed(f"no clause: {data!r}")
    return tuple(map(whole, data))


def _weighted(data: Json) -> tuple[int, int]:
    literal, weight = _pair(data)
    return whole(literal), whole(weight)


def _pair(data: Json) -> tuple[Json, Json]:
    if not isinstance(data, list) or len(data) != 2:
        raise Malformed(f"no pair: {data!r}")
    return data[0], data[1]


def _named(name: Json, scope: Mapping[str, Var]) -> Var:
    if text(name) not in scope:
        raise Malformed(f"{name!r} has not been named")
    return scope[text(name)]
