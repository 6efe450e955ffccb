"""Which holds matter: what becomes of the trace's run where events go ahead of it as soon as they can."""

from __future__ import annotations

from collections.abc import Sequence

from kvproto.engine.evaluate import Args, Fault, Machine, State
from kvproto.engine.starting import call
from kvproto.ir.nodes import Action, System
from kvproto.whatif.runs import Walker
from kvproto.whatif.subject import Replayed

Happening = tuple[Action, Args]

MOST_EXTRA = 200
"""Events that go ahead of the schedule, at most: a model may have some that can happen for ever."""


class Needed:
    """The schedule of a trace, with events that go ahead as soon as they can."""

    def __init__(self, system: System, run: Replayed, steps: Sequence[Happening], held: tuple[Happening, ...]) -> None:
        self._machine = Machine(system)
        self._walker = Walker(system, system.claim(run.trace.property))
        self._steps = steps
        self._init = run.states[0]
        self._held = held
        self._judged = run.finite

    def reasons(self) -> dict[Happening, str]:
        """The holds that are needed together, and what goes wrong without each: all others are let go one by one."""
        loose: list[Happening] = []
        needed: dict[Happening, str] = {}
        for event in self._held:
            reason = self._lost([*loose, event])
            if reason is None:
                loose.append(event)
            else:
                needed[event] = reason
        return needed

    def _lost(self, loose: Sequence[Happening]) -> str | None:
        """Why the run does not get there if these events happen as soon as they can."""
        if not self._judged:
            return "what it would change was not asked"
        try:
            taken, refused = self._eager(loose)
        except Fault:
            return "without the hold the model itself goes wrong"
        if refused is not None:
            return f"then step {refused[0]}, {call(*refused[1])}, cannot happen"
        walk = self._walker.walk(self._init, tuple(taken))
        return None if walk is not None else "then the claim is not broken"

    def _eager(self, loose: Sequence[Happening]) -> tuple[list[Happening], tuple[int, Happening] | None]:
        """The run with loose events ahead; those that went ahead are not taken again at their place."""
        state, taken, ahead = self._init, list[Happening](), list[Happening]()
        for number, event in enumerate(self._steps, 1):
            state = self._go_ahead(state, loose, event, taken, ahead)
            if event in ahead:
                ahead.remove(event)
                continue
            after = self._after(state, event)
            if after is None:
                return taken, (number, event)
            taken.append(event)
            state = after
        return taken, None

    def _go_ahead(
        self,
        state: State,
        loose: Sequence[Happening],
        following: Happening,
        taken: list[Happening],
        ahead: list[Happening],
    ) -> State:
        moved = True
        while moved and len(ahead) < MOST_EXTRA:
            moved = False
            for event in loose:
                after = self._after(state, event) if event != following else None
                if after is not None and after != state:
                    taken.append(event)
                    ahead.append(event)
                    state, moved = after, True
        return state

    def _after(self, state: State, event: Happening) -> State | None:
        action, args = event
        return self._machine.step(action.params, action.body, state, args)
