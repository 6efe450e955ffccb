"""Searches of all states and of representatives, in a form that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest

from kvproto.engine.evaluate import Fault, Machine, State
from kvproto.engine.explorer import FaultHit
from kvproto.engine.layout import plan as lay_out
from kvproto.engine.lower import Lowered, lower
from kvproto.engine.symmetry import Canonical, Failure, Plan, RealRun, canonical_path, closed, concretize, plan
from kvproto.engine.tier0 import PythonExplorer
from kvproto.ir.nodes import Claim, System
from kvproto.ir.types import SortT
from kvproto.passes.symmetry import Asymmetry, strict, symmetries


@dataclass(frozen=True)
class Search:
    """A finished search."""

    system: System
    lowered: Lowered
    explorer: PythonExplorer
    initial: list[State]
    canonical: Canonical | None = None

    def violations(self) -> dict[str, FaultHit]:
        """The first violation of each claim: `fault` means nothing, `action` is that of a failing assertion or -1."""
        found = {}
        for at, claim in enumerate(self.lowered.invariants):
            state = self.explorer.violation(at)
            if state is not None:
                found[claim.name] = FaultHit(-1, state, -1)
        deadlock = self.explorer.deadlock()
        if deadlock is not None and self.lowered.deadlock is not None:
            found[self.lowered.deadlock.name] = FaultHit(-1, deadlock, -1)
        for hit in self.explorer.faults():
            name = self.lowered.faults[hit.fault].claim
            if name and (name not in found or (hit.state, hit.action) < (found[name].state, found[name].action)):
                found[name] = hit
        return found

    def errors(self) -> list[FaultHit]:
        """Errors of the model, shortest runs first."""
        hits = [h for h in self.explorer.faults() if not self.lowered.faults[h.fault].claim]
        return sorted(hits, key=lambda h: (self.steps(h), h.state))

    def steps(self, hit: FaultHit) -> int:
        """Steps of the run to a violation or error, the failing one included."""
        return len(self.explorer.path(hit.state)[1]) + (hit.action >= 0)

    def run(self, hit: FaultHit, failing: Failure | None = None) -> RealRun:
        """The run in real names."""
        assert self.canonical is not None
        start, actions = self.explorer.path(hit.state)
        packed = self.explorer.packed(start)
        path = canonical_path(self.system, self.lowered, self.canonical, packed, actions)
        initial = map(self.lowered.layout.pack, self.initial)
        return concretize(self.system, self.lowered, self.canonical, path, initial, failing)


def symmetric_sorts(system: System, claims: tuple[Claim, ...]) -> tuple[SortT, ...]:
    """The sorts that a search may reduce by."""
    return start_symmetrically(system, symmetries(system, claims)[0])[0]


def start_symmetrically(system: System, sorts: tuple[SortT, ...]) -> tuple[tuple[SortT, ...], tuple[Asymmetry, ...]]:
    """Those of the sorts under which the initial states are closed, and why the others are not."""
    layout = lay_out(system.state)
    return closed(system, layout, sorts, [layout.pack(state) for state in Machine(system).initial()])


def search_all(system: System, limit: int) -> Search | None:
    """A search of all states; None where there are more than that."""
    lowered = lower(system, system.claims)
    initial = list(Machine(system).initial())
    explorer = PythonExplorer(lowered.program)
    return Search(system, lowered, explorer, initial) if _finish(explorer, lowered, initial, limit) else None


def search_reduced(
    system: System, sorts: tuple[SortT, ...], limit: int, change: Callable[[Plan], Plan] = lambda tables: tables
) -> Search | None:
    """A search of representatives; `change` may do something to its tables."""
    tight = strict(system, sorts)
    lowered = lower(tight, tight.claims)
    canonical = Canonical(change(plan(system.state, lowered.layout, sorts)))
    initial = list(Machine(system).initial())
    explorer = PythonExplorer(lowered.program, canonical=canonical)
    found = _finish(explorer, lowered, initial, limit)
    return Search(system, lowered, explorer, initial, canonical) if found else None


def _finish(explorer: PythonExplorer, lowered: Lowered, initial: Iterable[State], limit: int) -> bool:
    explorer.start([lowered.layout.pack(state) for state in initial])
    while explorer.frontier():
        if explorer.states() > limit:
            return False
        explorer.advance(1000)
    return True


def check_run(system: System, run: RealRun, name: str, initial: list[State], *, fails: bool) -> None:
    """Assert that the oracle goes the way of a run and finds the claim broken at its end."""
    machine = Machine(system)
    assert run.init in initial
    state = run.init
    for action, args in run.steps[: len(run.steps) - fails]:
        after = machine.step(action.params, action.body, state, args)
        assert after is not None
        state = after
    assert state == run.last
    claim = system.claim(name)
    if fails:
        action, args = run.steps[-1]
        with pytest.raises(Fault) as caught:
            machine.step(action.params, action.body, state, args)
        assert caught.value.claim == name
    elif claim.kind != "deadlock":
        assert claim.cond is not None and not machine.holds(claim.cond, state)


def check_error(system: System, run: RealRun, failing: Failure) -> None:
    """Assert that the oracle meets an error of the model at the end of a run."""
    with pytest.raises(Fault) as caught:
        _follow(system, run, failing)
    assert not caught.value.claim


def _follow(system: System, run: RealRun, failing: Failure) -> None:
    machine, state = Machine(system), run.init
    for at, (action, args) in enumerate(run.steps, 1):
        after = machine.step(action.params, action.body, state, args)
        assert after is not None and not (failing.in_action and at == len(run.steps))
        state = after
    for claim in failing.claims:
        if claim.cond is not None:
            machine.holds(claim.cond, state)


def compare(everything: Search, some: Search) -> None:
    """Assert that both searches say the same, and that the runs of the reduced one are real."""
    errors = [s.errors() for s in (everything, some)]
    assert bool(errors[0]) == bool(errors[1]), errors
    horizon = 1 << 30
    if errors[0]:
        horizon = everything.steps(errors[0][0])
        assert some.steps(errors[1][0]) == horizon
        first = errors[1][0]
        failing = Failure(some.lowered.faults[first.fault], first.action >= 0, some.system.claims)
        real = some.run(first, failing)
        assert len(real.steps) == horizon and real.init in some.initial
        check_error(some.system, real, failing)
    found, wanted = (
        {name: s.steps(hit) for name, hit in s.violations().items() if s.steps(hit) < horizon}
        for s in (some, everything)
    )
    assert found == wanted
    for name, hit in some.violations().items():
        if some.steps(hit) < horizon:
            fails = hit.action >= 0
            failing = Failure(some.lowered.faults[hit.fault], True) if fails else None
            real = some.run(hit, failing)
            assert len(real.steps) == some.steps(hit)
            check_run(some.system, real, name, some.initial, fails=fails)
