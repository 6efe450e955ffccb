"""The reference checker behind the interface of the fast tiers: `--engine reference`.

Structured states in a dictionary, the oracle's evaluator on the unfolded system.  Only numbers that the
driver wants (packed states, instance and fault numbers) are shared with the lowering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvproto.engine.evaluate import Fault, Machine, State
from kvproto.engine.ledger import Ledger
from kvproto.engine.lower import Lowered
from kvproto.ir.nodes import Claim, System

if TYPE_CHECKING:
    from kvproto.engine.por import Chooser
    from kvproto.engine.symmetry import Canonical

BYTES_PER_LEAF = 16
"""Rough cost of one variable of one state here, for the memory limit."""


class ReferenceExplorer(Ledger[State]):
    """Explores a system with the reference evaluator, in the same order as every other tier."""

    tier: str = "reference"

    def __init__(
        self,
        system: System,
        lowered: Lowered,
        *,
        memory_limit: int | None = None,
        canonical: Canonical | None = None,
        chooser: Chooser | None = None,
    ) -> None:
        layout = lowered.layout

        def representative(state: State) -> State:
            assert canonical is not None
            return layout.unpack(canonical.of(layout.pack(state)))

        counts = len(lowered.invariants), len(lowered.instances), len(lowered.probes)
        super().__init__(*counts, representative if canonical else None, chooser)
        self._system = system
        self._machine = Machine(system)
        self._lowered = lowered
        self._limit = memory_limit
        # The lowering saw folded actions and claims; the oracle takes them as they were written.
        actions = {action.name: action for action in system.actions}
        self._instances = [(actions[action.name], args) for action, args in lowered.instances]
        self._invariants = [system.claim(c.name) for c in lowered.invariants]
        self._terminal = system.claim(lowered.deadlock.name) if lowered.deadlock else None

    def _held(self, packed: int) -> State:
        return self._lowered.layout.unpack(packed)

    def packed(self, state: int) -> int:
        """The packed state with that number."""
        return self._lowered.layout.pack(self._known(state))

    def _room(self, number: int) -> bool:
        del number  # the count of states is at hand, so every one is looked at
        return self._limit is None or self.memory() < self._limit

    def _judge(self, number: int, state: State) -> bool:
        violates = False
        for at, claim in enumerate(self._invariants):
            assert claim.cond is not None
            try:
                holds = self._machine.holds(claim.cond, state)
            except Fault as fault:
                self._hit(self._number_of(fault), number, -1)
                continue
            if not holds:
                violates = True
                self._violated(at, number)
        return violates

    def _inside(self, number: int, state: State) -> bool:
        if self._system.constraint is None:
            return True
        try:
            return self._machine.holds(self._system.constraint, state)
        except Fault as fault:
            self._hit(self._number_of(fault), number, -1)
            return False

    def _asks(self, probe: int, state: State) -> bool:
        try:
            return self._machine.holds(self._lowered.probes[probe], state)
        except Fault:
            return True

    def _tests(self, predicate: int, state: State) -> int:
        try:
            return int(self._machine.holds(self._lowered.predicates[predicate], state))
        except Fault:
            return 2

    def _expand(self, number: int, state: State) -> None:
        moved = False
        for at, (action, args) in enumerate(self._instances):
            try:
                after = self._machine.step(action.params, action.body, state, args)
            except Fault as fault:
                self._hit(self._number_of(fault), number, at)
                moved = True
                continue
            if after is not None:
                moved = True
                self._found(after, number, at)
        if not moved and self._terminal is not None:
            self._end_of_run(number, state, self._terminal)

    def _end_of_run(self, number: int, state: State, claim: Claim) -> None:
        try:
            if claim.cond is None or not self._machine.holds(claim.cond, state):
                self._dead(number)
        except Fault as fault:
            self._hit(self._number_of(fault), number, -1)

    def _number_of(self, fault: Fault) -> int:
        """The fault's number in the lowering, which must know every fault that the oracle meets."""
        for at, info in enumerate(self._lowered.faults):
            if info.claim == fault.claim if fault.claim else (info.code, info.loc) == (fault.code, fault.node.loc):
                return at
        raise AssertionError(f"the lowering does not know the fault at {fault.node.loc}: {fault.message}")

    def memory(self) -> int:
        """Rough number of bytes held."""
        return len(self._order) * (BYTES_PER_LEAF * len(self._machine.leaves) + 200)
