"""What the search driver asks of a tier: breadth-first exploration in small, interruptible pieces.

The driver (`kvproto.engine.search`) owns budgets, progress and verdicts; an explorer owns states.
Every explorer visits states in the same order: initial states in the order given, then first in, first
out, successors in the order of `Program.actions`.  Hence all of them number states alike, find the same first
violation of each claim, and give the same traces.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FaultHit:
    """The first time a fault was met: expanding state `state` with action instance `action`.

    `action` is -1 when a claim or the terminal predicate faulted on `state` itself.
    """

    fault: int
    state: int
    action: int


@dataclass(frozen=True, slots=True)
class Edges:
    """The transitions of the states from number `first` on, in compressed rows.

    Those of state first + i are `offsets[i]` up to `offsets[i + 1]`: action instances and the states they lead to.
    """

    first: int
    offsets: array[int]
    actions: array[int]
    targets: array[int]


class Explorer(Protocol):
    """Breadth-first exploration of one `Program`.  States are numbered from 0 in order of discovery."""

    tier: str
    """Which tier this is, as it is printed: `C`, `Python` or `reference`."""

    def start(self, initial: Iterable[int]) -> None:
        """Take the initial states (packed: word `w` occupies bits 64*w up); duplicates are dropped."""

    def advance(self, expansions: int) -> bool:
        """Expand up to that many states, never past the end of the current level.

        False when the memory limit stopped it; the states found so far stay valid.
        """

    def states(self) -> int:
        """Distinct states so far, those outside of the constraint included."""

    def outside(self) -> int:
        """States among the expanded ones that are outside of the constraint."""

    def expanded(self) -> int:
        """States whose successors have been generated."""

    def transitions(self) -> int:
        """Successors generated so far, duplicates included, faulting actions not."""

    def level(self) -> int:
        """Level of the state to be expanded next, or of the last state when none is left; initial = 1."""

    def depth(self) -> int:
        """Deepest level with an expanded state inside of the constraint."""

    def frontier(self) -> int:
        """States found and not yet expanded; 0 means the search is complete."""

    def at_level_start(self) -> bool:
        """No state of the current level has been expanded yet (or none is left)."""

    def violation(self, claim: int) -> int | None:
        """First state that violates the claim."""

    def witness(self, probe: int) -> int | None:
        """First state in which the probe is true, or goes wrong."""

    def violating_states(self) -> int:
        """Number of distinct states that violate at least one claim."""

    def deadlock(self) -> int | None:
        """First deadlocked state."""

    def faults(self) -> list[FaultHit]:
        """First hit of each fault met so far, by fault number."""

    def fired(self) -> list[int]:
        """How often each action instance produced a successor."""

    def path(self, state: int) -> tuple[int, list[int]]:
        """(number of the initial state, action instances from there) along the first discovery."""

    def packed(self, state: int) -> int:
        """The packed state with that number."""

    def edges(self, first: int, last: int) -> Edges:
        """The transitions of the states `first` up to `last`, to states that are known."""

    def test(self, predicate: int, first: int, last: int) -> bytes:
        """The value of a predicate in the states `first` up to `last`: 0, 1, or 2 where it faults."""

    def memory(self) -> int:
        """Bytes held for states, table and links."""

    def close(self) -> None:
        """Give the memory back."""
