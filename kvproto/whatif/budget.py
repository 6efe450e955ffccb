"""What a question about other runs may cost, and what happens where that is not enough."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvproto.engine.clock import Clock


@dataclass(frozen=True, slots=True)
class Budget:
    """States of one graph, bytes, and seconds in all (None: no limit).

    Without a limit of time the same question always has the same answer.
    """

    states: int = 2_000_000
    memory: int | None = 4 << 30
    seconds: float | None = None


class NotKnownError(Exception):
    """The question cannot be answered within the budget, or at all; the text says why."""


@dataclass(frozen=True)
class Purse:
    """A budget that is being spent: its clock runs from the beginning."""

    budget: Budget = field(default_factory=Budget)
    clock: Clock = field(default_factory=Clock)

    def late(self) -> str:
        """Why there is no time left; "" if there is."""
        limit = self.budget.seconds
        return f"not done within {limit:g} s" if limit is not None and self.clock.seconds() > limit else ""

    def look(self, states: int) -> None:
        """Raise NotKnownError if there is no time left, or so many states are too many."""
        reason = self.late()
        if states > self.budget.states:
            reason = f"more than {self.budget.states:,} states"
        if reason:
            raise NotKnownError(reason)
