"""The state of a model as relations and integer functions over its sorts.

Fields of records become part of a symbol's name, indices that are elements of a sort its arguments; any other index
(a member, a boolean, a number, None) selects one symbol of several, and is part of the name too.

| leaf | symbols | typing |
|---|---|---|
| Bool | a relation | |
| enumeration | a relation for each member | exactly one |
| Opt(enumeration) | the same | at most one |
| a sort | a relation with one more argument | exactly one value |
| Opt(sort) | the same | at most one value |
| Set(sort) | the same | |
| Int | an integer function | its bounds, where they are known numbers |
| Opt(Int) | the same, and a relation for whether there is one | |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from kvproto.ir.types import (
    ArrayT,
    BoolT,
    EnumT,
    IntT,
    LeafT,
    NoneT,
    OptT,
    RecordT,
    SetT,
    SortT,
    Type,
    Value,
    scalars_of,
)
from kvproto.prove.logic.formula import (
    INT,
    Apply,
    Atom,
    Compare,
    Formula,
    Same,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    exists,
    forall,
    implies,
    neg,
)
from kvproto.prove.logic.theory import Clause
from kvproto.prove.lowering.fail import refuse_type

HOLE = "*"
"""Stands in a key where an index is an element of a sort."""

MOST_KEYS = 32
"""Numbers that an index, a parameter or a loop may range over: each becomes symbols or formulas of its own."""

Kind = Literal["bool", "finite", "sort", "set", "members", "int"]
"""What the symbols of a leaf are: see the table above; `members` are sets of members of an enumeration."""

Key = tuple["Value", ...]
"""A path of the state with `HOLE` for every index that is an element of a sort."""

Bounds = Mapping[Key, tuple[Term | None, Term | None]]
"""Bounds of integer leaves; None where there is none."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of the state, for all elements of the sorts that index it.

    `symbols` holds the relation of each value of a finite leaf (`None` is no value: it is when none of them holds),
    and under `True` the one relation or function of every other leaf; under `None` stands the relation that an
    optional integer has a value.
    """

    key: Key
    sorts: tuple[str, ...]
    kind: Kind
    optional: bool
    symbols: Mapping[Value, Symbol]
    element: str = ""
    bounds: tuple[Term | None, Term | None] = (None, None)

    @property
    def symbol(self) -> Symbol:
        """The one symbol of a leaf that is neither finite nor a set of members."""
        return self.symbols[True]


@dataclass(slots=True)
class Layout:
    """All leaves of a state type, by key."""

    leaves: dict[Key, Leaf] = field(default_factory=dict)
    formals: dict[str, tuple[Var, ...]] = field(default_factory=dict)
    """Variables in which updates of a symbol are written; no name of the language has two dots in a row."""

    def symbols(self) -> Iterator[Symbol]:
        """All symbols in order of declaration."""
        for leaf in self.leaves.values():
            yield from leaf.symbols.values()


def layout_of(state: RecordT, bounds: Bounds) -> Layout:
    """The symbols of a state type.  Raises KvError KV162 for a leaf that is none of a relation."""
    layout = Layout()
    for key, sorts, text, kind in _leaves(state, (), (), ""):
        leaf = _leaf(key, sorts, text, kind, bounds.get(key, (None, None)))
        layout.leaves[key] = leaf
        for symbol in leaf.symbols.values():
            layout.formals[symbol.name] = formals_of(symbol)
    return layout


def formals_of(symbol: Symbol) -> tuple[Var, ...]:
    """Variables for the arguments of a symbol."""
    return tuple(Var(f"{sort[:1].lower()}..{at}", sort) for at, sort in enumerate(symbol.args))


def _leaves(
    kind: Type, key: Key, sorts: tuple[str, ...], text: str
) -> Iterator[tuple[Key, tuple[str, ...], str, LeafT]]:
    match kind:
        case RecordT(shape="queue" | "bag" as shape):
            refuse_type(text, f"a {shape} has an order or counts, which no relation has")
        case RecordT(shape="set"):
            yield from _leaves(dict(kind.fields)["has"], (*key, "has"), sorts, text)
        case RecordT():
            for name, inner in kind.fields:
                yield from _leaves(inner, (*key, name), sorts, f"{text}.{name}" if text else name)
        case ArrayT(index=SortT() as index):
            yield from _leaves(kind.element, (*key, HOLE), (*sorts, index.name), f"{text}[{{{len(sorts)}}}]")
        case ArrayT(index=OptT(inner=SortT() as inner)):
            yield from _leaves(kind.element, (*key, None), sorts, f"{text}[None]")
            yield from _leaves(kind.element, (*key, HOLE), (*sorts, inner.name), f"{text}[{{{len(sorts)}}}]")
        case ArrayT():
            for value in keys_of(kind.index, text):
                yield from _leaves(kind.element, (*key, value), sorts, f"{text}[{value}]")
        case NoneT():
            raise AssertionError("the state holds no bare None")
        case _:
            yield key, sorts, text, kind


def keys_of(kind: LeafT, text: str) -> tuple[Value, ...]:
    """Values of an index that is no element of a sort, few and known.  Raises KvError KV162."""
    match kind:
        case OptT():
            return (None, *keys_of(kind.inner, text))
        case BoolT() | EnumT():
            return scalars_of(kind)
        case IntT(lo=int() as low, hi=int() as high) if high - low < MOST_KEYS:
            return scalars_of(kind)
        case _:
            refuse_type(text, f"an index of type {kind} is neither an element of a sort nor one of a few known values")


def _leaf(key: Key, sorts: tuple[str, ...], text: str, kind: LeafT, bounds: tuple[Term | None, Term | None]) -> Leaf:
    name = name_of(key)
    optional = isinstance(kind, OptT)
    inner = kind.inner if isinstance(kind, OptT) else kind
    last = f"{{{len(sorts)}}}"
    match inner:
        case BoolT() if not optional:
            return Leaf(key, sorts, "bool", False, {True: Symbol(name, sorts, spelled=text)})
        case BoolT() | EnumT():
            members = {_value(v): Symbol(f"{name}.{v}", sorts, spelled=f"{text} == {v}") for v in scalars_of(inner)}
            return Leaf(key, sorts, "finite", optional, members)
        case SortT():
            symbol = Symbol(name, (*sorts, inner.name), spelled=f"{text} == {last}")
            return Leaf(key, sorts, "sort", optional, {True: symbol}, inner.name)
        case IntT():
            symbols: dict[Value, Symbol] = {True: Symbol(name, sorts, INT, text)}
            if optional:
                symbols[None] = Symbol(f"{name}.some", sorts, spelled=f"{text} is some")
            return Leaf(key, sorts, "int", optional, symbols, bounds=bounds)
        case SetT(element=SortT() as element):
            symbol = Symbol(name, (*sorts, element.name), spelled=f"{text} has {last}")
            return Leaf(key, sorts, "set", False, {True: symbol}, element.name)
        case SetT(element=few):
            inside = {_value(v): Symbol(f"{name}.{v}", sorts, spelled=f"{text} has {v}") for v in keys_of(few, text)}
            return Leaf(key, sorts, "members", False, inside)
        case _:
            raise AssertionError(f"{inner} inside an optional")


def _value(value: Value) -> Value:
    """A member as a value, which is the wider type."""
    return value


def name_of(key: Key) -> str:
    """The name of a leaf: fields with dots, known indices in brackets, nothing for elements of sorts."""
    text = ""
    for at, part in enumerate(key):
        if part == HOLE:
            continue
        is_field = isinstance(part, str) and (at == 0 or not text.endswith("]") or part.isidentifier())
        text += (f".{part}" if text else str(part)) if is_field else f"[{part}]"
    return text


def typing_of(layout: Layout) -> Iterator[Clause]:
    """What holds by the types of the state alone."""
    for leaf in layout.leaves.values():
        match leaf.kind:
            case "finite":
                yield from _one_of_several(leaf)
            case "sort":
                yield from _one_value(leaf)
            case "int":
                yield from _within_bounds(leaf)
            case _:
                pass


def _arguments(leaf: Leaf) -> tuple[Var, ...]:
    counts: dict[str, int] = {}
    found = []
    for sort in leaf.sorts:
        counts[sort] = counts.get(sort, 0) + 1
        found.append(Var(f"{sort[:1].lower()}{'' if counts[sort] == 1 else counts[sort]}.a", sort))
    return tuple(found)


def _one_of_several(leaf: Leaf) -> Iterator[Clause]:
    args, name = _arguments(leaf), name_of(leaf.key)
    atoms = [(value, Atom(symbol, args)) for value, symbol in leaf.symbols.items()]
    if not leaf.optional:
        yield Clause(f"{name} has a value", forall(args, disj(atom for _, atom in atoms)))
    for at, (value, one) in enumerate(atoms):
        for other_value, other in atoms[at + 1 :]:
            yield Clause(f"{name} is not {value} and {other_value}", forall(args, disj((neg(one), neg(other)))))


def _one_value(leaf: Leaf) -> Iterator[Clause]:
    args, name = _arguments(leaf), name_of(leaf.key)
    one, other = (Var(f"{leaf.element[:1].lower()}.{end}", leaf.element) for end in ("v", "w"))
    both = (Atom(leaf.symbol, (*args, one)), Atom(leaf.symbol, (*args, other)))
    yield Clause(f"{name} has one value at most", forall((*args, one, other), implies(conj(both), Same(one, other))))
    if not leaf.optional:
        yield Clause(f"{name} has a value", forall(args, exists((one,), both[0])))


def _within_bounds(leaf: Leaf) -> Iterator[Clause]:
    args, name = _arguments(leaf), name_of(leaf.key)
    number = Apply(leaf.symbol, args)
    low, high = leaf.bounds
    if low is not None:
        yield Clause(f"{name} is not too small", forall(args, Compare("<=", low, number)))
    if high is not None:
        yield Clause(f"{name} is not too large", forall(args, Compare("<=", number, high)))


def functional(layout: Layout) -> frozenset[str]:
    """Relations whose last argument is determined by the others."""
    return frozenset(leaf.symbol.name for leaf in layout.leaves.values() if leaf.kind == "sort")


def ite(test: Formula, then: Formula, other: Formula) -> Formula:
    """`then` where `test` holds, else `other`."""
    if then == other:
        return then
    return disj((conj((test, then)), conj((neg(test), other))))
