"""The reference checker: breadth-first search as everyone would write it.  The oracle; read this one first."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.ir.nodes import Action, Expr, Stmt, System

Step = tuple[str, Args]


@dataclass(slots=True)
class Explored:
    """What a complete search found.

    `order` lists states as they were found, `parent` how each was first reached (None for initial states);
    `violated` maps a claim to the first state (or, for an assertion, to the state before the failing step and that
    step) that breaks it; `error` is the first fault of the model itself.
    """

    order: list[State] = field(default_factory=list)
    parent: dict[State, tuple[State, Step] | None] = field(default_factory=dict)
    level: dict[State, int] = field(default_factory=dict)
    transitions: int = 0
    violated: dict[str, tuple[State, Step | None]] = field(default_factory=dict)
    violating: int = 0
    fired: dict[Step, int] = field(default_factory=dict)
    error: tuple[State, Step | None, Expr | Stmt, str, str] | None = None

    @property
    def depth(self) -> int:
        """Levels of the breadth-first search; initial states are level 1."""
        return max(self.level.values(), default=0)

    def path(self, state: State) -> list[Step]:
        """Steps from an initial state to `state`, shortest first found."""
        steps: list[Step] = []
        while (link := self.parent[state]) is not None:
            state, step = link
            steps.append(step)
        return steps[::-1]


def explore(system: System) -> Explored:
    """Visit every reachable state, evaluating every claim in each.  Stops only at an error of the model."""
    machine, found = Machine(system), Explored()
    instances = [(action, args) for action in system.actions for args in choices(action.params)]
    invariants = [c for c in system.claims if c.kind == "invariant"]
    deadlock = next((c for c in system.claims if c.kind == "deadlock"), None)
    queue: deque[State] = deque()

    def discover(state: State, link: tuple[State, Step] | None) -> None:
        if state in found.parent:
            return
        found.parent[state] = link
        found.level[state] = 1 if link is None else found.level[link[0]] + 1
        found.order.append(state)
        queue.append(state)
        broken = [c.name for c in invariants if c.cond is not None and not machine.holds(c.cond, state)]
        for name in broken:
            found.violated.setdefault(name, (state, None))
        found.violating += bool(broken)

    try:
        for state in machine.initial():
            discover(state, None)
        while queue:
            state = queue.popleft()
            if not _expand(machine, found, state, instances, discover) and deadlock is not None:
                if deadlock.cond is None or not machine.holds(deadlock.cond, state):
                    found.violated.setdefault(deadlock.name, (state, None))
    except Fault as fault:
        last = found.order[-1] if found.order else machine.zero()
        found.error = found.error or (last, None, fault.node, fault.message, fault.code)
    return found


def _expand(machine: Machine, found: Explored, state: State, instances: list[tuple[Action, Args]], discover) -> bool:  # type: ignore[no-untyped-def]
    """Generate the successors of a state; true if there is one, or a step that fails."""
    moved = False
    for action, args in instances:
        step = (action.name, args)
        try:
            after = machine.step(action.params, action.body, state, args)
        except Fault as fault:
            if not fault.claim:
                found.error = (state, step, fault.node, fault.message, fault.code)
                raise
            found.violated.setdefault(fault.claim, (state, step))
            moved = True
            continue
        if after is not None:
            moved = True
            found.transitions += 1
            found.fired[step] = found.fired.get(step, 0) + 1
            discover(after, (state, step))
    return moved
