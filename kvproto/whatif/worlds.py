"""Smaller worlds with a violation of the same claim that takes no more steps: fewer requests, fewer pages, ...

Sizes of sorts are lowered in the order in which the model's state mentions the sorts, then the numbers that scopes
set; each to the least value with such a run, found by a complete search from below.  That is done again until nothing
gets smaller, since one size may hold up another.  A number is never set to 0, which may stand for "no limit".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Counterexample, Options
from kvproto.engine.search import DECIDED, search
from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen, sorts_of
from kvproto.lang.binding import Binding, Number
from kvproto.lang.frontend.build import build
from kvproto.lang.model import Model
from kvproto.whatif.budget import NotKnownError, Purse


@dataclass(frozen=True, slots=True)
class World:
    """A system under one binding, with a run of it that breaks the claim."""

    chosen: Chosen
    system: System
    found: Counterexample


@dataclass
class Worlds:
    """Looks for smaller worlds of one model.  `undecided` are those that the budget was too small for."""

    model: Model
    purse: Purse
    undecided: dict[str, str] = field(default_factory=dict)
    tried: dict[tuple[tuple[str, object], ...], Counterexample | None] = field(default_factory=dict)

    def smallest(self, world: World) -> World:
        """The world with everything lowered as far as it goes."""
        while True:
            before = world
            for name in sizes(self.model, world.chosen):
                world = self._lowered(world, name)
            if world is before or len(sizes(self.model, world.chosen)) == 1:
                return world

    def _lowered(self, world: World, name: str) -> World:
        """The world with the least value of one size that has such a run, everything else as it is."""
        for value in range(self._least(name), sizes(self.model, world.chosen)[name]):
            smaller = self._try(world, name, value)
            if smaller is not None:
                return smaller
        return world

    def _least(self, name: str) -> int:
        parameter = self.model.params.parameters().get(name) if self.model.params else None
        return max(1, parameter.least) if isinstance(parameter, Number) else 1

    def _try(self, world: World, name: str, value: int) -> World | None:
        chosen = with_size(world.chosen, name, value)
        key = tuple(sorted([*chosen.binding.sizes.items(), *chosen.binding.values.items()], key=lambda item: item[0]))
        system = None
        if key not in self.tried:
            try:
                system = build(self.model, chosen)
                self.tried[key] = self._search(system, world.found)
            except KvError:
                self.tried[key] = None  # the model makes no sense in this world
            except NotKnownError as problem:
                self.tried[key] = None
                self.undecided.setdefault(f"{name} = {value}", str(problem))
        found = self.tried[key]
        if found is None or len(found.steps) > len(world.found.steps):
            return None
        return World(chosen, system or build(self.model, chosen), found)

    def _search(self, system: System, known: Counterexample) -> Counterexample | None:
        """A shortest run that breaks the claim with no more steps than the known one; None if there is none."""
        self.purse.look(0)
        limit = self.purse.budget.seconds
        options = Options(
            properties=(known.claim.name,),
            max_depth=len(known.steps) + 1,
            max_states=self.purse.budget.states,
            memory_limit=self.purse.budget.memory,
            time_limit=None if limit is None else max(0.01, limit - self.purse.clock.seconds()),
        )
        result = search(system, options)
        found = result.findings[0].counterexample
        if found is None and result.stopped not in ("", "depth limit", DECIDED):
            raise NotKnownError(result.stopped)
        return found


def sizes(model: Model, chosen: Chosen) -> dict[str, int]:
    """What makes a world large, in the order in which it is lowered."""
    parameters = model.params.parameters() if model.params else {}
    scoped = {name for scope in model.scopes for name in scope.values}
    numbers = [name for name, p in parameters.items() if isinstance(p, Number) and name in scoped]
    found = {name: chosen.binding.sizes[name] for name in sorts_of(model)}
    return found | {name: int(chosen.binding.values[name]) for name in numbers}


def with_size(chosen: Chosen, name: str, value: int) -> Chosen:
    """The binding with another size."""
    binding = chosen.binding
    if name in binding.sizes:
        return replace(chosen, binding=Binding({**binding.sizes, name: value}, binding.values))
    return replace(chosen, binding=Binding(binding.sizes, {**binding.values, name: value}))


def lowered(model: Model, before: Chosen, after: Chosen) -> Iterator[tuple[str, int, int]]:
    """What has become smaller: name, old and new value."""
    then = sizes(model, before)
    for name, now in sizes(model, after).items():
        if now < then[name]:
            yield name, then[name], now
