"""The schedule of a trace, its steps with their arguments, taken again: with a value put back, or under other switches.

The reference evaluator takes every step.  What is found out this way is true of this one schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.ir.nodes import LIVENESS, Action, Claim, System
from kvproto.ir.types import Value
from kvproto.passes import run as run_passes
from kvproto.whatif.runs import Walker

Calls = tuple[tuple[str, Args], ...]
"""Steps by name, so that they can be taken in another system."""


@dataclass(frozen=True, slots=True)
class Put:
    """The variable at place `slot` of the state gets `value` whenever step `step` has been taken."""

    step: int
    slot: int
    value: Value


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the schedule ended: at `step`, which was refused, or went wrong in another way than the claim says.

    `states` are as many as there were, from the initial one on; more than one round of a loop where it takes more
    until a state comes again.
    """

    end: Literal["violated", "holds", "refused", "wrong"]
    step: int
    states: tuple[State, ...]


class Course:
    """One system in which a schedule can be taken, and the claim that it is judged by."""

    def __init__(self, system: System, claim: str, calls: Calls, loop: int | None = None, args: Args = ()) -> None:
        named = system.claim(claim)
        if named.kind in ("invariant", "assert"):
            # Only the end of the schedule is judged, so other actions do not matter.
            names = {name for name, _ in calls}
            kept = tuple(action for action in system.actions if action.name in names)
            system = run_passes(replace(system, actions=kept, claims=(named,), fairness=()))
        # Folding pays off if there are few actions, each of them taken often.
        self.system = system
        self.claim: Claim = self.system.claim(claim)
        self.calls = calls
        self.loop = loop
        self.args = args
        self.machine = Machine(self.system)
        self.walker = Walker(self.system, self.claim)
        self.actions: dict[str, Action] = {action.name: action for action in self.system.actions}

    def action(self, step: int) -> Action:
        """The action of a step, counted from 1."""
        return self.actions[self.calls[step - 1][0]]

    def take(self, before: Sequence[State], put: Put | None = None) -> Outcome:
        """Take the rest of the schedule from the last of the states that there have been."""
        states = list(before)
        try:
            return self._taken(states, put)
        except Fault:
            return Outcome("wrong", self._number(len(states)), tuple(states))

    def broken_without_refused(self, init: State) -> bool:
        """Whether the schedule breaks the claim if steps that cannot happen are left out.  Not for runs without end."""
        if self.loop is not None:
            return False
        state = init
        try:
            for number in range(1, len(self.calls) + 1):
                if self.walker.broken(state):
                    return True
                if not self.walker.inside(state):
                    return False
                states = [state]
                ended = self._step(states, number, None)
                if ended is not None and ended.end == "violated":
                    return True
                if ended is not None and ended.end == "wrong":
                    return False
                state = states[-1]
            return self.walker.broken(state)
        except Fault:
            return False

    def _taken(self, states: list[State], put: Put | None) -> Outcome:
        seen = {states[self.loop]: self.loop} if self.loop is not None and len(states) > self.loop + 1 else {}
        while True:
            done, state = len(states) - 1, states[-1]
            if self.claim.kind == "invariant" and self.walker.broken(state):
                return Outcome("violated", self._number(done), tuple(states))
            at_loop = self.loop is not None and done >= self.loop and self._number(done + 1) == self.loop + 1
            if done >= len(self.calls) and (self.loop is None or self.loop == len(self.calls)):
                return Outcome("violated" if self._broken_at_end(states) else "holds", done, tuple(states))
            if at_loop and state in seen:
                broken = self._broken_lasso(states, seen[state], put)
                return Outcome("violated" if broken else "holds", len(self.calls), tuple(states))
            if at_loop:
                seen[state] = done
            if not self.walker.inside(state):
                return Outcome("wrong", self._number(done + 1), tuple(states))
            ended = self._step(states, self._number(done + 1), put)
            if ended is not None:
                return ended

    def _number(self, count: int) -> int:
        """The step of the schedule that the `count`-th step of a run is."""
        steps = len(self.calls)
        if self.loop is None or count <= steps or self.loop == steps:
            return count
        return self.loop + 1 + (count - self.loop - 1) % (steps - self.loop)

    def _step(self, states: list[State], number: int, put: Put | None) -> Outcome | None:
        """Take one step; how it ends if it does."""
        action, args = self.action(number), self.calls[number - 1][1]
        try:
            after = self.machine.step(action.params, action.body, states[-1], args)
        except Fault as fault:
            failed = self.claim.kind == "assert" and fault.claim == self.claim.name
            return Outcome("violated" if failed else "wrong", number, tuple(states))
        if after is None:
            if self.claim.kind == "deadlock" and self.walker.broken(states[-1]):
                return Outcome("violated", number - 1, tuple(states))
            return Outcome("refused", number, tuple(states))
        if put is not None and put.step == number:
            after = (*after[: put.slot], put.value, *after[put.slot + 1 :])
        states.append(after)
        return None

    def _broken_at_end(self, states: Sequence[State]) -> bool:
        """Whether a run that ends, or stays in its last state for ever, breaks the claim."""
        if self.claim.kind in LIVENESS:
            return self._broken_lasso(states, len(states) - 1, None)
        return self.claim.kind == "deadlock" and self.walker.broken(states[-1])

    def _broken_lasso(self, states: Sequence[State], loop: int, put: Put | None) -> bool:
        """Whether the run is fair and breaks the claim, for the parameters that the trace is about."""
        from kvproto.engine.liveness import Lasso, NotConfirmed
        from kvproto.engine.liveness.lasso import breaks, check_fair

        if not breaks(self.system, self.claim, Lasso(self.args, states[0], (), loop), states):
            return False
        # A step whose effect was changed is no step of the system, but it has been taken.
        put_in = [put.step] if put is not None and put.step > (self.loop or 0) else []
        done = [(self.action(number), self.calls[number - 1][1]) for number in put_in]
        try:
            check_fair(self.system, list(states[loop:]), done)
        except NotConfirmed:
            return False
        return True

    def arguments(self, before: Sequence[State]) -> Args | None:
        """The choice of the claim's parameters for which the schedule breaks it; None if it does for none."""
        for args in choices(self.claim.params):
            self.args = args
            if self.take(before).end == "violated":
                return args
        return None
