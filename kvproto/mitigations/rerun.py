"""A counterexample of one system tried on another: if the same steps are possible and break the claim, no search is
needed there.  The reference evaluator takes every step.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.outcome import Counterexample
from kvproto.ir.nodes import LIVENESS, Action, Claim, System

Steps = tuple[tuple[Action, Args], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A counterexample without its system: actions by name, so that it can go to another process and system.

    `shape` is that of the state (`Stage.shape`): what a value at a position means.
    """

    shape: str
    init: State
    steps: tuple[tuple[str, Args], ...]
    loop: int | None
    args: Args


class Stage:
    """A system on which runs are tried."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.machine = Machine(system)
        self.actions = {action.name: action for action in system.actions}

    @cached_property
    def starts(self) -> frozenset[State]:
        """Initial states."""
        return frozenset(self.machine.initial())

    @cached_property
    def shape(self) -> str:
        """The same for two systems if their states consist of the same variables."""
        return hashlib.sha256(repr(self.machine.leaves).encode()).hexdigest()[:16]

    def strip(self, found: Counterexample) -> Run:
        """The counterexample as a run."""
        steps = tuple((action.name, args) for action, args in found.steps)
        return Run(self.shape, found.init, steps, found.loop, found.args)

    def again(self, claim: Claim, run: Run) -> Counterexample | None:
        """The run as a counterexample here, cut off where the claim breaks; None if it is none here."""
        if run.shape != self.shape or run.init not in self.starts:
            return None
        try:
            return self._lasso(claim, run) if claim.kind in LIVENESS else self._finite(claim, run)
        except Fault:
            return None

    def _finite(self, claim: Claim, run: Run) -> Counterexample | None:
        state, done = run.init, list[tuple[Action, Args]]()
        for name, args in (*run.steps, ("", ())):
            if self._broken(claim, state):
                return Counterexample(claim, run.init, tuple(done))
            action = self.actions.get(name)
            if action is None or not self._inside(state):
                return None
            done.append((action, args))
            try:
                after = self.machine.step(action.params, action.body, state, args)
            except Fault as fault:
                failed = fault.claim == claim.name and claim.kind == "assert"
                return Counterexample(claim, run.init, tuple(done)) if failed else None
            if after is None:
                return None
            state = after
        return None

    def _broken(self, claim: Claim, state: State) -> bool:
        """Whether the state alone breaks the claim."""
        if claim.kind == "invariant":
            return claim.cond is not None and not self.machine.holds(claim.cond, state)
        if claim.kind == "deadlock":
            ended = claim.cond is not None and self.machine.holds(claim.cond, state)
            return not ended and self._inside(state) and self._stuck(state)
        return False

    def _stuck(self, state: State) -> bool:
        """Whether no action can happen; one that fails its assertion can."""
        for action in self.system.actions:
            for args in choices(action.params):
                try:
                    if self.machine.step(action.params, action.body, state, args) is not None:
                        return False
                except Fault:
                    return False
        return True

    def _inside(self, state: State) -> bool:
        constraint = self.system.constraint
        return constraint is None or self.machine.holds(constraint, state)

    def _lasso(self, claim: Claim, run: Run) -> Counterexample | None:
        from kvproto.engine.liveness import Lasso, NotConfirmed, confirm  # most claims are about states

        steps = self._named(run)
        if steps is None or run.loop is None:
            return None
        try:
            confirm(self.system, claim, Lasso(run.args, run.init, steps, run.loop))
        except NotConfirmed:
            return None
        return Counterexample(claim, run.init, steps, run.loop, run.args)

    def _named(self, run: Run) -> Steps | None:
        """The run's actions of this system."""
        found = [(self.actions[name], args) for name, args in run.steps if name in self.actions]
        return tuple(found) if len(found) == len(run.steps) else None
