"""Arithmetic of sets of switches as bit masks, and the frontier of what is left to decide."""

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


class Frontier:
    """The largest sets that nothing is known of from below, as sufficient sets become known.

    A set above a sufficient one is settled, so the frontier is what is largest among the sets that contain none of
    these: Berge's algorithm for minimal hitting sets, on complements.  A set of the frontier that does not suffice
    stays there: in the end the frontier are the largest sets that do not.
    """

    def __init__(self, free: int) -> None:
        self.sets = [free]
        self.settled: set[int] = set()

    def seed(self) -> int | None:
        """A set of the frontier that is to be decided, the largest first; None when all is settled."""
        return next((chosen for chosen in reversed(self.sets) if chosen not in self.settled), None)

    def settle(self, chosen: int) -> None:
        """This set of the frontier does not suffice, and so do its subsets."""
        self.settled.add(chosen)

    def sufficient(self, low: int) -> None:
        """This set suffices, and so do its supersets: every way to take something of it away is left."""
        left = [chosen for chosen in self.sets if not within(low, chosen)]
        cut = [chosen & ~bit for chosen in self.sets if within(low, chosen) for bit in bits(low)]
        self.sets = maximal(left + cut)

    def skip(self, chosen: int) -> None:
        """This one set of the frontier cannot be decided: what is right below it takes its place."""
        self.sets = maximal([s for s in self.sets if s != chosen] + [chosen & ~bit for bit in bits(chosen)])
