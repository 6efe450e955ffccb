"""Runs one model text through every checker, and says where they differ."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType

from kvproto.diagnostics import Loc
from kvproto.engine.c_explorer import CExplorer, EngineUnavailable
from kvproto.engine.evaluate import Fault, Machine, State
from kvproto.engine.explorer import Explorer, FaultHit
from kvproto.engine.lower import Lowered, lower
from kvproto.engine.reference import Explored, Step, explore
from kvproto.engine.tier0 import PythonExplorer
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.passes.fold import fold

_numbers = count()


@contextmanager
def imported(text: str, folder: Path) -> Iterator[ModuleType]:
    """The text as a module, from a file, as the front end reads files."""
    name = f"random_model_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]
        path.unlink()


def system_of(module: ModuleType, **sets: object) -> System:
    """The system that the model of the module is under its defaults."""
    return build(module.model, choose(module.model, sets=sets))


@dataclass(frozen=True)
class Searched:
    """A finished search of a compiled tier."""

    explorer: Explorer
    lowered: Lowered
    states: list[State]


def search(
    system: System, tier: type[PythonExplorer] | type[CExplorer], limit: int | None = None, *, unpacked: bool = True
) -> Searched | None:
    """Fold, lower and explore; None beyond the limit.  Raises Fault where an init function does."""
    folded = fold(system)
    lowered = lower(folded, folded.claims)
    explorer = tier(lowered.program)
    explorer.start([lowered.layout.pack(state) for state in Machine(folded).initial()])
    while explorer.frontier():
        if limit is not None and explorer.states() > limit:
            return None
        explorer.advance(1000)
    count = explorer.states() if unpacked else 0
    states = [lowered.layout.unpack(explorer.packed(at)) for at in range(count)]
    return Searched(explorer, lowered, states)


def tiers() -> list[type[PythonExplorer] | type[CExplorer]]:
    """The compiled tiers that work here."""
    try:
        from kvproto.engine.program import Leaf, Program

        CExplorer(Program(1, (Leaf(0, 0, 1),), (), (), None, 0)).close()
    except EngineUnavailable:
        return [PythonExplorer]
    return [PythonExplorer, CExplorer]


Report = dict[str, object]
"""What a search says, in a form that can be compared."""


def reported(searched: Searched) -> Report:
    """What a compiled tier found."""
    explorer, lowered = searched.explorer, searched.lowered
    instances = [(action.name, args) for action, args in lowered.instances]
    violated: dict[str, object] = {}
    for number, claim in enumerate(lowered.invariants):
        state = explorer.violation(number)
        if state is not None:
            violated[claim.name] = (state, None, path_of(searched, state))
    deadlock = explorer.deadlock()
    if deadlock is not None and lowered.deadlock is not None:
        violated[lowered.deadlock.name] = (deadlock, None, path_of(searched, deadlock))
    for hit in explorer.faults():
        claim_name = lowered.faults[hit.fault].claim
        if claim_name:
            violated[claim_name] = (hit.state, instances[hit.action], path_of(searched, hit.state))
    fired = {step: times for step, times in zip(instances, explorer.fired(), strict=True) if times}
    return {
        "states": searched.states,
        "transitions": explorer.transitions(),
        "depth": explorer.depth() if searched.states else 0,
        "fired": fired,
        "violated": violated,
        "violating": explorer.violating_states(),
    }


def path_of(searched: Searched, state: int) -> list[Step]:
    """Steps to a state."""
    _, numbers = searched.explorer.path(state)
    return [(searched.lowered.instances[n][0].name, searched.lowered.instances[n][1]) for n in numbers]


def expected(found: Explored) -> Report:
    """What the reference checker found, in the same form."""
    number = {state: at for at, state in enumerate(found.order)}
    return {
        "states": found.order,
        "transitions": found.transitions,
        "depth": found.depth,
        "fired": found.fired,
        "violated": {n: (number[s], step, found.path(s)) for n, (s, step) in found.violated.items()},
        "violating": found.violating,
    }


def agree(system: System, found: Explored, searched: Searched) -> None:
    """Assert that a compiled tier says what the reference says."""
    mistakes = [h for h in searched.explorer.faults() if not searched.lowered.faults[h.fault].claim]
    if found.error is None:
        assert not mistakes, f"fault {[(h, searched.lowered.faults[h.fault]) for h in mistakes]} is none"
        said, meant = reported(searched), expected(found)
        for part, value in meant.items():
            assert said[part] == value, f"{searched.explorer.tier}: {part}: {said[part]} instead of {value}"
        return
    _, _, node, message, code = found.error
    assert searched.states[: len(found.order)] == found.order
    assert mistakes, f"missed {message} ({code}) at {node.loc}"
    first = earliest(system, searched, mistakes)
    assert (code, node.loc) in first, f"{code} {message} at {node.loc} came first, not {first}"


def earliest(system: System, searched: Searched, hits: list[FaultHit]) -> set[tuple[str, Loc]]:
    """The errors that were met first; several only where several claims fault on one state."""
    timed = [(_moment(system, searched, hit), hit) for hit in hits]
    first = min(moment for moment, _ in timed)
    infos = [searched.lowered.faults[hit.fault] for moment, hit in timed if moment == first]
    return {(info.code, info.loc) for info in infos}


def _moment(system: System, searched: Searched, hit: FaultHit) -> tuple[int, float, int]:
    """When a fault was met: the state being expanded, the action, and whether a claim of the successor did it."""
    if hit.action >= 0:
        return hit.state, hit.action, 0
    machine, state = Machine(system), searched.states[hit.state]
    try:
        for claim in system.claims:
            if claim.kind == "invariant" and claim.cond is not None:
                machine.holds(claim.cond, state)
    except Fault:
        root, path = searched.explorer.path(hit.state)
        if not path:
            return -1, root, 1
        parent = next(
            at
            for at in range(hit.state)
            if searched.explorer.path(at) == (root, path[:-1]) and _leads(machine, searched, at, path[-1], state)
        )
        return parent, path[-1], 1
    return hit.state, float("inf"), 1


def _leads(machine: Machine, searched: Searched, at: int, instance: int, state: State) -> bool:
    action, args = searched.lowered.instances[instance]
    return machine.step(action.params, action.body, searched.states[at], args) == state


def reference(system: System) -> Explored:
    """The oracle, on the system as the front end made it."""
    return explore(system)
