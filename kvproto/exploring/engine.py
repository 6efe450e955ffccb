"""An engine's own code as something to explore, in a process of its own (`kvproto.engines`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvproto.diagnostics import KvError
from kvproto.engines.child import Child, EngineRaised
from kvproto.engines.fitting import GROUPED, UNDRIVEN
from kvproto.engines.protocol import Now, Possible, Sizes
from kvproto.exploring.target import Did, Happening, Look
from kvproto.ir.nodes import System

SHAPE = "KV055"
"""The code of exceptions that tell of another shape of the engine."""


class Engine:
    """A release of an engine."""

    grouped: Mapping[str, tuple[str, ...]] = {GROUPED[0]: GROUPED[1:]}
    left_out: tuple[str, ...] = ("p", "d")

    def __init__(self, child: Child, sizes: Sizes, system: System) -> None:
        self.name = f"{child.engine.name}=={child.version}"
        self.driven = frozenset(action.name for action in system.actions) - frozenset(UNDRIVEN)
        self._child = child
        self._sizes = sizes
        self._last = Look({}, frozenset())

    def begin(self, steps: Sequence[Happening] = ()) -> Did:
        """A fresh pair of schedulers and these steps."""
        asked = [Possible(step.action, dict(step.args)) for step in steps]
        _, refused, now = self._child.run(self._sizes, asked)
        return Did(self._look(now), refused)

    def possible(self) -> list[Happening]:
        """What is possible now."""
        return [Happening(one.action, tuple(one.args.items())) for one in self._child.actions()]

    def perform(self, step: Happening) -> Did:
        """Take a step.  What the code raises is an outcome; where it left off cannot be gone on from."""
        try:
            done = self._child.perform(step.action, dict(step.args))
        except KvError as problem:
            # A process that has ended, which has the code of an exception too, has shown nothing.
            if not isinstance(problem, EngineRaised) and problem.diagnostic.code != SHAPE:
                raise
            return Did(self._last, raised=problem.diagnostic.message)
        return Did(self._look(done.now), done.refused)

    def _look(self, now: Now) -> Look:
        self._last = Look(now.state, frozenset(now.violations))
        return self._last
