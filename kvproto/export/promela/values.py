"""The value of an expression, as a Promela expression.

Promela's expressions have no effects and no locals, so quantifiers are written out and the value of a local stands
wherever it is used.  A set is a list of words; everything else is one number (see `storage` for what it means).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kvproto.export.promela.storage import WORD, Storage, offset, onset, position, words
from kvproto.export.promela.text import FALSE, TRUE, UNARY, Text, choose, conj, decide, disj, infix, literal, neg, truth
from kvproto.export.ranges import Bounds, bounds, domain_bounds, type_bounds, within
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
from kvproto.ir.types import (
    BoolT,
    EnumT,
    IntT,
    LeafT,
    OptT,
    ScalarT,
    SetT,
    SortT,
    Type,
    Value,
    cardinality,
    scalars_of,
)
from kvproto.ir.walk import indices

Words = list[Text]
Meaning = Text | Words


@dataclass(frozen=True, slots=True)
class Env:
    """What names stand for, and which numbers loop variables and parameters can be."""

    values: Mapping[str, Meaning] = field(default_factory=dict)
    ranges: Mapping[str, Bounds] = field(default_factory=dict)

    def bind(self, name: str, value: Meaning, known: Bounds | None = None) -> Env:
        """With one more name."""
        ranges = {k: v for k, v in self.ranges.items() if k != name} | ({} if known is None else {name: known})
        return replace(self, values={**self.values, name: value}, ranges=ranges)


    def variables(self) -> set[str]:
        """What the names stand for, without indices."""
        parts = [[value] if isinstance(value, Text) else value for value in self.values.values()]
        return {part.text.split("[", maxsplit=1)[0] for found in parts for part in found}


@dataclass(frozen=True, slots=True)
class Case:
    """One value of a quantifier's variable: whether it is picked, what it gives, and what names mean there."""

    where: Text
    env: Env


