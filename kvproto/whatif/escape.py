"""A way to an end without violation, looked for by walking at random: where too much can follow to look at all of it.

A walk that arrives proves that the violation can be avoided; one that does not proves nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from kvproto.engine.evaluate import Args, Fault, State, choices
from kvproto.ir.nodes import Action, Claim, System
from kvproto.passes import run as run_passes
from kvproto.whatif.runs import Steps, Walker

LONGEST, ALL = 200, 1500
"""Steps of a walk, and of all walks together.  They are the same every time."""


class Escape:
    """Walks through one system around the violations of one claim."""

    def __init__(self, system: System, claim: Claim, longest: int = LONGEST, most: int = ALL) -> None:
        self.longest, self.most = longest, most
        folded = run_passes(system)
        self.walker = Walker(folded, folded.claim(claim.name))
        self.instances = [
            (action, args) for action in folded.actions if not action.switched_off for args in choices(action.params)
        ]

    def way(self, state: State) -> Steps | None:
        """Steps to a state in which nothing happens any more and nothing is violated; None if no walk found one."""
        number = taken = 0
        while taken < self.most:
            steps = list[tuple[Action, Args]]()
            if self._arrives(state, random.Random(number), steps):
                return tuple(steps)
            number, taken = number + 1, taken + len(steps) + 1
        return None

    def _arrives(self, state: State, draw: random.Random, steps: list[tuple[Action, Args]]) -> bool:
        """Walk on, writing the steps down, until there is an end, a violation, or no patience left."""
        while len(steps) < self.longest:
            try:
                if self.walker.broken(state):
                    return False
                following = next(self._following(state, draw), None) if self.walker.inside(state) else None
            except Fault:
                return False
            if following is None:
                return True
            action, args, state = following
            steps.append((action, args))
        return False

    def _following(self, state: State, draw: random.Random) -> Iterator[tuple[Action, Args, State]]:
        """Steps that change something, in random order.  Raises Fault where one fails the claim, or goes wrong."""
        for action, args in draw.sample(self.instances, len(self.instances)):
            try:
                after = self.walker.machine.step(action.params, action.body, state, args)
            except Fault as fault:
                if not fault.claim or fault.claim == self.walker.claim.name:
                    raise
                continue  # it changes nothing
            if after not in (None, state):
                assert after is not None
                yield action, args, after
