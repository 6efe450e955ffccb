"""All states against representatives: same verdicts, same lengths, one representative an orbit, real runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations, product
from random import Random

import pytest
from canonical_cases import random_state
from hypothesis import HealthCheck, event, given, reject, settings
from hypothesis import strategies as st
from kvproto.shipped.models import kv_transfer
from random_models import models
from reduced import Search, check_run, compare, search_all, search_reduced, symmetric_sorts
from searching import imported, system_of
from symmetric_models import write

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.symmetry import Plan
from kvproto.engine.symmetry.concrete import NotConcrete
from kvproto.engine.symmetry.renaming import Renaming, renamed_args
from kvproto.ir.nodes import Action, Expr, System
from kvproto.ir.types import SortT
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.passes import run
from kvproto.passes.symmetry import strict, symmetries

LIMIT = 2000
"""Models with more states are left alone."""

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)


@st.composite
def symmetric(draw: st.DrawFn) -> str:
    """A random model that treats most elements alike."""
    return write(lambda low, high: draw(st.integers(low, high)))


# --- the rules -----------------------------------------------------------------------------------------------


def same_in_every_name(system: System, sorts: Sequence[SortT], draw: Random, times: int) -> None:
    """Assert that renaming commutes with every step and every claim, in any state, reachable or not."""
    tight = strict(system, tuple(sorts))
    machine = Machine(tight)
    for _ in range(times):
        state = random_state(system.state, draw)
        order = {sort.name: draw.sample(range(sort.size), sort.size) for sort in sorts}
        renaming = Renaming(system.state, order)
        other = renaming.of(state)
        for action in tight.actions:
            for args in choices(action.params):
                there = renamed_args(action.params, args, order)
                one = _step(machine, action, args, state)
                if isinstance(one, tuple):
                    one = renaming.of(one)
                what = f"{action.name}{args} of {state}, renamed by {order}"
                assert one == _step(machine, action, there, other), what
        for cond in (claim.cond for claim in tight.claims):
            if cond is not None:
                assert _holds(machine, cond, state) == _holds(machine, cond, other), f"{cond.loc}: {state}, {order}"


def _step(machine: Machine, action: Action, args: Args, state: State) -> State | str | None:
    try:
        return machine.step(action.params, action.body, state, args)
    except Fault as fault:
        return fault.claim or "error"


def _holds(machine: Machine, cond: Expr, state: State) -> bool | None:
    try:
        return machine.holds(cond, state)
    except Fault:
        return None


@relaxed
@given(st.one_of(symmetric(), symmetric(), models()), st.integers(0, 1 << 32))
def test_rules_are_sound(tmp_path_factory: pytest.TempPathFactory, text: str, seed: int) -> None:
    """What the check accepts is symmetric."""
    with imported(text, tmp_path_factory.getbasetemp()) as module:
        try:
            system = run(system_of(module))
        except KvError:
            reject()
    sorts = symmetries(system, system.claims)[0]
    event(f"{len(sorts)} symmetric sorts")
    if sorts:
        same_in_every_name(system, sorts, Random(seed), 10)


# --- searches ------------------------------------------------------------------------------------------------


@relaxed
@given(symmetric())
def test_searches_agree(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Verdicts, shortest lengths, the number of orbits, and runs that the oracle confirms."""
    with imported(text, tmp_path_factory.getbasetemp()) as module:
        try:
            system = run(system_of(module))
            sorts = symmetric_sorts(system, system.claims)
            everything = search_all(system, LIMIT) if sorts else None
        except (KvError, Fault):
            reject()
    if everything is None:
        reject()
    some = search_reduced(system, sorts, LIMIT)
    assert some is not None
    compare(everything, some)
    event("errors" if everything.errors() else "violations" if everything.violations() else "all well")
    if not everything.errors():
        assert some.explorer.states() == orbits(everything, sorts)


def orbits(everything: Search, sorts: Sequence[SortT]) -> int:
    """Number of orbits among the states of a search, by trying all permutations."""
    layout, state = everything.lowered.layout, everything.system.state
    orders = product(*(list(permutations(range(sort.size))) for sort in sorts))
    names = [sort.name for sort in sorts]
    renamings = [Renaming(state, dict(zip(names, order, strict=True))) for order in orders]
    states = [layout.unpack(everything.explorer.packed(at)) for at in range(everything.explorer.states())]
    return len({min(layout.pack(renaming.of(s)) for renaming in renamings) for s in states})


