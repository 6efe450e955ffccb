"""The reference checker behind the interface of the fast tiers: `--engine reference`.

Structured states in a dictionary, the oracle's evaluator on the unfolded system.  Only numbers that the
driver wants (packed states, instance and fault numbers) are shared with the lowering.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvproto.engine.evaluate import Fault, Machine, State
from kvproto.engine.explorer import FaultHit
from kvproto.engine.lower import Lowered
from kvproto.ir.nodes import Claim, System

BYTES_PER_LEAF = 16
"""Rough cost of one variable of one state here, for the memory limit."""


class ReferenceExplorer:
    """Explores a system with the reference evaluator, in the same order as every other tier."""

    tier: str = "reference"

    def __init__(self, system: System, lowered: Lowered, *, memory_limit: int | None = None) -> None:
        self._machine = Machine(system)
        self._lowered = lowered
        actions = {action.name: action for action in system.actions}
        self._instances = [(actions[action.name], args) for action, args in lowered.instances]
        names = {c.name: c for c in system.claims}
        self._invariants: list[Claim] = [names[c.name] for c in lowered.invariants]
        self._deadlock_claim = names[lowered.deadlock.name] if lowered.deadlock else None
        self._limit = memory_limit
        self._number: dict[State, int] = {}
        self._order: list[State] = []
        self._parent: list[tuple[int, int]] = []
        self._expanded = 0
        self._level = 1
        self._level_start = 0
        self._level_end = 0
        self._transitions = 0
        self._violations: dict[int, int] = {}
        self._violating = 0
        self._deadlock: int | None = None
        self._faults: dict[int, FaultHit] = {}
        self._fired = [0] * len(self._instances)

    def start(self, initial: Iterable[int]) -> None:
        """Take the initial states."""
        for packed in initial:
            self._discover(self._lowered.layout.unpack(packed), -1, -1)
        self._level_end = len(self._order)

    def advance(self, expansions: int) -> bool:
        """Expand up to that many states of the current level; False when memory is short."""
        for _ in range(expansions):
            if self._limit is not None and self.memory() > self._limit:
                return False
            if self._expanded == self._level_end:
                break
            self._expand(self._expanded)
            self._expanded += 1
        if self._expanded == self._level_end and self._level_end < len(self._order):
            self._level += 1
            self._level_start, self._level_end = self._level_end, len(self._order)
        return True

    def _discover(self, state: State, parent: int, instance: int) -> None:
        if state in self._number:
            return
        number = self._number[state] = len(self._order)
        self._order.append(state)
        self._parent.append((parent, instance))
        broken = False
        for at, claim in enumerate(self._invariants):
            assert claim.cond is not None
            try:
                holds = self._machine.holds(claim.cond, state)
            except Fault as fault:
                self._hit(fault, number, -1)
                continue
            if not holds:
                broken = True
                self._violations.setdefault(at, number)
        self._violating += broken

    def _expand(self, number: int) -> None:
        state, moved = self._order[number], False
        for at, (action, args) in enumerate(self._instances):
            try:
                after = self._machine.step(action.params, action.body, state, args)
            except Fault as fault:
                self._hit(fault, number, at)
                moved = True
                continue
            if after is not None:
                moved = True
                self._transitions += 1
                self._fired[at] += 1
                self._discover(after, number, at)
        claim = self._deadlock_claim
        if not moved and claim is not None and self._deadlock is None:
            try:
                if claim.cond is None or not self._machine.holds(claim.cond, state):
                    self._deadlock = number
            except Fault as fault:
                self._hit(fault, number, -1)

    def _hit(self, fault: Fault, state: int, instance: int) -> None:
        for at, info in enumerate(self._lowered.faults):
            same = info.claim == fault.claim if fault.claim else (info.code, info.loc) == (fault.code, fault.node.loc)
            if same:
                self._faults.setdefault(at, FaultHit(at, state, instance))
                return
        raise AssertionError(f"the lowering does not know the fault at {fault.node.loc}: {fault.message}")

    def states(self) -> int:
        """Distinct states so far."""
        return len(self._order)

    def expanded(self) -> int:
        """States whose successors have been generated."""
        return self._expanded

    def transitions(self) -> int:
        """Successors generated so far."""
        return self._transitions

    def level(self) -> int:
        """Level of the state to be expanded next."""
        return self._level

    def frontier(self) -> int:
        """States found and not yet expanded."""
        return len(self._order) - self._expanded

    def at_level_start(self) -> bool:
        """No state of the current level has been expanded yet, or none is left."""
        return self._expanded == self._level_start or self.frontier() == 0

    def violation(self, claim: int) -> int | None:
        """First state that violates the claim."""
        return self._violations.get(claim)

    def violating_states(self) -> int:
        """States that violate at least one claim."""
        return self._violating

    def deadlock(self) -> int | None:
        """First deadlocked state."""
        return self._deadlock

    def faults(self) -> list[FaultHit]:
        """First hit of each fault, by number."""
        return [self._faults[number] for number in sorted(self._faults)]

    def fired(self) -> list[int]:
        """Successors by action instance."""
        return list(self._fired)

    def path(self, state: int) -> tuple[int, list[int]]:
        """Number of the initial state and the instances from there."""
        steps: list[int] = []
        parent, instance = self._parent[state]
        while parent >= 0:
            steps.append(instance)
            state = parent
            parent, instance = self._parent[state]
        return state, steps[::-1]

    def packed(self, state: int) -> int:
        """The packed state."""
        return self._lowered.layout.pack(self._order[state])

    def memory(self) -> int:
        """Rough number of bytes held."""
        return len(self._order) * (BYTES_PER_LEAF * len(self._machine.leaves) + 200)

    def close(self) -> None:
        """Give the memory back."""
        self._number.clear()
