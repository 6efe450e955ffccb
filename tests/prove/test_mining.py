"""Mining: rows are the truth of atoms, and the clauses found are all the shortest that hold in the seeds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import theories as t
from exploring import states, walks

from kvproto.prove.inference.ground import Universe, named
from kvproto.prove.logic.evaluate import choices, holds
from kvproto.prove.logic.formula import Compare, disj, forall
from kvproto.prove.logic.readable import reading, render
from kvproto.prove.logic.theory import Clause, Structure
from kvproto.prove.mining.differences import Implied, strongest
from kvproto.prove.mining.minimal import canonical, instances_of, minimal_clauses, without_subsumed
from kvproto.prove.mining.rows import falsified, rows
from kvproto.prove.mining.template import names, template
from kvproto.prove.solver import Solver

ONE_PAGE = {t.REQ: 2, t.PAGE: 1}


@pytest.fixture(scope="module")
def late_states() -> list[Structure]:
    return states(t.late(), ONE_PAGE)


def test_rows_are_the_truth_of_atoms_by_definition() -> None:
    theory = t.timed()
    found = walks(theory, {t.REQ: 2, t.PAGE: 1}, {"hold": 2, "delay": 1, "life": 1}, 3, 40)
    shape = template(theory, {t.REQ: 2, t.PAGE: 1})
    expected = {
        tuple(holds(atom, state, choice) for atom in shape.atoms)
        for state in found
        for choice in choices(shape.vars, state)
    }

    assert {tuple(map(bool, row)) for row in rows(shape, found)} == expected
    assert any(isinstance(atom, Compare) for atom in shape.atoms)


def test_rows_of_several_sizes_count_once(late_states: list[Structure]) -> None:
    shape = template(t.late(), ONE_PAGE)
    larger = states(t.late(), {t.REQ: 2, t.PAGE: 2})
    both = rows(shape, [*late_states, *larger])

    assert {row.tobytes() for row in both} == {
        row.tobytes() for found in (late_states, larger) for row in rows(shape, found)
    }
    assert len(both) == len(np.unique(both, axis=0))


def test_shortest_clauses_are_what_trying_all_finds(late_states: list[Structure]) -> None:
    shape = template(t.late(), {t.REQ: 1, t.PAGE: 1})
    truth = rows(shape, late_states)
    valid = []
    for length in range(1, 4):
        for clause in combinations(shape.usable, length):
            opposite = any(literal ^ 1 in clause for literal in clause)
            longer = any(set(known) <= set(clause) for known in valid)
            if not opposite and not longer and not falsified(truth, [clause])[0]:
                valid.append(clause)

    assert set(minimal_clauses(shape, truth, 3)) == set(without_subsumed(shape, [canonical(shape, c) for c in valid]))
    assert len(valid) > 5


def test_mined_clauses_hold_in_all_seeds(late_states: list[Structure]) -> None:
    shape = template(t.late(), ONE_PAGE)
    found = minimal_clauses(shape, rows(shape, late_states), 3)

    for clause in found:
        assert all(holds(shape.formula(clause), state) for state in late_states[::5])
    texts = [reading(shape.formula(clause)) for clause in found]
    assert "flying[r] has p -> owner[p] == r" in texts
    assert "owner[p] == r and owner[p] == r2 -> r == r2" in texts


def test_clauses_that_differ_by_names_are_one() -> None:
    shape = template(t.late(), {t.REQ: 2, t.PAGE: 2})
    owns = [n for n, atom in enumerate(shape.atoms) if reading(atom).startswith("owner")]

    assert len({canonical(shape, [2 * n]) for n in owns}) == 1


def test_an_instance_of_a_kept_clause_is_left_out() -> None:
    shape = template(t.late(), {t.REQ: 2, t.PAGE: 1})
    number = {reading(atom): n for n, atom in enumerate(shape.atoms)}
    general = canonical(shape, [2 * number["done[r]"] + 1, 2 * number["started(r2)"]])
    special = canonical(shape, [2 * number["done[r]"] + 1, 2 * number["started(r)"]])

    assert without_subsumed(shape, [special, general]) == [general]
    assert frozenset(special) in instances_of(shape, general)


def test_integer_literals_are_ordered_by_what_they_imply() -> None:
    theory = t.timed()
    shape = template(theory, {t.REQ: 1, t.PAGE: 1})
    implied = Implied(theory, shape, Solver(theory).valid)
    number = {reading(atom): 2 * n for n, atom in enumerate(shape.atoms)}
    at_once, late = number["since[r] <= now"], number["since[r] <= now + delay"]
    delayed, held = number["deadline[r][p] <= since[r] + delay + life"], number["deadline[r][p] <= since[r] + hold"]

    assert at_once in implied.stronger[late] and late not in implied.stronger[at_once]
    assert delayed in implied.stronger[held]
    assert implied.tautology([at_once ^ 1, late])
    assert strongest(implied, lambda clause: instances_of(shape, clause), [(at_once,), (late,)]) == [(at_once,)]


def test_variables_are_named_after_their_sorts() -> None:
    assert [var.name for var in names("Req", ("Req", "Page"), 3)] == ["r", "r2", "r3"]
    assert [var.name for var in names("Page", ("Page", "Place"), 1)] == ["pa"]


def test_clauses_read_as_implications() -> None:
    own, infl = t.at(t.OWN, t.R, t.P), t.at(t.INFL, t.R, t.P)

    assert reading(forall((t.R, t.P), disj((t.neg(infl), own)))) == "flying[r] has p -> owner[p] == r"
    assert reading(forall((t.R, t.P), disj((t.neg(infl), t.neg(own))))) == "flying[r] has p -> owner[p] != r"
    assert reading(forall((t.R, t.P), disj((own, infl)))) == "owner[p] == r or flying[r] has p"
    assert reading(t.some_started()) == "some x: started(x)"
    assert render(Clause("c", own, "as it was written")) == "as it was written"


def test_ground_texts_are_the_formula_by_definition(late_states: list[Structure]) -> None:
    universe = Universe(ONE_PAGE)
    found = states(t.late(), ONE_PAGE)[::4]
    invariant = t.READS_OWN.formula
    z3 = pytest.importorskip("z3", reason="ground texts are read by Z3")
    text = universe.formula(invariant, {}, named)
    for state in found:
        solver = z3.Solver()
        cells = [(one, cell) for one in t.late().state for cell in universe.cells(one)]
        declared = "".join(f"(declare-fun {named(one, cell)} () Bool)" for one, cell in cells)
        facts = [z3.Bool(named(one, cell)[1:-1]) == (cell in state.relations[one.name]) for one, cell in cells]
        solver.from_string(f"{declared}(assert {text})")
        assert (solver.check(*facts) == z3.sat) == holds(invariant, state)
