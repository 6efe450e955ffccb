"""Refutations are found, say what they need, and are never found for what is not valid."""

from __future__ import annotations

import json

import invariants
import pytest
import theories
from hypothesis import given, settings
from hypothesis import strategies as st
from theories import P2, R2, REQ, P, R, at, relation

from kvproto.prove.certificates.certificate import certificate, write
from kvproto.prove.certificates.recheck import check
from kvproto.prove.certificates.refutation import NotRefuted, refute
from kvproto.prove.certificates.refutation_farkas import Inequality, weights
from kvproto.prove.logic.conditions import Condition, conditions
from kvproto.prove.logic.evaluate import holds
from kvproto.prove.logic.formula import (
    FALSE,
    INT,
    Apply,
    Choose,
    Compare,
    Formula,
    Num,
    Plus,
    Same,
    Symbol,
    Times,
    Var,
    conj,
    disj,
    exists,
    forall,
    free_variables,
    implies,
    neg,
)
from kvproto.prove.logic.theory import Clause, Structure

pytest.importorskip("z3")

OWN, DONE, AGE = relation("own", theories.REQ, theories.PAGE), relation("done", REQ), Symbol("age", (REQ,), INT)
X, Y = Var("x", INT), Var("y", INT)


def claims(*hypotheses: Formula, goal: Formula = FALSE) -> Condition:
    named = tuple(Clause(f"h{number}", formula) for number, formula in enumerate(hypotheses, 1))
    return Condition("claim", "claim", named, goal, "claim")


# ------------------------------------------------------------------------------------------------ whole proofs


@pytest.mark.parametrize("name", ["late", "timed"])
def test_a_proof_becomes_a_certificate_that_is_followed(name: str) -> None:
    theory, clauses = getattr(theories, name)(), getattr(invariants, name)()

    data = certificate(theory, clauses)
    found = check(json.loads(json.dumps(data)), theory)

    assert found.claims == ("reads_own",)
    assert found.conditions == len(conditions(theory, clauses))
    assert [clause.formula for clause in found.clauses] == [clause.formula for clause in clauses]


def test_a_wrong_theory_has_no_certificate() -> None:
    """Pages are freed under writes: some clause is not kept, whoever looks for a refutation."""
    with pytest.raises(NotRefuted, match="not valid"):
        certificate(theories.late(deferred=False), invariants.late())


def test_clauses_that_are_not_inductive_have_none() -> None:
    with pytest.raises(NotRefuted, match="not valid"):
        certificate(theories.late(), invariants.late()[1:])


def test_a_hold_of_any_length_has_none() -> None:
    with pytest.raises(NotRefuted, match="not valid"):
        certificate(theories.timed(enough=False), invariants.timed())


def test_cores_that_do_not_suffice_are_not_believed() -> None:
    theory, clauses = theories.late(), invariants.late()
    cores = {condition.name: () for condition in conditions(theory, clauses)}

    assert check(certificate(theory, clauses, cores), theory).conditions == len(cores)


def test_a_certificate_is_written_a_line_a_condition(tmp_path) -> None:
    data = certificate(theories.late(), invariants.late())
    write(tmp_path / "folder" / "late.json", data)
    text = (tmp_path / "folder" / "late.json").read_text(encoding="utf-8")

    assert json.loads(text) == data
    assert sum(line.startswith('    {"name"') for line in text.splitlines()) == (
        len(data["claims"]) + len(data["clauses"]) + len(data["conditions"])
    )


def test_the_same_proof_gives_the_same_certificate() -> None:
    assert certificate(theories.late(), invariants.late()) == certificate(theories.late(), invariants.late())


# ------------------------------------------------------------------------------------------------ single conditions


def test_only_what_is_needed_is_used() -> None:
    needed = forall((R, P), implies(at(OWN, R, P), at(DONE, R)))
    idle = forall((R, R2), implies(at(DONE, R), at(DONE, R2)))
    found = refute(claims(idle, needed, goal=implies(at(OWN, R2, P2), at(DONE, R2))))

    assert found.uses == ("h2",)
    assert len(found.steps) == 1


def test_equal_elements_have_equal_relations_and_integers() -> None:
    """By way of a third element, and at two places of a relation."""
    r3, p3 = Var("r3", REQ), Var("p3", theories.PAGE)
    same = conj((Same(R, R2), Same(R2, r3), Same(P, p3)))
    refute(claims(same, at(OWN, R, P), goal=at(OWN, r3, p3)))
    refute(claims(same, Compare("<", Apply(AGE, (R,)), Num(3)), goal=Compare("<=", Apply(AGE, (r3,)), Num(2))))

    with pytest.raises(NotRefuted, match="not valid"):
        refute(claims(same, at(OWN, R, P), goal=at(OWN, r3, P2)))


def test_every_sort_has_an_element() -> None:
    nobody = forall((R,), conj((at(DONE, R), neg(at(DONE, R)))))

    assert [type(step).__name__ for step in refute(claims(nobody)).steps] == ["Element", "Instance"]


def test_witnesses_under_universal_quantifiers_are_named_where_they_are_needed() -> None:
    everybody = forall((R,), exists((P,), at(OWN, R, P)))
    nobody = forall((P,), neg(at(OWN, R2, P)))

    assert sorted(type(step).__name__ for step in refute(claims(everybody, nobody)).steps) == [
        "Instance",
        "Instance",
        "Open",
    ]


