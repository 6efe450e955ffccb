"""Small worlds of a model as finite structures: of which clauses are mined, and on which the lowering is tested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.engine.beginning import beginning
from kvproto.engine.evaluate import State
from kvproto.engine.layout import plan
from kvproto.engine.lower import lower as lower_for_engine
from kvproto.engine.outcome import Options
from kvproto.engine.reduction import NO_PARTIAL_ORDER, choose_symmetry, reduced
from kvproto.engine.tiers import choose_tier
from kvproto.ir.nodes import System
from kvproto.ir.types import ArrayT, OptT, Path, RecordT, SortT, Type, Value, leaves
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.frontend.build import build
from kvproto.passes import run as run_passes
from kvproto.prove.logic.formula import INT
from kvproto.prove.logic.theory import Structure
from kvproto.prove.lowering.state import HOLE, Key, Leaf
from kvproto.prove.lowering.system import Lowered

STATES = 12_000
"""States that all small worlds of a model give together."""

PIECE = 500
"""States expanded between two looks at how many there are."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A small world: its scope, the numbers that are not as in the scope, and its system."""

    scope: str
    sets: Mapping[str, int]
    chosen: Chosen
    system: System


class Reader:
    """Reads states of one system as structures of a theory."""

    def __init__(self, lowered: Lowered, system: System) -> None:
        theory = lowered.theory
        self.sizes = {sort: int(system.parameters[sort]) for sort in theory.sorts}
        self.names = [symbol.name for symbol in theory.state if symbol.result != INT]
        self.integers = [symbol.name for symbol in theory.state if symbol.result == INT]
        self.cells = [_cell(lowered, system.state, path) for path, _ in leaves(system.state)]
        self.rigid_numbers: dict[str, dict[tuple[int, ...], int]] = {
            symbol.name: {(): int(system.parameters[symbol.spelled])} for symbol in lowered.source.numbers.values()
        }
        self.rigid_orders = {
            symbol.name: frozenset(
                (one, other) for other in range(self.sizes[symbol.args[0]]) for one in range(other)
            )
            for symbol in theory.rigid
            if symbol.result != INT
        }

    def structure(self, state: State) -> Structure:
        """The state as relations and integer functions."""
        relations: dict[str, set[tuple[int, ...]]] = {name: set() for name in self.names}
        integers: dict[str, dict[tuple[int, ...], int]] = {name: {} for name in self.integers}
        for (leaf, args), value in zip(self.cells, state, strict=True):
            _enter(leaf, args, value, relations, integers)
        found = {name: frozenset(cells) for name, cells in relations.items()}
        return Structure(self.sizes, {**found, **self.rigid_orders}, {**integers, **self.rigid_numbers})


def _enter(
    leaf: Leaf,
    args: tuple[int, ...],
    value: Value,
    relations: dict[str, set[tuple[int, ...]]],
    integers: dict[str, dict[tuple[int, ...], int]],
) -> None:
    match leaf.kind:
        case "bool":
            if value:
                relations[leaf.symbol.name].add(args)
        case "finite":
            if value is not None:
                relations[leaf.symbols[value].name].add(args)
        case "sort":
            if isinstance(value, int):
                relations[leaf.symbol.name].add((*args, value))
        case "set":
            assert isinstance(value, frozenset)
            relations[leaf.symbol.name].update((*args, int(item)) for item in value)
        case "members":
            assert isinstance(value, frozenset)
            for item in value:
                relations[leaf.symbols[item].name].add(args)
        case "int":
            integers[leaf.symbol.name][args] = value if isinstance(value, int) else 0
            if leaf.optional and value is not None:
                relations[leaf.symbols[None].name].add(args)


