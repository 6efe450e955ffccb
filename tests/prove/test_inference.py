"""Inference: what is proved holds for every size, what is false is never proved, nothing is proved about nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
import theories as t
from exploring import states, walks

from kvproto.diagnostics import KvError
from kvproto.prove.inference.attempt import Guided, Mined, Stuck
from kvproto.prove.inference.discharge import Proved
from kvproto.prove.inference.finite import Finite
from kvproto.prove.inference.groundwork import Groundwork
from kvproto.prove.inference.guide import Guide
from kvproto.prove.inference.prove import prove
from kvproto.prove.logic.conditions import conditions
from kvproto.prove.logic.evaluate import after, holds
from kvproto.prove.logic.formula import FALSE, And, Apply, Atom, Compare, Not, Num, Same, conj, forall, implies
from kvproto.prove.logic.theory import Clause, Structure, Theory
from kvproto.prove.mining.rows import rows
from kvproto.prove.proof import Limits, Proof, Undecided
from kvproto.prove.solver import Solver, Valid

pytest.importorskip("z3", reason="proofs need z3-solver")

PAGES = {t.REQ: 2, t.PAGE: 2}
TAGS = {t.REQ: 2, t.PAGE: 2, t.SOURCE: 1, t.TAG: 2}
QUICK = Limits(literals=3)
"""One attempt: for theories whose claims are false, which no attempt can prove."""


@cache
def seeds_of(model: str) -> tuple[Structure, ...]:
    """Reachable states of the right variant; they are seeds for the wrong ones too."""
    if model == "timed":
        times = [(0, 1, 1), (1, 2, 3), (0, 2, 2), (2, 1, 4), (1, 0, 1)]
        found = [
            walks(t.timed(), {t.REQ: 2, t.PAGE: 1}, {"delay": delay, "life": life, "hold": hold}, n, 400)
            for n, (delay, life, hold) in enumerate(times)
        ]
        return tuple(state for part in found for state in part)
    if model == "duties":
        return tuple(walks(t.duties(), {t.REQ: 2}, {}, 1, 200))
    theory = {"late": t.late(), "count": t.count(), "door": t.count(door=True), "ack": t.ack(), "tags": t.tags()}[model]
    return tuple(states(theory, TAGS if model == "tags" else PAGES, 4_000))


RIGHT = {
    "late": t.late(),
    "count": t.count(),
    "door": t.count(door=True),
    "ack": t.ack(),
    "tags": t.tags(),
    "duties": t.duties(),
}

WRONG = {
    "late": [t.late(deferred=False)],
    "count": [t.count(checked=False)],
    "ack": [t.ack(drained=False), t.ack(terminal=False)],
    "tags": [t.tags(fresh=False), t.tags(carried=False)],
    "duties": [t.duties(wrong=True)],
}


@cache
def proof_of(model: str) -> Proof:
    found = prove(RIGHT[model], seeds_of(model))
    assert isinstance(found, Proof), found
    return found


@pytest.mark.parametrize("model", RIGHT)
def test_the_invariant_is_proved_again_by_the_quantified_solver(model: str) -> None:
    theory, found = RIGHT[model], proof_of(model)
    solver = Solver(theory)
    expected = [one.name for one in conditions(theory, found.clauses)]

    assert expected == [one.name for one in found.conditions]
    for one in found.conditions:
        assert isinstance(solver.decide(one), Valid), one.name
        assert {each.name for each in one.hypotheses} == set(found.cores[one.name])


@pytest.mark.parametrize("model", RIGHT)
def test_the_invariant_holds_where_it_was_not_mined(model: str) -> None:
    theory, found = RIGHT[model], proof_of(model)
    if model == "duties":
        others = walks(theory, {t.REQ: 4}, {}, 9, 60)
    else:
        sizes = {t.REQ: 3, t.PAGE: 2, t.SOURCE: 1, t.TAG: 3}
        others = states(theory, {sort: sizes[sort] for sort in theory.sorts}, 3_000)[::60]

    for clause in found.clauses:
        assert all(holds(clause.formula, state) for state in others), clause.text
    assert len(others) >= 40


@pytest.mark.parametrize("theory", [wrong for each in WRONG.values() for wrong in each], ids=lambda one: one.preset)
def test_a_false_claim_is_never_proved(theory: Theory) -> None:
    found = prove(theory, seeds_of(theory.model), limits=QUICK)

    assert isinstance(found, Undecided)
    assert found.stuck is not None and not found.stuck.initial
    assert found.tried and found.reason
    stuck = found.stuck
    assert stuck.action is not None
    assert stuck.after == after(stuck.before, stuck.action, stuck.choice)
    assert not holds(stuck.broken.formula, stuck.after)


def mutants(theory: Theory) -> list[Theory]:
    """The theory without one conjunct of one guard."""
    found = []
    for action in theory.transitions:
        parts = action.guard.parts if isinstance(action.guard, And) else (action.guard,)
        for gone in range(len(parts)):
            weaker = replace(action, guard=conj(part for n, part in enumerate(parts) if n != gone))
            steps = tuple(weaker if other is action else other for other in theory.transitions)
            found.append(replace(theory, preset=f"{action.name}-{gone}", transitions=steps))
    return found


@pytest.mark.parametrize("theory", [*mutants(t.late()), *mutants(t.count(door=True))], ids=lambda one: one.preset)
def test_a_mutant_is_proved_exactly_if_it_does_not_go_wrong(theory: Theory) -> None:
    """Breadth first over two requests and two pages is the judge; seeds are the states of the right theory."""
    wrong = any(not holds(t.READS_OWN.formula, state) for state in states(theory, PAGES, 6_000))
    found = prove(theory, seeds_of("late" if theory.model == "late" else "door"), limits=QUICK)

    assert isinstance(found, Undecided if wrong else Proof)


def test_a_limit_of_time_is_proved_for_all_times_that_suffice() -> None:
    found = prove(t.timed(), seeds_of("timed"))

    assert isinstance(found, Proof), found
    assert any("deadline" in clause.text for clause in found.clauses)
    assert found.statistics.template.endswith("on demand, to depth 2")


def test_a_limit_of_time_is_not_proved_for_any_time() -> None:
    found = prove(t.timed(enough=False), seeds_of("timed"), limits=QUICK)

    assert isinstance(found, Undecided)


def test_the_same_arguments_have_the_same_answer() -> None:
    again = prove(RIGHT["late"], seeds_of("late"))

    assert isinstance(again, Proof)
    assert [one.text for one in again.clauses] == [one.text for one in proof_of("late").clauses]
    assert again.cores == proof_of("late").cores
    assert again.statistics == proof_of("late").statistics


def test_the_counterexample_to_induction_is_small() -> None:
    """The conditions are asked over three requests and three pages."""
    work = groundwork(t.late(deferred=False), seeds_of("late"))
    found = prove(t.late(deferred=False), seeds_of("late"), limits=QUICK)

    assert isinstance(found, Undecided) and found.stuck is not None and found.stuck.action is not None
    assert {t.REQ: 3, t.PAGE: 3} == work.finite.universe.sizes
    assert sum(found.stuck.before.sizes.values()) <= 3
    assert holds(t.READS_OWN.formula, found.stuck.before)
    assert holds(found.stuck.action.guard, found.stuck.before, found.stuck.choice)


# ------------------------------------------------------------------------------------------------ vacuity


def test_seeds_of_one_request_prove_nothing_by_that() -> None:
    alone = states(t.late(deferred=False), {t.REQ: 1, t.PAGE: 2})
    found = prove(t.late(deferred=False), alone, limits=QUICK)

    assert isinstance(found, Undecided)
    only = Clause("only", forall((t.R, t.R2), Same(t.R, t.R2)))
    given = prove(t.late(), alone, user=[only], limits=QUICK)
    assert [each.clause.name for each in given.rejected] == ["only"]
    assert given.rejected[0].where.initial


def test_a_theory_without_initial_states_is_refused() -> None:
    with pytest.raises(KvError) as caught:
        prove(replace(t.late(deferred=False), init=FALSE), seeds_of("late"))
    assert caught.value.diagnostic.code == "KV304"


def test_axioms_that_contradict_each_other_are_refused() -> None:
    never = Clause("never", Compare("<", Apply(t.HOLD), Num(0)))
    theory = replace(t.timed(), axioms=(*t.timed().axioms, never))

    with pytest.raises(KvError, match="no initial state"):
        prove(theory, seeds_of("timed"))


def test_clauses_that_hold_in_the_seeds_by_accident_are_dropped() -> None:
    """Nothing fixes what pages hold initially; the seeds begin with pages that hold nothing."""
    accident = forall((t.R, t.P), implies(Atom(t.VAL, (t.R, t.P)), Atom(t.STARTED, (t.R,))))

    assert all(holds(accident, state) for state in seeds_of("late"))
    assert accident not in [clause.formula for clause in proof_of("late").clauses]


def test_no_seeds_no_proof() -> None:
    assert isinstance(prove(t.late(), []), Undecided)


# ------------------------------------------------------------------------------------------------ users' clauses


def users(*formulas: tuple[str, object]) -> list[Clause]:
    return [Clause(name, formula, name) for name, formula in formulas]  # type: ignore[arg-type]


def test_a_clause_of_a_user_is_checked() -> None:
    right = forall((t.R, t.P), implies(Atom(t.INFL, (t.R, t.P)), Atom(t.OWN, (t.R, t.P))))
    wrong = forall((t.R,), Not(Atom(t.COMP, (t.R,))))
    found = prove(t.late(), seeds_of("late"), user=users(("flies to own", right), ("never done", wrong)))

    assert isinstance(found, Proof)
    assert [each.clause.name for each in found.rejected] == ["never done"]
    where = found.rejected[0].where
    assert where.action is not None and where.action.name == "complete"
    assert not holds(wrong, where.after)


def test_a_false_clause_of_a_user_proves_nothing() -> None:
    quiet = forall((t.R, t.P), Not(Atom(t.INFL, (t.R, t.P))))
    found = prove(t.late(deferred=False), seeds_of("late"), user=users(("quiet", quiet)), limits=QUICK)

    assert isinstance(found, Undecided)
    assert ["quiet"] == [each.clause.name for each in found.rejected]


# ------------------------------------------------------------------------------------------------ parts


def groundwork(theory: Theory, seeds: Sequence[Structure], limits: Limits = QUICK) -> Groundwork:
    return Groundwork.of(theory, seeds, (), limits, Solver(theory))


def test_what_houdini_keeps_is_inductive() -> None:
    """Without the claim, which the wrong variant does not have: everything that is left is proved."""
    theory = replace(t.late(deferred=False), claims=())
    attempt = Mined(groundwork(theory, states(theory, {t.REQ: 2, t.PAGE: 1})), 2)
    attempt.pool.add(attempt.candidates())
    kept = attempt.settled()
    solver = Solver(theory)

    assert 0 < len(kept) < attempt.pool.total
    assert all(solver.valid(one) for one in conditions(theory, attempt.pool.alive))


def test_clauses_on_demand_exclude_the_state_and_hold_in_the_seeds() -> None:
    work = groundwork(t.late(), seeds_of("late"))
    state = next(one for one in states(t.late(deferred=False), PAGES) if not holds(t.READS_OWN.formula, one))
    found = Guide(work, 3, 8).excluding(state)

    assert found
    for clause in found:
        formula = work.template.formula(clause)
        assert not holds(formula, state)
        assert all(holds(formula, seed) for seed in seeds_of("late")[::3])


@pytest.mark.parametrize("model", ["duties", "late"])
def test_clauses_on_demand_prove_claims_and_obligations_alone(model: str) -> None:
    attempt = Guided(groundwork(RIGHT[model], seeds_of(model)), [], 4, 4)
    found = attempt.run()

    assert isinstance(found, Proved)
    solver = Solver(RIGHT[model])
    assert all(solver.valid(one) for one in conditions(RIGHT[model], found.clauses))


def test_clauses_on_demand_do_not_save_a_false_claim() -> None:
    theory = t.late(deferred=False)
    attempt = Guided(groundwork(theory, seeds_of("late")), [], 4, 4)

    assert isinstance(attempt.run(), Stuck)


def test_finite_conditions_agree_with_the_definition() -> None:
    """Every counterexample over few elements is one: hypotheses hold before, guards too, and the clause breaks."""
    theory = t.ack(drained=False)
    work = groundwork(theory, seeds_of("ack"))
    clause = Clause("quiet", forall((t.R, t.P), implies(Atom(t.ACK, (t.R,)), Not(Atom(t.INFL, (t.R, t.P))))))
    found = [work.finite.broken(case, [clause], [clause]) for case in work.finite.cases]
    broken = [each for each in found if each is not None]

    assert {"start", "answer"} == {each.action.name for each in broken if each.action is not None}
    for each in broken:
        assert each.action is not None
        assert holds(clause.formula, each.before) and holds(each.action.guard, each.before, each.choice)
        assert not holds(clause.formula, each.after)


def test_an_initial_counterexample_is_an_initial_state() -> None:
    work = groundwork(t.late(), seeds_of("late"))
    clean = Clause("clean", forall((t.R, t.P), Not(Atom(t.VAL, (t.R, t.P)))))
    state = work.finite.initially([clean, Clause("true", And(()))])

    assert state is not None
    assert holds(t.late().init, state) and not holds(clean.formula, state)


def test_atoms_that_never_change_do_not_count() -> None:
    idle = t.relation("idle", t.REQ)
    theory = replace(t.late(), state=(*t.late().state, idle))
    seeds = [replace(one, relations={**one.relations, "idle": frozenset()}) for one in seeds_of("late")]
    work = groundwork(theory, seeds)

    assert {n for n, atom in enumerate(work.template.atoms) if isinstance(atom, Atom) and atom.symbol == idle}
    assert len(work.changing) == len(work.template.atoms) - 2
    assert rows(work.template, seeds).shape[1] == len(work.template.atoms)


def test_no_time_is_no_proof() -> None:
    found = prove(RIGHT["late"], seeds_of("late"), limits=Limits(seconds=1e-9))

    assert isinstance(found, Undecided)
    assert "the limit of 1e-09 s was reached" == found.reason


def test_a_question_that_z3_gives_up_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(self: Finite, assumed: object) -> None:
        raise ArithmeticError("canceled")

    monkeypatch.setattr(Finite, "_check", gives_up)

    found = prove(RIGHT["late"], seeds_of("late"))

    assert isinstance(found, Undecided) and "canceled" in found.reason
