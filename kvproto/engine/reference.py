"""The reference checker: breadth-first search as everyone would write it.  The oracle; read this one first."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.ir.nodes import Claim, Expr, Stmt, System

Step = tuple[str, Args]


@dataclass(slots=True)
class Explored:
    """What a complete search found.

    `order` lists states as they were found, `parent` how each was first reached (None for initial states);
    `violated` maps a claim to the first state (or, for an assertion, to the state before the failing step and that
    step) that breaks it; `error` is the first fault of the model itself.  States `outside` of the constraint are
    judged like all others, but not expanded.
    """

    order: list[State] = field(default_factory=list)
    parent: dict[State, tuple[State, Step] | None] = field(default_factory=dict)
    level: dict[State, int] = field(default_factory=dict)
    transitions: int = 0
    violated: dict[str, tuple[State, Step | None]] = field(default_factory=dict)
    violating: int = 0
    fired: dict[Step, int] = field(default_factory=dict)
    outside: set[State] = field(default_factory=set)
    error: tuple[State, Step | None, Expr | Stmt, str, str] | None = None

    @property
    def depth(self) -> int:
        """Levels of the breadth-first search inside of the constraint; initial states are always level 1."""
        return max((at for state, at in self.level.items() if at == 1 or state not in self.outside), default=0)

    def path(self, state: State) -> list[Step]:
        """Steps from an initial state to `state`, shortest first found."""
        steps: list[Step] = []
        while (link := self.parent[state]) is not None:
            state, step = link
            steps.append(step)
        return steps[::-1]


def explore(system: System) -> Explored:
    """Visit every reachable state, evaluating every claim in each.  Stops only at an error of the model."""
    search = _Search(system)
    try:
        search.run()
    except Fault as fault:
        search.found.error = (*search.at, fault.node, fault.message, fault.code)
    return search.found


class _Search:
    def __init__(self, system: System) -> None:
        self.machine = Machine(system)
        self.found = Explored()
        self.instances = [(action, args) for action in system.actions for args in choices(action.params)]
        self.invariants = [c for c in system.claims if c.kind == "invariant"]
        self.deadlock = next((c for c in system.claims if c.kind == "deadlock"), None)
        self.queue: deque[State] = deque()
        self.at: tuple[State, Step | None] = (self.machine.zero(), None)
        """The state, and the step from it, that is being evaluated."""

    def run(self) -> None:
        for state in self.machine.initial():
            self.discover(state, None)
        while self.queue:
            state = self.queue.popleft()
            if not self.inside(state):
                self.found.outside.add(state)
            elif not self.expand(state) and self.deadlock is not None and not self.terminal(state, self.deadlock):
                self.found.violated.setdefault(self.deadlock.name, (state, None))

    def discover(self, state: State, link: tuple[State, Step] | None) -> None:
        """Take a state that may be new, and judge it if it is."""
        found = self.found
        if state in found.parent:
            return
        found.parent[state] = link
        found.level[state] = 1 if link is None else found.level[link[0]] + 1
        found.order.append(state)
        self.queue.append(state)
        self.at = (state, None)
        broken = [c.name for c in self.invariants if c.cond is not None and not self.machine.holds(c.cond, state)]
        for name in broken:
            found.violated.setdefault(name, (state, None))
        found.violating += bool(broken)

    def expand(self, state: State) -> bool:
        """Generate the successors of a state; true if there is one, or a step that fails."""
        found, moved = self.found, False
        for action, args in self.instances:
            step = (action.name, args)
            self.at = (state, step)
            try:
                after = self.machine.step(action.params, action.body, state, args)
            except Fault as fault:
                if not fault.claim:
                    raise
                found.violated.setdefault(fault.claim, (state, step))
                moved = True
                continue
            if after is not None:
                moved = True
                found.transitions += 1
                found.fired[step] = found.fired.get(step, 0) + 1
                self.discover(after, (state, step))
        return moved

    def inside(self, state: State) -> bool:
        """Whether the state satisfies the model's constraint."""
        self.at = (state, None)
        constraint = self.machine.system.constraint
        return constraint is None or self.machine.holds(constraint, state)

    def terminal(self, state: State, deadlock: Claim) -> bool:
        """Whether nothing has to happen any more."""
        self.at = (state, None)
        return deadlock.cond is not None and self.machine.holds(deadlock.cond, state)
