"""The solver: valid for every size, false in a structure that the definition confirms, or neither."""

from __future__ import annotations

import sys

import pytest
import theories as t

from kvproto.diagnostics import KvError
from kvproto.prove.logic.conditions import Condition, conditions
from kvproto.prove.logic.evaluate import holds
from kvproto.prove.logic.formula import (
    FALSE,
    Apply,
    Atom,
    Compare,
    Not,
    Num,
    Plus,
    Same,
    Symbol,
    exists,
    forall,
    implies,
)
from kvproto.prove.logic.theory import Clause, Theory
from kvproto.prove.solver import Counterexample, Solver, Unknown, Valid, z3_module

pytest.importorskip("z3", reason="proofs need z3-solver")


def late_invariant() -> list[Clause]:
    """The nine clauses of a hand-written invariant of deferred release."""
    own, infl, wrote = (Atom(symbol, (t.R, t.P)) for symbol in (t.OWN, t.INFL, t.WROTE))
    comp, started, val = Atom(t.COMP, (t.R,)), Atom(t.STARTED, (t.R,)), Atom(t.VAL, (t.R, t.P))
    one = implies(own, implies(Atom(t.OWN, (t.R2, t.P)), Same(t.R, t.R2)))
    bodies = {
        "one_owner": one,
        "flies_to_own": implies(infl, own),
        "written": implies(own, implies(wrote, val)),
        "quiet": implies(comp, Not(infl)),
        "complete": implies(comp, implies(own, wrote)),
        "own_started": implies(own, started),
        "wrote_started": implies(wrote, started),
        "comp_started": implies(comp, started),
    }
    closed = [Clause(name, forall((t.R, t.R2, t.P), body)) for name, body in bodies.items()]
    return [*closed, t.READS_OWN]


def test_a_hand_written_invariant_is_proved_for_every_size() -> None:
    theory = t.late()
    solver = Solver(theory)
    answers = {one.name: solver.decide(one) for one in conditions(theory, late_invariant())}

    assert {name: answer for name, answer in answers.items() if not isinstance(answer, Valid)} == {}
    kept = answers["release keeps flies_to_own"]
    assert isinstance(kept, Valid) and "flies_to_own" in kept.core


def test_a_core_suffices_alone() -> None:
    theory = t.late()
    solver = Solver(theory)
    for one in conditions(theory, late_invariant()):
        answer = solver.decide(one)
        assert isinstance(answer, Valid)
        assert solver.valid(one.assuming(answer.core))


def test_release_at_once_has_a_counterexample_that_the_definition_confirms() -> None:
    theory = t.late(deferred=False)
    broken = next(one for one in conditions(theory, late_invariant()) if one.name == "release keeps flies_to_own")
    answer = Solver(theory).decide(broken, smallest=True)

    assert isinstance(answer, Counterexample)
    assert answer.structure.sizes == {t.REQ: 1, t.PAGE: 1}
    assert holds(broken.negation, answer.structure, answer.choice)
    found = answer.induction(broken, late_invariant()[1])
    assert holds(found.broken.formula, found.before) and not holds(found.broken.formula, found.after)


def test_a_hypothesis_with_the_name_of_a_symbol_is_not_that_symbol() -> None:
    """Otherwise `last` would be assumed to be true."""
    theory = t.late()
    harmless = Clause("last", forall((t.R,), implies(Atom(t.COMP, (t.R,)), Atom(t.COMP, (t.R,)))))
    land = next(action for action in theory.transitions if action.name == "land")
    condition = Condition("land always ends", "obligation", (harmless,), Atom(t.LAST), "last", land)

    assert isinstance(Solver(theory).decide(condition), Counterexample)


def integers(goal: Compare) -> Condition:
    at_least = Clause("axiom", Compare("<=", Plus(Apply(t.DELAY), Num(1)), Apply(t.HOLD)))
    return Condition("ordered", "initial", (at_least,), goal, "ordered")


def test_integers_are_unbounded() -> None:
    solver = Solver(t.timed())

    assert solver.valid(integers(Compare("<", Apply(t.DELAY), Apply(t.HOLD))))
    answer = solver.decide(integers(Compare("<=", Apply(t.HOLD), Num(10**9))))
    assert isinstance(answer, Counterexample)
    assert answer.structure.integers["hold"][()] > 10**9


def infinite() -> tuple[Theory, Condition]:
    """An order without a last element: consistent, in infinite structures only."""
    less = Symbol("less", (t.REQ, t.REQ))
    axioms = (
        Clause("irreflexive", forall((t.R,), Not(Atom(less, (t.R, t.R))))),
        Clause(
            "transitive",
            forall(
                (t.R, t.R2, t.X),
                implies(Atom(less, (t.R, t.R2)), implies(Atom(less, (t.R2, t.X)), Atom(less, (t.R, t.X)))),
            ),
        ),
        Clause("endless", forall((t.R,), exists((t.X,), Atom(less, (t.R, t.X))))),
    )
    theory = t.theory(
        "order", "", sorts=(t.REQ,), state=(), rigid=(less,), init=FALSE, transitions=(), claims=(), axioms=axioms
    )
    return theory, Condition("false", "claim", axioms, FALSE, "false")


def test_what_is_outside_of_the_decidable_is_unknown_and_not_valid() -> None:
    theory, condition = infinite()
    answer = Solver(theory, resources=30_000).decide(condition)

    assert isinstance(answer, Unknown) and answer.reason


def test_a_missing_z3_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)

    with pytest.raises(KvError) as caught:
        z3_module()
    assert caught.value.diagnostic.code == "KV038"
    assert "kvproto[prove]" in caught.value.diagnostic.cure
