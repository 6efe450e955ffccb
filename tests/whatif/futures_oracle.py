"""What can still happen from a state, by definition: sets of states, the reference evaluator, and fixpoints."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvproto.engine.evaluate import Fault, Machine, State, choices
from kvproto.ir.nodes import Claim, System

BROKEN = "a step has failed the claim"

Node = State | str


@dataclass
class Continuations:
    """All that can follow a state, violations being the end of everything."""

    follow: dict[Node, set[Node]] = field(default_factory=dict)
    bad: set[Node] = field(default_factory=set)

    def reaching(self) -> set[Node]:
        """The nodes that can reach a violation."""
        return self._backwards(self.bad)

    def avoidable(self) -> set[Node]:
        """The nodes that can reach one from which no violation can be reached."""
        return self._backwards(set(self.follow) - self.reaching())

    def forced(self) -> set[Node]:
        """The nodes from which every continuation reaches a violation."""
        found = set(self.bad)
        while True:
            more = {node for node, after in self.follow.items() if after and after <= found} - found
            if not more:
                return found
            found |= more

    def _backwards(self, goal: set[Node]) -> set[Node]:
        found = set(goal)
        while True:
            more = {node for node, after in self.follow.items() if after & found} - found
            if not more:
                return found
            found |= more


def continuations(system: System, claim: Claim, start: State, limit: int = 5000) -> Continuations | None:
    """The graph from `start`; None beyond the limit.  Raises Fault where the model goes wrong in it."""
    machine, found, todo = Machine(system), Continuations(), [start]
    found.follow[start] = set()
    while todo:
        state = todo.pop()
        inside = system.constraint is None or machine.holds(system.constraint, state)
        if claim.kind == "invariant" and claim.cond is not None and not machine.holds(claim.cond, state):
            found.bad.add(state)
            continue
        if not inside:
            continue
        after, moved = _after(machine, claim, state)
        if claim.kind == "deadlock" and not moved and not (claim.cond and machine.holds(claim.cond, state)):
            found.bad.add(state)
        found.follow[state] = after - {state}
        for node in after:
            if node not in found.follow:
                found.follow[node] = set()
                if node == BROKEN:
                    found.bad.add(node)
                else:
                    assert not isinstance(node, str)
                    todo.append(node)
        if len(found.follow) > limit:
            return None
    return found


def _after(machine: Machine, claim: Claim, state: State) -> tuple[set[Node], bool]:
    """Where the steps of a state lead, and whether there is a step at all."""
    after, moved = set[Node](), False
    for action in machine.system.actions:
        for args in choices(action.params):
            try:
                to = machine.step(action.params, action.body, state, args)
            except Fault as fault:
                if not fault.claim:
                    raise
                moved = True
                if claim.kind == "assert" and fault.claim == claim.name:
                    after.add(BROKEN)
                continue
            if to is not None:
                moved = True
                after.add(to)
    return after, moved