def _cell(lowered: Lowered, state: RecordT, path: Path) -> tuple[Leaf, tuple[int, ...]]:
    """The leaf of a path, and the elements that index it."""
    key: Key = ()
    args: tuple[int, ...] = ()
    kind: Type = state
    for part in path:
        if isinstance(kind, RecordT):
            key, kind = (*key, part), dict(kind.fields)[str(part)]
            continue
        assert isinstance(kind, ArrayT)
        index = kind.index.inner if isinstance(kind.index, OptT) else kind.index
        if isinstance(index, SortT) and part is not None:
            assert isinstance(part, int)
            key, args = (*key, HOLE), (*args, part)
        else:
            key = (*key, part)
        kind = kind.element
    return lowered.layout.leaves[key], args


def instances(
    lowered: Lowered, chosen: Chosen, *, scope: str | None = None, sets: Mapping[str, str] | None = None
) -> Iterator[Instance]:
    """Small worlds of the model under its switches: its scopes, and each with one symbolic number changed.

    `sets` are settings that hold in all of them.  Worlds in which nothing can start are left out.
    """
    model = lowered.source.model
    symbolic = {symbol.spelled for symbol in lowered.source.numbers.values()}
    names: Sequence[str | None] = [scope] if scope else [s.name for s in model.scopes] or [None]
    switches = {k: v for k, v in chosen.binding.values.items() if k not in symbolic}
    for name in names:
        usual = choose(model, preset=chosen.preset or None, scope=name, sets=sets)
        numbers = sorted((k, int(usual.binding.values[k])) for k in symbolic)
        for change in ({}, *({k: v + 1} for k, v in numbers)):
            made = _made(lowered, usual, {**switches, **(sets or {}), **change})
            if made is not None:
                yield Instance(usual.scope, change, *made)


def with_numbers(lowered: Lowered, chosen: Chosen, numbers: Mapping[str, int]) -> Instance | None:
    """The small world with these sizes and numbers, if it can be read and can start."""
    made = _made(lowered, chosen, {**chosen.binding.values, **numbers})
    shown = {name: value for name, value in numbers.items() if name not in chosen.binding.sizes}
    return None if made is None else Instance(chosen.scope, shown, *made)


def _made(lowered: Lowered, usual: Chosen, sets: Mapping[str, Any]) -> tuple[Chosen, System] | None:
    """The model with these settings, if it can be read and can start."""
    model = lowered.source.model
    try:
        chosen = choose(model, preset=usual.preset or None, scope=usual.scope or None, sets=sets)
        system = build(model, chosen)
        beginning(system, run_passes(system), plan(system.state), lambda: False)
    except KvError as problem:
        if problem.diagnostic.code.startswith("KV2"):
            raise  # the model goes wrong, which is for its author to know
        return None
    return chosen, system


def seeds(lowered: Lowered, worlds: Sequence[Instance], *, most: int = STATES) -> list[Structure]:
    """Reachable states of the small worlds as structures, each world with a fair part of `most`."""
    found: list[Structure] = []
    for at, world in enumerate(worlds):
        part = (most - len(found)) // (len(worlds) - at)
        reader = Reader(lowered, world.system)
        found += [reader.structure(state) for state in reachable(world.system, part)]
    return found


def reachable(system: System, most: int) -> list[State]:
    """Reachable states in order of discovery, of several that differ in names one; none where nothing can start."""
    folded = run_passes(system)
    layout = plan(system.state)
    try:
        start = beginning(system, folded, layout, lambda: False)
    except KvError:
        return []
    symmetry = choose_symmetry(system, folded, layout, (), Options(), start.states)
    lowered = lower_for_engine(reduced(folded, symmetry), (), [])
    explorer = choose_tier(reduced(system, symmetry), lowered, Options(), symmetry, NO_PARTIAL_ORDER).explorer
    try:
        explorer.start(start.states)
        while explorer.frontier() and explorer.states() < most:
            explorer.advance(PIECE)
        return [layout.unpack(explorer.packed(at)) for at in range(min(explorer.states(), most))]
    finally:
        explorer.close()
