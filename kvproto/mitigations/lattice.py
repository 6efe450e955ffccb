"""Arithmetic of sets of switches as bit masks, and the map of sets that nobody has spoken of yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def members(chosen: int) -> Iterator[int]:
    """Positions of the bits that are set, lowest first.

    >>> list(members(0b1010))
    [1, 3]
    """
    at = 0
    while chosen:
        if chosen & 1:
            yield at
        chosen >>= 1
        at += 1


def bits(chosen: int) -> Iterator[int]:
    """Sets of one element, for each element.

    >>> list(bits(0b1010))
    [2, 8]
    """
    return (1 << at for at in members(chosen))


def subsets(chosen: int) -> Iterator[int]:
    """Every subset, the empty one first.

    >>> list(subsets(0b101))
    [0, 1, 4, 5]
    """
    found = 0
    while True:
        yield found
        if found == chosen:
            return
        found = (found - chosen) & chosen


def within(inner: int, outer: int) -> bool:
    """Whether `inner` is a subset."""
    return inner & ~outer == 0


def size_then_value(chosen: int) -> tuple[int, int]:
    """The order in which sets are shown: smaller ones first."""
    return chosen.bit_count(), chosen


def minimal(sets: Iterable[int]) -> list[int]:
    """Those without a proper subset among them.

    >>> minimal([0b11, 0b01, 0b110])
    [1, 6]
    """
    kept: list[int] = []
    for one in sorted(set(sets), key=size_then_value):
        if not any(within(other, one) for other in kept):
            kept.append(one)
    return kept


def maximal(sets: Iterable[int]) -> list[int]:
    """Those without a proper superset among them, smaller ones first.

    >>> maximal([0b11, 0b01, 0b100])
    [4, 3]
    """
    kept: list[int] = []
    for one in sorted(set(sets), key=size_then_value, reverse=True):
        if not any(within(one, other) for other in kept):
            kept.append(one)
    return kept[::-1]


class Map:
    """Which sets over `free` are unexplored, given what is known to lie above, below, or exactly at some sets.

    A depth-first search with two bit tests a node.  The sets that block are few and the switches some dozens at most,
    so this needs no SAT solver.
    """

    def __init__(self, free: int) -> None:
        self.free = free
        self.above: list[int] = []
        self.below: list[int] = []
        self.at: set[int] = set()

    def block_above(self, low: int) -> None:
        """Supersets of `low` are explored."""
        self.above.append(low)

    def block_below(self, high: int) -> None:
        """Subsets of `high` are explored."""
        self.below.append(high)

    def block(self, exactly: int) -> None:
        """This one set is explored."""
        self.at.add(exactly)

    def seed(self) -> int | None:
        """An unexplored set that no unexplored set contains; None if there is no unexplored set."""
        return self._seed(list(bits(self.free)), 0, 0, self.free)

    def _seed(self, order: list[int], at: int, chosen: int, possible: int) -> int | None:
        """Elements are put in before they are left out, so the first set found has no unexplored superset."""
        if any(within(low, chosen) for low in self.above) or any(within(possible, high) for high in self.below):
            return None
        if at == len(order):
            return None if chosen in self.at else chosen
        bit = order[at]
        found = self._seed(order, at + 1, chosen | bit, possible)
        return self._seed(order, at + 1, chosen, possible & ~bit) if found is None else found