def test_integers_are_whole() -> None:
    """Twice a number is not one, and between two that follow each other there is none."""
    refute(claims(Compare("==", Times(2, X), Num(1))))
    refute(claims(Compare("<", X, Y), Compare("<", Y, Plus(X, Num(1)))))
    refute(claims(Compare("<", X, Y), neg(Compare("<=", Plus(X, Num(1)), Y))))
    with pytest.raises(NotRefuted, match="not valid"):
        refute(claims(Compare("<", X, Y), Compare("<", Y, Plus(X, Num(2)))))


def test_cases_of_integers_are_told_apart() -> None:
    larger = Choose(Compare("<=", X, Y), Y, X)
    refute(claims(goal=conj((Compare("<=", X, larger), Compare("<=", Y, larger)))))
    with pytest.raises(NotRefuted, match="not valid"):
        refute(claims(goal=Compare("<", X, larger)))


def test_a_quantified_integer_is_instantiated() -> None:
    """There is no largest one."""
    refute(claims(forall((X,), Compare("<=", X, Y))))


def test_arithmetic_beyond_sums_is_given_up_and_not_believed() -> None:
    """3x + 3y between 1 and 2 is excluded by rounding; 2x = 3y + 1 with x, y in bounds without a solution is not."""
    refute(
        claims(
            Compare("<=", Num(1), Plus(Times(3, X), Times(3, Y))), Compare("<=", Plus(Times(3, X), Times(3, Y)), Num(2))
        )
    )
    awkward = conj(
        (
            Compare("<=", Num(1), Plus(Times(2, X), Times(3, Y))),
            Compare("<=", Plus(Times(2, X), Times(3, Y)), Num(1)),
            Compare("<=", Num(0), X),
            Compare("<=", Num(0), Y),
        )
    )
    with pytest.raises(NotRefuted):
        refute(claims(awkward))


# ------------------------------------------------------------------------------------------------ by chance

SORTS = {REQ: (R, R2), theories.PAGE: (P, P2)}


def formulas() -> st.SearchStrategy[Formula]:
    """Formulas over a relation of two sorts, one of one sort, and an integer of every request."""
    requests, pages = st.sampled_from((R, R2)), st.sampled_from((P, P2))
    ages = requests.map(lambda r: Apply(AGE, (r,)))
    leaf = st.one_of(
        st.builds(lambda r, p: at(OWN, r, p), requests, pages),
        st.builds(lambda r: at(DONE, r), requests),
        st.builds(Same, requests, requests),
        st.builds(lambda a, b, k: Compare("<=", a, Plus(b, Num(k))), ages, ages, st.integers(-1, 1)),
        st.builds(
            lambda t, a, b, k: Compare("<", Choose(at(DONE, t), a, b), Num(k)), requests, ages, ages, st.integers(0, 2)
        ),
    )
    quantified = st.sampled_from((R, R2, P, P2))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(neg),
            st.lists(inner, min_size=2, max_size=3).map(conj),
            st.lists(inner, min_size=2, max_size=3).map(disj),
            st.builds(lambda v, f: forall((v,), f), quantified, inner),
            st.builds(lambda v, f: exists((v,), f), quantified, inner),
        ),
        max_leaves=6,
    )


@st.composite
def structures(draw: st.DrawFn) -> Structure:
    sizes = {REQ: draw(st.integers(1, 2)), theories.PAGE: draw(st.integers(1, 2))}
    pairs = [(r, p) for r in range(sizes[REQ]) for p in range(sizes[theories.PAGE])]
    requests = [(r,) for r in range(sizes[REQ])]
    relations = {
        "own": frozenset(draw(st.sets(st.sampled_from(pairs)))),
        "done": frozenset(draw(st.sets(st.sampled_from(requests)))),
    }
    return Structure(sizes, relations, {"age": {r: draw(st.integers(-2, 2)) for r in requests}})


@settings(max_examples=60, deadline=None)
@given(st.lists(formulas(), min_size=1, max_size=3), structures(), st.data())
def test_what_is_true_somewhere_is_never_refuted(
    found: list[Formula], structure: Structure, data: st.DataObject
) -> None:
    """Whatever the formulas say, those of them (or their opposites) that one structure fulfils do not contradict."""
    free = sorted({v for formula in found for v in free_variables(formula)}, key=lambda v: v.name)
    env = {v: data.draw(st.integers(0, structure.sizes[v.sort] - 1)) for v in free}
    true = [formula if holds(formula, structure, env) else neg(formula) for formula in found]

    with pytest.raises(NotRefuted):
        refute(claims(*true))


@settings(max_examples=40, deadline=None)
@given(st.lists(formulas(), min_size=1, max_size=2), formulas())
def test_what_follows_by_propositions_is_refuted(hypotheses: list[Formula], goal: Formula) -> None:
    """A goal follows from itself and anything else, and from a contradiction."""
    refute(claims(*hypotheses, goal, goal=goal))
    refute(claims(*hypotheses, neg(hypotheses[0]), goal=goal))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3)), min_size=1, max_size=6))
def test_weights_are_found_exactly_where_there_is_no_rational_solution(rows: list[tuple[int, int, int]]) -> None:
    import z3

    known = [Inequality(tuple((v, k) for v, k in ((X, a), (Y, b)) if k), bound) for a, b, bound in rows]
    x, y = z3.Reals("x y")
    solver = z3.Solver()
    solver.add(*(a * x + b * y <= bound for a, b, bound in rows))

    found = weights(known)

    assert bool(found) == (solver.check() == z3.unsat)
    if found:
        total = [sum(weight * rows[at][part] for at, weight in found.items()) for part in range(3)]
        assert total[:2] == [0, 0] and total[2] < 0
        assert all(weight > 0 for weight in found.values())
