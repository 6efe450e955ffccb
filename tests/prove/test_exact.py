"""The exact boundary: schedules with open amounts, what is left of them, and searches with symbolic integers."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import theories
from hypothesis import given, settings
from hypothesis import strategies as st
from theories import DELAY, HOLD, LIFE, PAGE, REQ, at

from kvproto.lang.bind import choose
from kvproto.lang.load import find
from kvproto.prove.certificates.refutation_farkas import Inequality
from kvproto.prove.exact.boundary import assumption_text, boundary, exact
from kvproto.prove.exact.bounded import describe, search
from kvproto.prove.exact.inequalities import cases, eliminated, formula_of, inequality_text, text_of, without
from kvproto.prove.exact.limit import broken, limits
from kvproto.prove.exact.run import Move, Schedule
from kvproto.prove.exact.world import NotExact
from kvproto.prove.logic.conditions import Condition
from kvproto.prove.logic.evaluate import holds
from kvproto.prove.logic.formula import (
    INT,
    Apply,
    Choose,
    Compare,
    Formula,
    Num,
    Plus,
    Times,
    Var,
    conj,
    disj,
    neg,
)
from kvproto.prove.logic.theory import Clause, Structure, Theory
from kvproto.prove.lowering.system import lower
from kvproto.prove.solver import Solver

pytest.importorskip("z3")

A, B, C = Var("a", INT), Var("b", INT), Var("c", INT)
ONE = frozenset({(0,)})
LAST = {"last": frozenset({()})}


def lent(request: int) -> Move:
    return Move("reserve", {"r": request}, {"set": ONE})


def step(name: str, **elements: int) -> Move:
    return Move(name, elements, LAST if name == "land" else {})


LATE = Schedule(
    {REQ: 2, PAGE: 1},
    {},
    (
        lent(0),
        step("fail", r=0),
        step("tick"),
        step("post", r=0, p=0),
        step("tick"),
        step("release", r=0),
        lent(1),
        step("post", r=1, p=0),
        step("land", r=1, p=0),
        step("land", r=0, p=0),
        step("complete", r=1),
    ),
)
"""A write that starts as late as it may, and lands when its page has another owner."""


def named(theory: Theory) -> Theory:
    """With the assumption under the name that the lowering gives it."""
    axioms = (replace(a, name="assumption 1") if a.name == "enough" else a for a in theory.axioms)
    return replace(theory, axioms=tuple(axioms))


# ------------------------------------------------------------------------------------------------ the boundary


def test_the_boundary_of_the_hold_is_exact() -> None:
    """Proved from there on, broken everywhere before."""
    proved, general = theories.timed(), theories.timed(enough=False)
    found = boundary(general, [LATE])

    assert found.text == "hold < delay + life"
    assert assumption_text(proved, general) == "delay + life <= hold"
    assert exact(proved, general, found)


def test_a_schedule_that_needs_more_is_not_exact() -> None:
    """Here the write starts before the request fails: the delay plays no part."""
    early = Schedule(LATE.sizes, {}, (LATE.moves[0], LATE.moves[3], LATE.moves[1], *LATE.moves[4:]))
    proved, general = theories.timed(), theories.timed(enough=False)
    found = boundary(general, [early])

    assert found.text == "hold < life"
    assert not exact(proved, general, found)
    assert boundary(general, [early, LATE]).text == "hold < delay + life"


def test_under_the_assumption_the_schedule_is_impossible() -> None:
    found = boundary(theories.timed(), [LATE])

    assert (found.text, found.cases) == ("never", ())


def test_a_write_that_may_start_at_any_time_is_never_waited_for() -> None:
    """The message that stops prefill is lost: whatever the hold, it is not enough."""
    general = theories.timed(enough=False)
    careless = tuple(
        replace(t, guard=conj(part for part in t.guard.parts if part != t.guard.parts[3])) if t.name == "post" else t
        for t in general.transitions
    )
    lost = replace(general, transitions=careless)

    assert "delay" in str(general.transitions[1].guard.parts[3])
    assert boundary(lost, [LATE]).text == "always"


def test_a_schedule_that_cannot_happen_has_no_parameters() -> None:
    """The page is lent to the other request while the first one has it."""
    assert boundary(theories.timed(enough=False), [replace(LATE, moves=(lent(0), lent(1)))]).text == "never"


@pytest.mark.parametrize(
    ("moves", "reason"),
    [((Move("steal"),), "there is no action steal"), ((Move("fail"),), "does not say which r")],
)
def test_schedules_that_are_none(moves: tuple[Move, ...], reason: str) -> None:
    with pytest.raises(NotExact, match=reason):
        boundary(theories.timed(), [replace(LATE, moves=moves)])
    with pytest.raises(NotExact, match="there is no claim luck"):
        boundary(theories.timed(), [LATE], claim="luck")


# ------------------------------------------------------------------------------------------------ search


def test_the_search_finds_the_shortest_run_and_its_parameters() -> None:
    found = search(late_claim(theories.timed(enough=False)), {REQ: 1, PAGE: 1}, 6)

    assert found.run is not None
    assert sorted(move.action for move in found.run.schedule.moves) == ["fail", "post", "release", "reserve"]
    assert found.run.parameters["hold"] < 0 <= found.run.parameters["life"]
    assert "no_late_write is broken in 4 steps" in describe(found)[0]


def test_the_search_is_told_which_parameters_matter() -> None:
    """With a hold that is no negative number time has to pass."""
    general = late_claim(theories.timed(enough=False))
    found = search(general, {REQ: 1, PAGE: 1}, 6, parameters=Compare("<=", Num(0), Apply(HOLD)))

    assert found.run is not None
    assert "tick" in [move.action for move in found.run.schedule.moves]
    assert 0 <= found.run.parameters["hold"] < found.run.parameters["delay"] + found.run.parameters["life"]


def test_a_run_that_was_found_is_a_run() -> None:
    """Its own parameters lie within the boundary of its schedule."""
    general = late_claim(theories.timed(enough=False))
    run = search(general, {REQ: 1, PAGE: 1}, 6).run
    assert run is not None
    found = boundary(general, [run.schedule])
    symbols = {"hold": HOLD, "delay": DELAY, "life": LIFE}
    values = conj(Compare("==", Apply(symbols[name]), Num(value)) for name, value in run.parameters.items())

    assert Solver(general).valid(Condition("x", "claim", (Clause("values", values),), found.formula, "x"))


def test_no_run_is_found_where_the_claim_is_proved() -> None:
    found = search(late_claim(theories.timed()), {REQ: 1, PAGE: 1}, 6)

    assert found.run is None
    assert describe(found)[0].startswith(
        "no run of at most 6 steps with 1 Req, 1 Page breaks a claim, for any integers"
    )
    assert "bounded" in describe(found)[0]


def test_giving_up_is_said() -> None:
    found = search(late_claim(theories.timed()), {REQ: 2, PAGE: 2}, 6, resources=1000)

    assert found.run is None
    assert found.unknown


def test_relations_alone_are_searched_too() -> None:
    found = search(late_claim(theories.late(deferred=False)), {REQ: 1, PAGE: 1}, 5)

    assert found.run is not None
    assert [move.action for move in found.run.schedule.moves] == ["reserve", "post", "release"]
    assert search(late_claim(theories.late()), {REQ: 1, PAGE: 1}, 5).run is None


def late_claim(theory: Theory) -> Theory:
    """With the claim that every write is to a page of its request, which takes fewer steps to break."""
    from theories import INFL, OWN, P, R

    from kvproto.prove.logic.formula import forall, implies

    return replace(theory, claims=(Clause("no_late_write", forall((R, P), implies(at(INFL, R, P), at(OWN, R, P)))),))


def test_the_limit_of_the_assumption_is_found_without_help() -> None:
    found = limits(late_claim(named(theories.timed())), steps=6, largest=1)

    assert [limit.assumption for limit in found] == ["delay + life <= hold"]
    assert found[0].exact
    assert (
        found[0].lines()[1].startswith("if hold < delay + life, no_late_write is broken by reserve, fail, tick, post")
    )


def test_an_assumption_that_is_not_needed_stays_open() -> None:
    more = Clause("assumption 2", Compare("<=", Apply(DELAY), Apply(LIFE)))
    theory = late_claim(named(theories.timed()))
    found = limits(replace(theory, axioms=(*theory.axioms, more)), steps=3, largest=1)

    assert [limit.exact for limit in found] == [False, False]
    assert found[1].lines() == [
        "assumed: delay <= life; whether that is needed is open: no run of at most 3 steps goes wrong"
    ]


def test_a_claim_that_is_broken_is_measured() -> None:
    """Without an assumption: for which numbers, and that for the others nothing is known but a search."""
    found = broken(late_claim(theories.timed(enough=False)), "no_late_write", steps=6, largest=1)

    assert found.boundary is not None
    assert found.boundary.text == "hold < delay + life"
    assert found.lines()[-1] == "for other values no run of at most 6 steps goes wrong"


@pytest.mark.parametrize("preset", ["abort-lost", "writes-stay"])
def test_no_hold_is_long_enough(preset: str) -> None:
    """Where nothing tells prefill of the abort, or writes outlive their call, no number helps."""
    model = find("proofs.timed").model
    found = broken(lower(model, choose(model, preset=preset)).theory, "no_late_write")

    assert found.exact
    assert found.lines()[0].startswith("in any case, no_late_write is broken by reserve, ")
    assert found.lines()[1] == "no values of the numbers would do"


def test_batches_are_placed_in_the_inequality() -> None:
    """Without a new look at the room before each batch all of them count, not one."""
    model = find("proofs.batches").model
    found = broken(lower(model, choose(model, preset="not-rechecked")).theory, "no_late_write", largest=1)

    assert found.boundary is not None
    assert found.boundary.text == "hold < chunk + life + notice"


def test_what_does_not_go_wrong_has_no_numbers() -> None:
    found = broken(late_claim(theories.late()), "no_late_write", steps=3, largest=1)

    assert (found.boundary, found.lines()) == (None, [])


def test_without_assumptions_there_are_no_limits() -> None:
    assert limits(theories.late()) == []


# ------------------------------------------------------------------------------------------------ inequalities


def terms() -> st.SearchStrategy[Formula]:
    """Comparisons of sums in which every unknown has the factor 1 or -1, cases among them."""
    part = st.sampled_from([A, B, C, Times(-1, A), Times(-1, B), Times(-1, C), Num(0)])
    return st.builds(
        lambda op, one, other, k, case: Compare(
            op, Plus(one, Choose(Compare("<", A, B), Num(k), C) if case else Num(k)), other
        ),
        st.sampled_from(["<=", "<", "=="]),
        part,
        part,
        st.integers(-2, 2),
        st.booleans(),
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(terms(), min_size=1, max_size=4), st.booleans())
def test_what_is_left_is_true_exactly_where_the_unknown_has_a_value(found: list[Formula], either: bool) -> None:
    """By trying small values of the other two; what they can differ by is small, too."""
    formula = disj([conj(found[:2]), neg(conj(found[2:]))]) if either else conj(found)
    try:
        left = [system for each in cases(formula) if (system := eliminated(each, lambda base: base == C)) is not None]
    except NotExact:
        return  # twice the unknown may turn up, which need not be whole
    without_c, nothing = formula_of(left), Structure({}, {})
    for a, b in product(range(-3, 4), repeat=2):
        there = any(holds(formula, nothing, {A: a, B: b, C: c}) for c in range(-12, 13))

        assert holds(without_c, nothing, {A: a, B: b}) == there


def test_an_unknown_that_is_multiplied_is_refused() -> None:
    """Between 3a and 3a + 1 there is a multiple of two, or not."""
    twice = (Inequality(((A, 3), (B, -2)), 0), Inequality(((A, -3), (B, 2)), 0))
    with pytest.raises(NotExact, match="need not be whole"):
        without(twice, B)


@pytest.mark.parametrize(
    ("inequality", "text"),
    [
        (Inequality(((A, 1), (B, -1)), -1), "a < b"),
        (Inequality(((A, 1), (B, -1), (C, -2)), 0), "a <= b + 2 * c"),
        (Inequality(((A, -1),), -3), "a >= 3"),
        (Inequality(((A, 1),), 3), "a <= 3"),
        (Inequality(((A, 1), (B, 1)), -2), "a + b + 2 <= 0"),
        (Inequality(((A, -1), (B, -1)), 2), "a + b + 2 >= 0"),
        (Inequality(((A, 1), (B, -1)), 4), "a <= b + 4"),
    ],
)
def test_inequalities_read_without_negative_numbers(inequality: Inequality, text: str) -> None:
    assert inequality_text(inequality) == text


def test_cases_read_as_alternatives() -> None:
    systems = cases(disj((Compare("<", A, B), conj((Compare("<=", A, C), Compare("<=", B, C))))))

    assert text_of(systems) == "a < b or (a <= c and b <= c)"
    assert (text_of([]), text_of([()])) == ("never", "always")