class Values:
    """Translates expressions of one system."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    # --- entry points ---------------------------------------------------------------------------------

    def number(self, expr: Expr, env: Env) -> Text:
        """The value of anything but a set."""
        found = self.value(expr, env)
        assert isinstance(found, Text), expr
        return found

    def words(self, expr: Expr, env: Env) -> Words:
        """The value of a set."""
        found = self.value(expr, env)
        assert not isinstance(found, Text), expr
        return found

    def value(self, expr: Expr, env: Env) -> Meaning:
        """The value of any expression."""
        match expr:
            case Const():
                return self.constant(expr.value, expr.type)
            case Local(name=name):
                return env.values[name]
            case Read(place=place, type=kind):
                return self.read(place, kind, env)
            case Unary():
                return self._unary(expr, env)
            case Binary():
                return self._binary(expr, env)
            case Logic(op=op, args=args):
                return (conj if op == "and" else disj)(self.number(a, env) for a in args)
            case Cond(type=BoolT(), test=test, then=then, orelse=orelse):
                return decide(self.number(test, env), self.number(then, env), self.number(orelse, env))
            case Cond(test=test, then=then, orelse=orelse):
                return self.either(self.number(test, env), self.value(then, env), self.value(orelse, env))
            case Let(name=name, value=value, body=body):
                return self.value(body, env.bind(name, self.value(value, env), bounds(value, env.ranges)))
            case SetOf(type=SetT() as kind, items=items):
                return _union([self._singleton(item, kind, env) for item in items], kind)
            case ToIndex(arg=arg) | Checked(body=arg):
                return self.value(arg, env)
            case Quant():
                return self._quant(expr, env)
            case _:
                raise AssertionError(expr)

    def constant(self, value: Value, kind: Type) -> Meaning:
        """A constant of the type."""
        match kind:
            case SetT(element=element):
                assert isinstance(value, frozenset)
                mask = sum(1 << position(v, element) for v in value)
                return [literal(mask >> WORD * at & ((1 << WORD) - 1)) for at in range(words(kind))]
            case OptT(inner=inner):
                return Text(self.storage.none) if value is None else self._some(self._scalar(value, inner), inner)
            case BoolT() | IntT() | SortT() | EnumT():
                return self._scalar(value, kind)
            case _:
                return Text(self.storage.none)

    def _scalar(self, value: Value, kind: ScalarT) -> Text:
        match kind:
            case BoolT():
                return truth(bool(value))
            case EnumT():
                return Text(self.storage.member(kind, str(value)))
            case _:
                assert isinstance(value, int)
                return literal(int(value))

    def read(self, place: Place, kind: Type, env: Env) -> Meaning:
        """The present value of a place."""
        return self._read(place, kind, self.positions(place, env))

    def positions(self, place: Place, env: Env) -> list[Text]:
        """Where in each array the place is."""
        types = self.storage.index_types(place)
        return [self._position(i, k, env) for i, k in zip(indices(place), types, strict=True)]

    def _position(self, index: Expr, kind: LeafT, env: Env) -> Text:
        if isinstance(kind, SetT):
            (word,) = self.words(index, env)  # an array over more sets than one word has would not fit anywhere
            return word
        return offset(self.number(index, env), kind)

    def _read(self, place: Place, kind: Type, at: list[Text]) -> Meaning:
        for number, index in enumerate(at):
            if self.storage.is_inside(place, index.text):
                found = self._read(place, kind, [*at[:number], literal(0), *at[number + 1 :]])
                for value in range(1, cardinality(self.storage.index_types(place)[number])):
                    other = self._read(place, kind, [*at[:number], literal(value), *at[number + 1 :]])
                    found = self.either(infix("==", index, literal(value)), other, found)
                return found
        return self.at(place, kind, at)

    def at(self, place: Place, kind: Type, at: list[Text]) -> Meaning:
        """The value of the place with its indices in these positions."""
        cell = self.cell(place, at)
        if isinstance(kind, SetT):
            return [Text(cell)] if words(kind) == 1 else [Text(f"{cell}[{word}]") for word in range(words(kind))]
        return onset(Text(cell), kind) if isinstance(kind, IntT) else Text(cell)

    def cell(self, place: Place, at: list[Text]) -> str:
        """The variable that a place is."""
        found = iter(at)
        return self.storage.cell(place, lambda *_: str(next(found)))

    def either(self, test: Text, then: Meaning, orelse: Meaning) -> Meaning:
        """One of two values."""
        if isinstance(then, Text):
            assert isinstance(orelse, Text)
            return choose(test, then, orelse)
        assert not isinstance(orelse, Text)
        return [choose(test, a, b) for a, b in zip(then, orelse, strict=True)]

    # --- operators ------------------------------------------------------------------------------------

    def _some(self, value: Text, inner: ScalarT) -> Text:
        return infix("+", offset(value, inner), literal(1))

    def _unary(self, expr: Unary, env: Env) -> Meaning:
        match expr.op:
            case "not":
                return neg(self.number(expr.arg, env))
            case "neg":
                return infix("-", literal(0), self.number(expr.arg, env))
            case "int":
                return self.number(expr.arg, env)
            case "is_none":
                return infix("==", self.number(expr.arg, env), Text(self.storage.none))
            case "some":
                assert isinstance(expr.type, OptT)
                return self._some(self.number(expr.arg, env), expr.type.inner)
            case "unwrap":
                return self._unwrapped(expr.arg, env)
            case "card":
                kind = expr.arg.type
                assert isinstance(kind, SetT)
                return _sum(self.member(at, expr.arg, env) for at in range(cardinality(kind.element)))

    def _unwrapped(self, arg: Expr, env: Env) -> Text:
        """What is inside an optional; nonsense where it is None, which is for `faults` to notice."""
        assert isinstance(arg.type, OptT)
        return onset(infix("-", self.number(arg, env), literal(1)), arg.type.inner)

    def _binary(self, expr: Binary, env: Env) -> Meaning:
        if expr.op == "in":
            return self._contains(expr.left, expr.right, env)
        if isinstance(expr.left.type, SetT):
            return self._setwise(expr, env)
        if expr.op in ("==", "!=") and isinstance(expr.left, Unary) and expr.left.op == "card" and _zero(expr.right):
            some = disj(infix("!=", word, literal(0)) for word in self.words(expr.left.arg, env))
            return some if expr.op == "!=" else neg(some)
        left, right = self.number(expr.left, env), self.number(expr.right, env)
        match expr.op:
            case "//" | "%":
                one, other = bounds(expr.left, env.ranges), bounds(expr.right, env.ranges)
                plain = one is not None and other is not None and one[0] >= 0 and other[0] > 0
                if plain:
                    return infix("/" if expr.op == "//" else "%", left, right)
                return Text(f"{'DIV' if expr.op == '//' else 'MOD'}({left}, {right})")
            case "min" | "max":
                return Text(f"{expr.op.upper()}({left}, {right})")
            case "union" | "inter" | "diff" | "subset" | "in":
                raise AssertionError(expr)
            case _:
                return infix(expr.op, left, right)

    def _setwise(self, expr: Binary, env: Env) -> Meaning:
        left, right = self.words(expr.left, env), self.words(expr.right, env)
        pairs = list(zip(left, right, strict=True))
        match expr.op:
            case "union":
                return [infix("|", a, b) for a, b in pairs]
            case "inter":
                return [infix("&", a, b) for a, b in pairs]
            case "diff":
                return [_without(a, b) for a, b in pairs]
            case "subset":
                return conj(infix("==", _without(a, b), literal(0)) for a, b in pairs)
            case "==":
                return conj(infix("==", a, b) for a, b in pairs)
            case _:
                return disj(infix("!=", a, b) for a, b in pairs)

    def _contains(self, item: Expr, container: Expr, env: Env) -> Text:
        kind = container.type
        assert isinstance(kind, SetT)
        masks = self.words(container, env)
        if isinstance(item.type, OptT):
            there = infix("!=", self.number(item, env), Text(self.storage.none))
            at = offset(self._unwrapped(item, env), kind.element)
            fits = within(type_bounds(item.type.inner), type_bounds(kind.element))
        else:
            there = TRUE
            at = offset(self.number(item, env), kind.element)
            fits = within(bounds(item, env.ranges), type_bounds(kind.element))
        if not fits:
            size = cardinality(kind.element)
            there = conj([there, infix("<=", literal(0), at), infix("<", at, literal(size))])
        return conj([there, _bit(masks, at)])

    def _singleton(self, item: Expr, kind: SetT, env: Env) -> Words:
        return _one_bit(offset(self.number(item, env), kind.element), kind)

    def member(self, at: int, expr: Expr, env: Env) -> Text:
        """Whether the value at this position belongs to a set."""
        match expr:
            case Const(value=frozenset() as value, type=SetT(element=element)):
                return truth(scalars_of(element)[at] in value)
            case Binary(op="union", left=left, right=right):
                return disj([self.member(at, left, env), self.member(at, right, env)])
            case Binary(op="inter", left=left, right=right):
                return conj([self.member(at, left, env), self.member(at, right, env)])
            case Binary(op="diff", left=left, right=right):
                return conj([self.member(at, left, env), neg(self.member(at, right, env))])
            case Cond(test=test, then=then, orelse=orelse):
                return decide(self.number(test, env), self.member(at, then, env), self.member(at, orelse, env))
            case SetOf(type=SetT(element=element), items=items):
                found = [offset(self.number(item, env), element) for item in items]
                return disj(infix("==", value, literal(at)) for value in found)
            case Quant(op="set", type=SetT(element=element), body=body):
                if isinstance(body.type, SetT):
                    return disj(conj([c.where, self.member(at, body, c.env)]) for c in self.cases(expr, env))
                return disj(
                    conj([c.where, infix("==", offset(self.number(body, c.env), element), literal(at))])
                    for c in self.cases(expr, env)
                )
            case _:
                return _bit(self.words(expr, env), literal(at))

    # --- quantifiers ----------------------------------------------------------------------------------

    def cases(self, expr: Quant, env: Env, *, every: bool = False) -> list[Case]:
        """The values of the variable; those that are never picked are left out, unless `every`."""
        found = []
        known = domain_bounds(expr.var, expr.domain.type, expr.domain.values)
        for item in expr.domain.values:
            inner = env.bind(expr.var, self.constant(item, expr.domain.type), known.get(expr.var))
            where = TRUE if expr.where is None else self.number(expr.where, inner)
            if every or where != FALSE:
                found.append(Case(where, inner))
        return found

    def _quant(self, expr: Quant, env: Env) -> Meaning:
        cases = self.cases(expr, env)
        match expr.op:
            case "any":
                return disj(conj([c.where, self.number(expr.body, c.env)]) for c in cases)
            case "all":
                return conj(disj([neg(c.where), self.number(expr.body, c.env)]) for c in cases)
            case "sum":
                return _sum(_counted(c.where, self.number(expr.body, c.env)) for c in cases)
            case "set":
                return self._set(expr, cases)
            case "first":
                return self._first(expr, cases, env)
            case "min" | "max":
                return self._extreme(expr, cases, env)

    def _set(self, expr: Quant, cases: Sequence[Case]) -> Words:
        kind = expr.type
        assert isinstance(kind, SetT)
        nothing: Words = [literal(0)] * words(kind)
        parts: list[Words] = []
        for case in cases:
            if isinstance(expr.body.type, SetT):
                part = self.words(expr.body, case.env)
            else:
                part = self._singleton(expr.body, kind, case.env)
            kept = self.either(case.where, part, nothing)
            assert not isinstance(kept, Text)
            parts.append(kept)
        return _union(parts, kind)

    def _first(self, expr: Quant, cases: Sequence[Case], env: Env) -> Meaning:
        found: Meaning | None = None if expr.default is None else self.value(expr.default, env)
        for case in reversed(cases):
            body = self.value(expr.body, case.env)
            found = body if found is None else self.either(case.where, body, found)
        return self._anything(expr.type) if found is None else found

    def _extreme(self, expr: Quant, cases: Sequence[Case], env: Env) -> Text:
        """The smallest or largest body, else the default: a tree, so that the text stays short."""
        otherwise = literal(0) if expr.default is None else self.number(expr.default, env)
        options = [(c.where, self.number(expr.body, c.env)) for c in cases]
        if not options:
            return otherwise
        macro = expr.op.upper()
        while len(options) > 1:
            options = [_better(macro, pair) for pair in _pairs(options)]
        return choose(options[0][0], options[0][1], otherwise)

    def _anything(self, kind: Type) -> Meaning:
        return [literal(0)] * words(kind) if isinstance(kind, SetT) else literal(0)


Option = tuple[Text, Text]


def _pairs(options: list[Option]) -> list[list[Option]]:
    return [options[at : at + 2] for at in range(0, len(options), 2)]


def _better(macro: str, options: list[Option]) -> Option:
    """The better of two candidates, of which either may not count."""
    if len(options) == 1:
        return options[0]
    (there, one), (also, other) = options
    both = Text(f"{macro}({one}, {other})")
    return disj([there, also]), choose(conj([there, also]), both, choose(there, one, other))


def _zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0 and not isinstance(expr.value, bool)


def _sum(parts: Iterable[Text]) -> Text:
    total = literal(0)
    for part in parts:
        total = infix("+", total, part)
    return total


def _counted(where: Text, body: Text) -> Text:
    return where if body in (TRUE, literal(1)) else choose(where, body, literal(0))


def _without(left: Text, right: Text) -> Text:
    number = right.number
    if number is not None:
        return left if number == 0 else infix("&", left, Text(f"~{number}"))
    return infix("&", left, Text(f"~{right.at(UNARY)}"))


def _union(parts: Sequence[Words], kind: SetT) -> Words:
    total: Words = [literal(0)] * words(kind)
    for part in parts:
        total = [infix("|", a, b) for a, b in zip(total, part, strict=True)]
    return total


def _one_bit(at: Text, kind: SetT) -> Words:
    """The set of one element at a position."""
    if words(kind) == 1:
        return [infix("<<", literal(1), at)]
    number = at.number
    if number is not None:
        return [literal(1 << number - WORD * w if number // WORD == w else 0) for w in range(words(kind))]
    found = []
    for word in range(words(kind)):
        inside = conj([infix("<=", literal(WORD * word), at), infix("<", at, literal(WORD * (word + 1)))])
        found.append(choose(inside, infix("<<", literal(1), infix("-", at, literal(WORD * word))), literal(0)))
    return found


def _bit(masks: Words, at: Text) -> Text:
    """Whether the bit at a position is set."""
    number = at.number
    if number is not None:
        mask, at = masks[number // WORD], literal(number % WORD)
        if mask.number is not None:
            return truth(bool(mask.number >> (number % WORD) & 1))
        return infix("&", infix(">>", mask, at), literal(1))
    if len(masks) == 1:
        return infix("&", infix(">>", masks[0], at), literal(1))
    found = FALSE
    for word in reversed(range(len(masks))):
        inside = infix("<", at, literal(WORD * (word + 1)))
        shifted = infix(">>", masks[word], infix("-", at, literal(WORD * word)))
        found = choose(inside, infix("&", shifted, literal(1)), found)
    return found
