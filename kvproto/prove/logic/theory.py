"""A model as first-order formulas: symbols, initial states, guarded simultaneous updates, claims.

A theory speaks of every finite size of its sorts at once (each has at least one element), and of every value of its
rigid symbols that the axioms allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kvproto.diagnostics import Loc
from kvproto.prove.logic.formula import Formula, Symbol, Term, Var


@dataclass(frozen=True, slots=True)
class Update:
    """The new value of `symbol(formals)`, over the state before the step, the step's choices and the formals.

    A formula for a relation, a term for an integer function.  A symbol without an update keeps its values.
    """

    symbol: Symbol
    formals: tuple[Var, ...]
    value: Formula | Term


@dataclass(frozen=True, slots=True)
class Obligation:
    """What must hold whenever the step is taken, in the state before it: an assertion, or that it is no fault."""

    name: str
    text: str
    formula: Formula
    loc: Loc | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """An action: all updates happen at once if the guard holds in the state before.

    `params` are elements (or integers) that the step chooses, `chosen` relations that it chooses freely: a
    set-valued parameter `wanted: Set(Page)` is a relation over Page.
    """

    name: str
    params: tuple[Var, ...]
    chosen: tuple[Symbol, ...]
    guard: Formula
    updates: tuple[Update, ...]
    obligations: tuple[Obligation, ...] = ()
    doc: str = ""
    loc: Loc | None = None


@dataclass(frozen=True, slots=True)
class Clause:
    """A closed formula with a name: a claim, an axiom, or part of an invariant.  `text` is how it reads."""

    name: str
    formula: Formula
    text: str = ""
    loc: Loc | None = None


@dataclass(frozen=True, slots=True)
class Theory:
    """A model under its switches, without sizes.

    `state` symbols change, `rigid` ones do not (symbolic parameters, orders); `axioms` speak of rigid symbols only
    and are assumptions of every proof.  `typing` holds by the types of the model (one owner at most, exactly one
    phase); it is proved along with everything else, never assumed.  `init` describes all initial states: what it does
    not fix is arbitrary.  `assumptions` are sentences that a reader of a proof has to know, such as that a choice of
    the lowest page has become a choice of any page.
    """

    model: str
    preset: str
    switches: Mapping[str, bool | int | str]
    sorts: tuple[str, ...]
    state: tuple[Symbol, ...]
    rigid: tuple[Symbol, ...]
    axioms: tuple[Clause, ...]
    typing: tuple[Clause, ...]
    init: Formula
    transitions: tuple[Transition, ...]
    claims: tuple[Clause, ...]
    digest: str = ""
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """A finite interpretation: elements of a sort are 0 .. size-1.

    `relations[name]` holds the tuples that are true, `integers[name]` a value for every tuple of arguments.
    """

    sizes: Mapping[str, int]
    relations: Mapping[str, frozenset[tuple[int, ...]]]
    integers: Mapping[str, Mapping[tuple[int, ...], int]] = field(default_factory=dict)
