"""Formulas made smaller mean what they meant, in every structure and for every value of their variables."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from kvproto.prove.logic.evaluate import holds
from kvproto.prove.logic.formula import (
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
    Truth,
    Var,
)
from kvproto.prove.logic.theory import Structure
from kvproto.prove.lowering.simplify import existing, pushed, simplified, tidied

VARS = tuple(Var(name, "Req") for name in ("r", "r2", "x", "y"))
P, E, N = Symbol("p", ("Req",)), Symbol("e", ("Req", "Req")), Symbol("n", ("Req",), INT)

variables = st.sampled_from(VARS)
atoms = st.one_of(
    st.builds(Truth, st.booleans()),
    st.builds(lambda v: Atom(P, (v,)), variables),
    st.builds(lambda v, w: Atom(E, (v, w)), variables, variables),
    st.builds(Same, variables, variables),
    st.builds(
        lambda op, v, w, test: Compare(op, Apply(N, (v,)), Choose(test, Plus(Apply(N, (w,)), Num(1)), Num(1))),
        st.sampled_from(["<", "<=", "=="]),
        variables,
        variables,
        st.builds(lambda v: Atom(P, (v,)), variables),
    ),
)


def larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    """Formulas around formulas."""
    bound = st.lists(variables, min_size=1, max_size=2, unique=True).map(tuple)
    parts = st.lists(inner, max_size=3).map(tuple)
    quantified = st.one_of(st.builds(ForAll, bound, inner), st.builds(Exists, bound, inner))
    return st.one_of(st.builds(Not, inner), st.builds(And, parts), st.builds(Or, parts), quantified)


formulas = st.recursive(atoms, larger, max_leaves=8)
structures = st.builds(
    lambda p, e, n: Structure({"Req": 2}, {"p": frozenset(p), "e": frozenset(e)}, {"n": {(0,): n[0], (1,): n[1]}}),
    st.sets(st.sampled_from([(0,), (1,)])),
    st.sets(st.sampled_from(list(product((0, 1), repeat=2)))),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
)


def same(one: Formula, other: Formula, structure: Structure) -> bool:
    """Whether two formulas agree for all values of all variables."""
    choices = (dict(zip(VARS, values, strict=True)) for values in product((0, 1), repeat=len(VARS)))
    return all(holds(one, structure, choice) == holds(other, structure, choice) for choice in choices)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(formulas, structures)
def test_a_simplified_formula_means_the_same(formula: Formula, structure: Structure) -> None:
    assert same(formula, simplified(formula), structure)
    assert same(formula, pushed(formula), structure)
    assert same(formula, tidied(formula), structure)
    assert same(formula, simplified(tidied(simplified(formula))), structure)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(formulas, structures)
def test_a_choice_of_what_is_determined_means_the_same(formula: Formula, structure: Structure) -> None:
    for bound in (VARS[:1], VARS[:2]):
        assert same(Exists(bound, formula), existing(bound, formula), structure)


def test_what_is_known_outside_says_nothing_of_a_variable_that_is_bound_inside() -> None:
    x = VARS[2]
    inside = Exists((x,), And((Not(Atom(P, (x,))), Atom(E, (x, x)))))

    assert inside in simplified(And((Atom(P, (x,)), inside))).parts  # type: ignore[union-attr]


def test_names_do_not_depend_on_what_was_lowered_before() -> None:
    first, second = (Exists((v,), Atom(P, (v,))) for v in (Var("r..x7", "Req"), Var("r..x12", "Req")))

    assert tidied(first) == tidied(second)
