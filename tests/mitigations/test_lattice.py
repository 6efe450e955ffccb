"""Arithmetic of sets, and walks over random lattices against the definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from kvproto.mitigations.boundary import Boundary, exact, walk
from kvproto.mitigations.lattice import Frontier, bits, maximal, minimal, subsets, within

SIZE = 5
ALL = (1 << SIZE) - 1
masks = st.integers(0, ALL)


class Table:
    """An oracle that looks verdicts up, and knows what it was asked."""

    def __init__(self, verdicts: list[bool | None]) -> None:
        self.verdicts = verdicts
        self.asked: set[int] = set()

    def decide(self, chosen: int) -> bool | None:
        self.asked.add(chosen)
        return self.verdicts[chosen]

    def ahead(self, sets: Iterable[int]) -> None:
        for chosen in sets:
            self.decide(chosen)

    def decided(self) -> Mapping[int, bool]:
        return {chosen: verdict for chosen in self.asked if (verdict := self.verdicts[chosen]) is not None}


def smallest(verdicts: list[bool | None]) -> set[int]:
    """Sufficient sets without a sufficient proper subset, by definition."""
    good = [s for s in range(ALL + 1) if verdicts[s] is True]
    return {s for s in good if not any(t != s and t & s == t for t in good)}


def largest(verdicts: list[bool | None]) -> set[int]:
    """Insufficient sets without an insufficient proper superset, by definition."""
    bad = [s for s in range(ALL + 1) if verdicts[s] is False]
    return {s for s in bad if not any(t != s and t & s == s for t in bad)}


monotone = st.lists(masks, max_size=6).map(lambda lows: [any(low & s == low for low in lows) for s in range(ALL + 1)])
anything = st.lists(st.booleans(), min_size=ALL + 1, max_size=ALL + 1)
undecided = st.lists(st.sampled_from([True, False, None]), min_size=ALL + 1, max_size=ALL + 1)


@st.composite
def nearly_monotone(draw: st.DrawFn) -> list[bool]:
    """Closed upwards but for what a few switches spoil."""
    verdicts = draw(monotone)
    for low, spoiler in draw(st.lists(st.tuples(masks, st.integers(0, SIZE - 1)), max_size=3)):
        verdicts = [v and not (low & s == low and s >> spoiler & 1) for s, v in enumerate(verdicts)]
    return verdicts


def true_harm(verdicts: list[bool | None], found: Boundary) -> bool:
    return all(verdicts[low] is True and verdicts[low | bit] is False and not low & bit for low, bit in found.hurts)


@given(st.lists(masks))
def test_minimal_and_maximal(sets: list[int]) -> None:
    assert set(minimal(sets)) == {s for s in sets if not any(t != s and t & s == t for t in sets)}
    assert set(maximal(sets)) == {s for s in sets if not any(t != s and t & s == s for t in sets)}


@given(masks, st.lists(masks, max_size=6))
def test_the_frontier_is_what_contains_no_sufficient_set(free: int, lows: list[int]) -> None:
    frontier = Frontier(free)
    for low in lows:
        frontier.sufficient(low & free)
    left = {s for s in subsets(free) if not any(within(low & free, s) for low in lows)}

    assert set(frontier.sets) == {s for s in left if not any(other != s and within(s, other) for other in left)}
    assert frontier.seed() == (max(frontier.sets, key=lambda s: (s.bit_count(), s)) if left else None)


def test_settled_sets_stay_and_skipped_ones_leave_what_is_below() -> None:
    frontier = Frontier(0b111)
    frontier.sufficient(0b011)
    assert frontier.sets == [0b101, 0b110]

    frontier.settle(0b110)
    frontier.skip(0b101)

    assert frontier.sets == [0b001, 0b110]  # 100 is inside of the settled set
    assert frontier.seed() == 0b001


def test_many_switches_are_no_obstacle() -> None:
    """The number of sets decided follows the boundary, not the lattice."""
    size, lows = 40, [0b11 << 2 * at for at in range(5)]
    known: dict[int, bool] = {}

    class Wide:
        def decide(self, chosen: int) -> bool:
            return known.setdefault(chosen, any(within(low, chosen) for low in lows))

        def ahead(self, sets: Iterable[int]) -> None:
            for chosen in sets:
                self.decide(chosen)

        def decided(self) -> Mapping[int, bool]:
            return dict(known)

    found = walk((1 << size) - 1, Wide())

    assert list(found.sufficient) == lows
    assert len(found.insufficient) == 2**5
    assert len(known) < 3000


@given(monotone)
def test_walk_is_exact_where_nothing_hurts(verdicts: list[bool | None]) -> None:
    oracle = Table(verdicts)

    found = walk(ALL, oracle)

    assert set(found.sufficient) == smallest(verdicts)
    assert set(found.insufficient) == largest(verdicts)
    assert found.hurts == ()
    assert found.split == 0
    assert found.open == ()


@given(anything)
def test_exact_is_the_definition(verdicts: list[bool | None]) -> None:
    found = exact(ALL, Table(verdicts))

    assert set(found.sufficient) == smallest(verdicts)
    assert set(found.insufficient) == largest(verdicts)
    assert true_harm(verdicts, found)
    assert found.exact
    expected = {(s, bit) for s in range(ALL + 1) for bit in bits(ALL & ~s) if verdicts[s] and not verdicts[s | bit]}
    assert set(found.hurts) <= expected
    for low, bit in expected:  # the smallest sets that are spoilt stand for all others
        assert any(bit == other and within(small, low) for small, other in found.hurts)
        assert (low, bit) in found.hurts or any((small, bit) in expected for small in subsets(low) if small != low)


@given(st.one_of(nearly_monotone(), anything))
def test_walk_says_nothing_false_where_something_hurts(verdicts: list[bool | None]) -> None:
    oracle = Table(verdicts)

    found = walk(ALL, oracle)

    assert all(verdicts[s] is True and all(not verdicts[s & ~bit] for bit in bits(s)) for s in found.sufficient)
    assert all(verdicts[s] is False for s in found.insufficient)
    assert true_harm(verdicts, found)
    near = {s ^ bit for s in (*found.sufficient, *found.insufficient) for bit in bits(ALL)}
    assert near <= oracle.asked
    for low in found.sufficient:
        for bit in bits(ALL & ~low):
            assert verdicts[low | bit] or any(bit == other and within(s, low) for s, other in found.hurts)


@given(st.one_of(nearly_monotone(), anything))
def test_what_walk_misses_it_has_not_looked_at(verdicts: list[bool | None]) -> None:
    """A wrong boundary is possible only where sets were passed over, and then the answer says so."""
    oracle = Table(verdicts)

    found = walk(ALL, oracle)

    missed = smallest(verdicts) - set(found.sufficient) | largest(verdicts) - set(found.insufficient)
    assert not missed & oracle.asked
    assert not (missed and found.exact)


@given(st.one_of(nearly_monotone(), anything))
def test_an_answer_that_assumes_nothing_is_right(verdicts: list[bool | None]) -> None:
    found = walk(ALL, Table(verdicts))

    right = (set(found.sufficient), set(found.insufficient)) == (smallest(verdicts), largest(verdicts))
    assert right or not found.exact


@given(undecided)
def test_undecided_sets_leave_the_answer_open(verdicts: list[bool | None]) -> None:
    oracle = Table(verdicts)

    found = walk(ALL, oracle)

    assert all(verdicts[s] is True for s in found.sufficient)
    assert all(verdicts[s] is False for s in found.insufficient)
    assert all(verdicts[s] is None for s in found.open)
    near = {s ^ bit for s in (*found.sufficient, *found.insufficient) for bit in bits(ALL)}
    assert {s for s in near if verdicts[s] is None} <= set(found.open)


@given(undecided)
def test_exact_with_undecided_sets(verdicts: list[bool | None]) -> None:
    found = exact(ALL, Table(verdicts))

    assert set(found.open) == {s for s, verdict in enumerate(verdicts) if verdict is None}
    assert set(found.sufficient) == smallest(verdicts)