# --- the benchmark -------------------------------------------------------------------------------------------


def benchmark(preset: str, scope: str, **sets: object) -> System:
    """The protocol at a size, folded."""
    return run(build(kv_transfer.model, choose(kv_transfer.model, preset=preset, scope=scope, sets=sets)))


def small_benchmark(preset: str) -> System:
    """The protocol with three requests that compete for two pages."""
    return benchmark(preset, "S", Page=2, pages_per_request=1)


@pytest.mark.parametrize(("scope", "count", "levels"), [("S", 4284, 25), ("M", 7885, 37), ("L", 15636, 46)])
def test_benchmark(scope: str, count: int, levels: int) -> None:
    """The counts that Murphi and TLC find with their symmetry reductions."""
    system = benchmark("safe", scope)
    some = search_reduced(system, symmetric_sorts(system, system.claims), 1 << 20)
    assert some is not None

    assert (some.explorer.states(), some.explorer.level()) == (count, levels)
    assert not some.violations() and not some.errors()


def test_vulnerable_benchmark() -> None:
    """The same shortest counterexamples, in real names."""
    system = benchmark("vulnerable", "S")
    some = search_reduced(system, symmetric_sorts(system, system.claims), 1 << 20)
    assert some is not None

    lengths = {}
    for name, hit in some.violations().items():
        real = some.run(hit)
        check_run(system, real, name, some.initial, fails=False)
        lengths[name] = len(real.steps)
    assert lengths == {"no_stray": 6, "own_data": 12}


@pytest.mark.parametrize("preset", ["safe", "vulnerable"])
def test_small_benchmark(preset: str) -> None:
    """Against all states."""
    system = small_benchmark(preset)
    everything, sorts = search_all(system, 1 << 20), symmetric_sorts(system, system.claims)
    some = search_reduced(system, sorts, 1 << 20)
    assert everything is not None and some is not None

    _agree(everything, some, sorts)
    assert len(some.violations()) == (2 if preset == "vulnerable" else 0)


# --- what these tests would catch ----------------------------------------------------------------------------


def keep_values(tables: Plan) -> Plan:
    """Moves what is indexed by elements, and forgets that elements are also values."""
    return replace(tables, groups=tuple(replace(group, mentions=()) for group in tables.groups))


def keep_places(tables: Plan) -> Plan:
    """Renames values, and leaves what is indexed by elements where it is."""
    return replace(tables, groups=tuple(replace(group, columns=()) for group in tables.groups))


def shift_values(tables: Plan) -> Plan:
    """Takes None for an element."""
    groups = []
    for group in tables.groups:
        groups.append(replace(group, mentions=tuple(replace(m, offset=0) for m in group.mentions)))
    return replace(tables, groups=tuple(groups))


@pytest.mark.parametrize("broken", [keep_values, keep_places, shift_values])
@pytest.mark.parametrize("preset", ["safe", "vulnerable"])
def test_broken_reductions_are_caught(broken: Callable[[Plan], Plan], preset: str) -> None:
    """Tables that are wrong in one place."""
    system = small_benchmark(preset)
    everything, sorts = search_all(system, 1 << 20), symmetric_sorts(system, system.claims)
    assert everything is not None

    with pytest.raises((AssertionError, NotConcrete, IndexError)):
        _agree(everything, search_reduced(system, sorts, everything.explorer.states(), broken), sorts)


def test_forced_symmetry_is_caught() -> None:
    """A sort that is not symmetric: pages, which are given out by number."""
    system = benchmark("safe", "S")
    page = next(p.type for a in system.actions for p in a.params if isinstance(p.type, SortT) and p.type.name == "Page")

    with pytest.raises(AssertionError):
        same_in_every_name(system, [page], Random(1), 50)


def _agree(everything: Search, some: Search | None, sorts: Sequence[SortT]) -> None:
    assert some is not None, "more representatives than states"
    compare(everything, some)
    assert some.explorer.states() == orbits(everything, sorts)
