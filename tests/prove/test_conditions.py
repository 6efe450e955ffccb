"""Conditions: what they say, and that substitution says the same as taking the step."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import theories as t
from exploring import states, walks

from kvproto.prove.logic.conditions import GUARD, INIT, conditions
from kvproto.prove.logic.evaluate import after, choices, holds
from kvproto.prove.logic.formula import (
    INT,
    And,
    Apply,
    Atom,
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
    Var,
    exists,
    forall,
    free_variables,
    implies,
)
from kvproto.prove.logic.substitute import before, fresh, substitute
from kvproto.prove.logic.theory import Clause, Structure, Theory, Transition, Update

SMALL = {t.REQ: 2, t.PAGE: 2, t.SOURCE: 1, t.TAG: 2}


def random_formula(theory: Theory, randomly: random.Random, depth: int, scope: tuple[Var, ...]) -> Formula:
    """A formula over the theory's symbols; bound variables are likely to have names that steps use."""
    if depth == 0 or not scope:
        by_sort = {sort: [var for var in scope if var.sort == sort] for sort in theory.sorts}
        symbols = [one for one in theory.state if all(by_sort[sort] for sort in one.args)]
        if symbols:
            symbol = randomly.choice(symbols)
            args = tuple(randomly.choice(by_sort[sort]) for sort in symbol.args)
            return Atom(symbol, args) if symbol.result != INT else Compare("<=", Apply(symbol, args), Num(3))
    sort = randomly.choice(theory.sorts)
    names = {t.REQ: "rxq", t.PAGE: "pyq", t.SOURCE: "qz", t.TAG: "gh"}[sort]
    var = Var(randomly.choice(names), sort)
    inner = (*(one for one in scope if one.name != var.name), var)
    match randomly.randrange(4):
        case 0:
            return ForAll((var,), random_formula(theory, randomly, max(0, depth - 1), inner))
        case 1:
            return Exists((var,), random_formula(theory, randomly, max(0, depth - 1), inner))
        case 2 if scope:
            return Not(random_formula(theory, randomly, max(0, depth - 1), scope))
        case _:
            parts = [random_formula(theory, randomly, max(0, depth - 1), inner) for _ in range(2)]
            return ForAll((var,), Or(tuple(parts)))


@pytest.mark.parametrize("theory", [t.late(), t.ack(), t.tags()], ids=lambda theory: theory.model)
def test_weakest_precondition_is_the_formula_after_the_step(theory: Theory) -> None:
    randomly = random.Random(theory.model)
    found = states(theory, SMALL, 300)
    compared = set()
    for _ in range(150):
        state, action = randomly.choice(found), randomly.choice(theory.transitions)
        choice = {var: randomly.randrange(SMALL[var.sort]) for var in action.params}
        picked = {one.name: frozenset({(0,) * len(one.args)}) for one in action.chosen}
        extended = replace(state, relations={**state.relations, **picked})
        formula = random_formula(theory, randomly, 3, ())
        expected = holds(formula, after(extended, action, choice))

        assert holds(before(formula, action), extended, choice) == expected
        compared.add(expected)
    assert compared == {True, False}


def test_weakest_precondition_of_integers_is_the_formula_after_the_step() -> None:
    theory, randomly = t.timed(), random.Random(5)
    found = walks(theory, {t.REQ: 2, t.PAGE: 1}, {"hold": 2, "delay": 1, "life": 1}, 5, 100)
    tick = next(action for action in theory.transitions if action.name == "tick")
    post = next(action for action in theory.transitions if action.name == "post")
    left, right = Apply(t.DEADLINE, (t.X, t.Y)), Plus(Apply(t.NOW), Num(0))
    formula = forall((t.X, t.Y), Or((Not(Atom(t.INFL, (t.X, t.Y))), Compare("<=", left, right))))
    compared = set()
    for state in found:
        choices_ = ((tick, {t.STEP: randomly.randrange(4)}), (post, {t.R: randomly.randrange(2), t.P: 0}))
        for action, choice in choices_:
            expected = holds(formula, after(state, action, choice))
            assert holds(before(formula, action), state, choice) == expected
            compared.add(expected)
    assert compared == {True, False}


def test_parameters_are_not_captured_by_bound_variables() -> None:
    marked = Symbol("marked", (t.REQ,))
    mark = Transition(
        "mark", (t.R,), (), And(()), (Update(marked, (t.X,), Or((Atom(marked, (t.X,)), Same(t.X, t.R)))),)
    )
    everybody = ForAll((t.R,), Atom(marked, (t.R,)))
    nobody = Structure({t.REQ: 2}, {"marked": frozenset()})

    assert free_variables(before(everybody, mark)) == {t.R}
    assert not holds(before(everybody, mark), nobody, {t.R: 0})


def test_bound_variables_step_aside() -> None:
    owns = exists((t.P,), Atom(t.OWN, (t.R, t.P)))
    both = forall((t.R2,), exists((t.P,), And((Atom(t.OWN, (t.R, t.P)), Atom(t.OWN, (t.R2, t.P))))))
    renamed = substitute(both, {t.R: t.R2})

    assert substitute(owns, {t.P: t.P2}) == owns
    assert free_variables(renamed) == {t.R2}
    state = Structure({t.REQ: 2, t.PAGE: 1}, {"own": frozenset({(0, 0)})})
    assert not holds(renamed, state, {t.R2: 0})
    assert "r3" == fresh(t.R, {"r", "r2"}).name


def test_an_argument_of_a_symbol_stays_a_variable() -> None:
    with pytest.raises(TypeError, match="cannot become"):
        substitute(Atom(t.COMP, (t.R,)), {t.R: Num(1)})


def test_all_conditions_are_there_and_name_their_hypotheses() -> None:
    theory = t.duties()
    clause = Clause(
        "marked", forall((t.R,), implies(Atom(t.COMP, (t.R,)), Compare("<=", Apply(t.COUNTED, (t.R,)), Num(1))))
    )
    found = conditions(theory, [clause])

    assert [(one.kind, one.name) for one in found] == [
        ("initial", "initial marked"),
        ("step", "see keeps marked"),
        ("claim", "claim at_most_once"),
        ("obligation", "see respects once"),
    ]
    assert [[each.name for each in one.hypotheses] for one in found] == [
        [INIT],
        ["marked", GUARD],
        ["marked"],
        ["marked", GUARD],
    ]
    assert [] == [each.name for each in found[1].assuming([]).hypotheses]


def test_steps_that_change_nothing_of_a_clause_need_no_condition() -> None:
    started = Clause("started", forall((t.R, t.P), implies(Atom(t.OWN, (t.R, t.P)), Atom(t.STARTED, (t.R,)))))
    steps = [one.name for one in conditions(t.late(), [started]) if one.kind == "step"]

    assert steps == ["reserve keeps started", "release keeps started"]


def test_hypotheses_have_names_of_their_own() -> None:
    with pytest.raises(ValueError, match="share a name: the guard"):
        conditions(t.late(), [Clause(GUARD, t.READS_OWN.formula)])


def test_all_integers_cannot_be_tried_out() -> None:
    with pytest.raises(ValueError, match="ranges over all integers"):
        list(choices((t.STEP,), Structure({}, {})))
