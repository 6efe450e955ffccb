"""First-order formulas over uninterpreted sorts and integers: what a model becomes when it is to be proved.

Everything is immutable and compared by structure.  Terms of a sort are variables only: what a model writes as a
function to a sort (an owner, an optional) is a relation here, so that no chain of functions leaves the decidable
fragment.  Integers are unbounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

BOOL = "Bool"
INT = "Int"
"""Names of the two sorts that are not uninterpreted."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A relation (`result` is `BOOL`) or an integer function (`INT`) over sorts.

    `spelled` is how an application reads in the model's own words, with `{0}`, `{1}` for the arguments, such as
    `phase[{0}] == SENDING`; empty: `name({0}, {1})`.
    """

    name: str
    args: tuple[str, ...] = ()
    result: str = BOOL
    spelled: str = ""


@dataclass(frozen=True, slots=True)
class Var:
    """A variable of an uninterpreted sort, or of integers if `sort` is `INT`."""

    name: str
    sort: str


@dataclass(frozen=True, slots=True)
class Num:
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Apply:
    """An integer function applied to variables; without arguments a symbolic constant."""

    symbol: Symbol
    args: tuple[Var, ...] = ()


@dataclass(frozen=True, slots=True)
class Plus:
    """Sum of two integers."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Times:
    """A known multiple of an integer."""

    factor: int
    term: Term


@dataclass(frozen=True, slots=True)
class Choose:
    """`then` where `test` holds, else `other`: the value of an update that has cases."""

    test: Formula
    then: Term
    other: Term


Term = Var | Num | Apply | Plus | Times | Choose


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false."""

    value: bool


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation of variables."""

    symbol: Symbol
    args: tuple[Var, ...] = ()


@dataclass(frozen=True, slots=True)
class Same:
    """Two variables of one uninterpreted sort denote the same element."""

    left: Var
    right: Var


@dataclass(frozen=True, slots=True)
class Compare:
    """An order or equality of integers."""

    op: Literal["<=", "<", "=="]
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    body: Formula


@dataclass(frozen=True, slots=True)
class And:
    """All of them; true if there are none."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some of them; false if there are none."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class ForAll:
    """Every choice of the variables."""

    vars: tuple[Var, ...]
    body: Formula


@dataclass(frozen=True, slots=True)
class Exists:
    """Some choice of the variables."""

    vars: tuple[Var, ...]
    body: Formula


Formula = Truth | Atom | Same | Compare | Not | And | Or | ForAll | Exists

TRUE, FALSE = Truth(True), Truth(False)


def conj(parts: Iterable[Formula]) -> Formula:
    """Conjunction, flattened, without what is true; false if a part is."""
    flat: list[Formula] = []
    for part in parts:
        if part == FALSE:
            return FALSE
        if isinstance(part, And):
            flat.extend(part.parts)
        elif part != TRUE:
            flat.append(part)
    kept = tuple(dict.fromkeys(flat))
    return kept[0] if len(kept) == 1 else And(kept) if kept else TRUE


def disj(parts: Iterable[Formula]) -> Formula:
    """Disjunction, flattened, without what is false; true if a part is."""
    flat: list[Formula] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        if isinstance(part, Or):
            flat.extend(part.parts)
        elif part != FALSE:
            flat.append(part)
    kept = tuple(dict.fromkeys(flat))
    return kept[0] if len(kept) == 1 else Or(kept) if kept else FALSE


def neg(body: Formula) -> Formula:
    """Negation, without doubling it."""
    match body:
        case Truth():
            return Truth(not body.value)
        case Not():
            return body.body
        case _:
            return Not(body)


def implies(premise: Formula, conclusion: Formula) -> Formula:
    """Implication."""
    return disj((neg(premise), conclusion))


def forall(variables: Iterable[Var], body: Formula) -> Formula:
    """Universal closure over the variables; the body itself if there are none."""
    bound = tuple(variables)
    return ForAll(bound, body) if bound and not isinstance(body, Truth) else body


def exists(variables: Iterable[Var], body: Formula) -> Formula:
    """Existential closure over the variables; the body itself if there are none."""
    bound = tuple(variables)
    return Exists(bound, body) if bound and not isinstance(body, Truth) else body


def children(node: Formula | Term) -> tuple[Formula | Term, ...]:
    """Formulas and terms directly inside, bound variables not among them."""
    match node:
        case Truth() | Var() | Num():
            return ()
        case Atom() | Apply():
            return node.args
        case Same() | Plus() | Compare():
            return (node.left, node.right)
        case Times():
            return (node.term,)
        case Choose():
            return (node.test, node.then, node.other)
        case Not() | ForAll() | Exists():
            return (node.body,)
        case And() | Or():
            return node.parts


def walk(node: Formula | Term) -> Iterator[Formula | Term]:
    """The node and everything inside, outermost first."""
    yield node
    for child in children(node):
        yield from walk(child)


def free_variables(node: Formula | Term) -> frozenset[Var]:
    """Variables that no quantifier inside binds."""
    if isinstance(node, Var):
        return frozenset({node})
    inside: frozenset[Var] = frozenset().union(*map(free_variables, children(node)))
    return inside - set(node.vars) if isinstance(node, ForAll | Exists) else inside


Renaming = Mapping[Var, Term]
"""Variables and what stands in their place: variables for those of a sort, terms for integers."""
