"""Smaller than shortest: of all runs that break a claim, one that is easy to read.

The order is that of `sort_key`: fewest steps; then the smallest world (sizes of sorts, numbers of the scope); then the
fewest changes of machine; then the text of the run.  Every run that comes out is confirmed by the reference evaluator
when its trace is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from kvproto.engine.evaluate import Args
from kvproto.engine.outcome import Counterexample
from kvproto.engine.starting import call
from kvproto.ir.nodes import LIVENESS, Action, System
from kvproto.lang.bind import Chosen
from kvproto.lang.frontend.variants import Variants
from kvproto.lang.model import Model
from kvproto.trace.build import build_trace
from kvproto.trace.trace import Trace
from kvproto.whatif.budget import Budget, NotKnownError, Purse
from kvproto.whatif.least import least_run
from kvproto.whatif.needless import needless
from kvproto.whatif.orders import best_order
from kvproto.whatif.runs import Walker, walk_of
from kvproto.whatif.shorten import shorten
from kvproto.whatif.worlds import World, Worlds, lowered, sizes

MINIMISING = Budget(states=300_000, memory=2 << 30)
"""What each of the searches may cost; without a limit of time, so that the result is the same everywhere."""


Order = Literal["runs", "orders", ""]


@dataclass(frozen=True, slots=True, order=True)
class SortKey:
    """What makes one run smaller than another, most important first."""

    steps: int
    world: tuple[int, ...]
    changes: int
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Minimised:
    """The smaller run in its world, and what is smaller about it.

    `order` says among which runs no other changes machine less often: all shortest runs of this world ("runs"), the
    orders of these very steps ("orders"), or the few that were tried ("").  `undecided` are worlds that were too large
    to search, with the reason.
    """

    world: World
    before: SortKey
    after: SortKey
    gains: tuple[str, ...]
    needless: tuple[str, ...]
    order: Order
    undecided: dict[str, str] = field(default_factory=dict)

    def words(self) -> tuple[str, ...]:
        """All that as sentences, for a trace."""
        return tuple(_sentences(self))


def sort_key(model: Model, chosen: Chosen, found: Counterexample) -> SortKey:
    """The key of a run: the smaller, the better."""
    world = tuple(sizes(model, chosen).values())
    return SortKey(len(found.steps), world, changes(found.steps), text_of(found.steps))


def changes(steps: tuple[tuple[Action, Args], ...]) -> int:
    """How often the next step is that of another machine."""
    return sum(one.machine != other.machine for (one, _), (other, _) in pairwise(steps))


def text_of(steps: tuple[tuple[Action, Args], ...]) -> tuple[str, ...]:
    """The steps as text."""
    return tuple(call(action, args) for action, args in steps)


def minimise(model: Model, world: World, budget: Budget | None = None) -> Minimised | None:
    """A smaller run for a violated claim about states or steps; None for a claim about runs, or for a witness.

    The run of `world` may be any that breaks the claim.
    """
    if world.found.loop is not None or world.found.claim.kind in (*LIVENESS, "sometimes"):
        return None
    purse = Purse(budget or MINIMISING)
    worlds = Worlds(model, purse)
    smaller = worlds.smallest(World(world.chosen, world.system, shortened(world.system, world.found)))
    found, order = _least(smaller, purse)
    after = World(smaller.chosen, smaller.system, found)
    keys = sort_key(model, world.chosen, world.found), sort_key(model, after.chosen, found)
    gains = tuple(_gains(model, world, after, *keys))
    off = needless(Variants(model), after.chosen, found)
    return Minimised(after, *keys, gains, off, order, dict(worlds.undecided))


def minimise_trace(
    model: Model, chosen: Chosen, system: System, trace: Trace, budget: Budget | None = None
) -> Minimised | None:
    """The same for a trace of the system, which need not be a shortest one.  Raises NoSuchRunError."""
    claim = system.claim(trace.property)
    if trace.loop is not None or claim.kind in (*LIVENESS, "sometimes"):
        return None
    return minimise(model, World(chosen, system, walk_of(system, trace).found(claim)), budget)


def shortened(system: System, found: Counterexample) -> Counterexample:
    """The run without the steps that it can do without."""
    walk = shorten(Walker(system, found.claim), found.init, found.steps)
    return found if walk is None else walk.found(found.claim)


def _least(world: World, purse: Purse) -> tuple[Counterexample, Order]:
    """The least shortest run of the world; where there are too many states, the given one in a better order."""
    try:
        least = least_run(world.system, world.found.claim, len(world.found.steps), purse)
    except NotKnownError:
        found, exact = reordered(world.system, world.found)
        return found, "orders" if exact else ""
    assert least is not None, "the given run breaks the claim with no more steps"
    return least, "runs"


def reordered(system: System, found: Counterexample) -> tuple[Counterexample, bool]:
    """The steps of the run in an order with few changes of machine, and whether no order has fewer."""
    texts = text_of(found.steps)
    order = best_order(build_trace(system, found).steps, texts)
    steps = tuple(found.steps[number] for number in order.steps)
    if (changes(steps), text_of(steps)) >= (changes(found.steps), texts):
        return found, order.exact
    walk = Walker(system, found.claim).walk(found.init, steps)
    # A constraint may stand in the way of an order: it is asked of states between the steps.
    return (found, False) if walk is None else (walk.found(found.claim), order.exact)


def _gains(model: Model, before: World, after: World, old: SortKey, new: SortKey) -> Iterator[str]:
    if new.steps < old.steps:
        yield f"steps {old.steps} -> {new.steps}"
    for name, then, now in lowered(model, before.chosen, after.chosen):
        yield f"{name} {then} -> {now}"
    if new.changes < old.changes:
        yield f"changes of machine {old.changes} -> {new.changes}"


def _sentences(found: Minimised) -> Iterator[str]:
    if found.gains:
        yield f"Made smaller than the run that the search came upon: {', '.join(found.gains)}."
    if found.order:
        others = "runs of this length in this world" if found.order == "runs" else "orders of these steps"
        yield f"Of all {others}, none changes machine less often."
    if found.needless:
        switches = "switch is" if len(found.needless) == 1 else "switches are"
        yield f"For these steps the following {switches} not needed: {', '.join(found.needless)}."
    if found.undecided:
        yield f"Not decided, for lack of room: {', '.join(found.undecided)}."
