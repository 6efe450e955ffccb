"""Which reductions a search uses, why not others, and what they mean for the runs that it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvproto.engine.evaluate import Args, State
from kvproto.engine.layout import Layout
from kvproto.engine.outcome import Options
from kvproto.ir.nodes import LIVENESS, Action, Claim, Expr, System
from kvproto.passes.symmetry import Asymmetry, strict, strict_condition, symmetries

if TYPE_CHECKING:
    from kvproto.engine.explorer import Explorer, FaultHit
    from kvproto.engine.lower import Lowered
    from kvproto.engine.por import Relations
    from kvproto.engine.symmetry import Canonical, Failure


@dataclass(frozen=True, slots=True)
class Symmetry:
    """The symmetry reduction of one search; `canonical` is None where there is nothing to reduce.

    `asymmetries` say what forbids the other sorts, `note` why there is no reduction at all.
    """

    canonical: Canonical | None = None
    sorts: tuple[str, ...] = ()
    asymmetries: tuple[Asymmetry, ...] = ()
    note: str = ""


NO_SYMMETRY = Symmetry()


def choose_symmetry(
    system: System,
    folded: System,
    layout: Layout,
    claims: Sequence[Claim],
    options: Options,
    initial: Sequence[int],
) -> Symmetry:
    """The sorts whose elements a search of these claims need not tell apart; `initial` states are packed."""
    if options.symmetry is False:
        return NO_SYMMETRY
    on_states = tuple(folded.claim(claim.name) for claim in claims if claim.kind not in LIVENESS)
    sorts, broken = symmetries(folded, on_states)
    if sorts and len(on_states) < len(claims):
        return Symmetry(note="off, because claims about runs are judged on all states")
    if not sorts:
        return Symmetry(asymmetries=broken, note=_reasons(broken, options))
    from kvproto.engine.symmetry import Canonical, closed
    from kvproto.engine.symmetry import plan as tables

    kept, more = closed(system, layout, sorts, initial)
    canonical = Canonical(tables(system.state, layout, kept)) if kept else None
    if canonical is not None and not canonical.plan.groups:
        canonical = None  # the state mentions none of them
    names = tuple(sort.name for sort in kept) if canonical else ()
    return Symmetry(canonical, names, (*broken, *more), _reasons((*broken, *more), options))


def _reasons(asymmetries: Sequence[Asymmetry], options: Options) -> str:
    """What to tell those who asked for symmetry: for each sort that has none, the first line that forbids it."""
    first: dict[str, Asymmetry] = {}
    for asymmetry in asymmetries:
        first.setdefault(asymmetry.sort, asymmetry)
    return "; ".join(map(str, first.values())) if options.symmetry else ""


@dataclass(frozen=True, slots=True)
class PartialOrder:
    """The partial-order reduction of one search; `relations` is None where there is none, `note` says why."""

    relations: Relations | None = None
    note: str = ""


NO_PARTIAL_ORDER = PartialOrder()


def choose_partial_order(lowered: Lowered, claims: Sequence[Claim], options: Options) -> PartialOrder:
    """The partial-order reduction, if it was asked for and these claims allow it."""
    if not options.por:
        return NO_PARTIAL_ORDER
    if any(claim.kind in LIVENESS for claim in claims):
        return PartialOrder(note="off, because claims about runs are judged on all states")
    if options.fingerprints and lowered.program.words > 2 and options.spill is None:
        return PartialOrder(note="off, because fingerprints do not tell which states are still to be expanded")
    from kvproto.engine.por import TooLargeError, reduction

    try:
        relations = reduction(lowered)
    except TooLargeError as problem:
        return PartialOrder(note=f"off, because this model is too large for it: {problem}")
    alone = ", and there is one worker" if options.workers > 1 else ""
    return PartialOrder(relations, f"counterexamples and witnesses need not be shortest ones{alone}")


def reduced(folded: System, symmetry: Symmetry) -> System:
    """The system that a search of representatives runs: see `kvproto.passes.symmetry.strict`."""
    if symmetry.canonical is None:
        return folded
    return strict(folded, tuple(group.sort for group in symmetry.canonical.plan.groups))


def reduced_condition(cond: Expr, symmetry: Symmetry) -> Expr:
    """A condition on single states as such a search asks it."""
    if symmetry.canonical is None:
        return cond
    return strict_condition(cond, tuple(group.sort for group in symmetry.canonical.plan.groups))


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of the system for states that an explorer has found: where it keeps representatives, in real names."""

    system: System
    lowered: Lowered
    explorer: Explorer
    symmetry: Symmetry
    initial: Sequence[int]

    def to(self, state: int, failing: int = -1) -> tuple[State, tuple[tuple[Action, Args], ...]]:
        """A shortest run to a state; with `failing`, that action instance comes last and fails an assertion."""
        start, path = self.explorer.path(state)
        if self.symmetry.canonical is None:
            steps = [self._instance(i) for i in [*path, *([failing] if failing >= 0 else [])]]
            return self._unpacked(start), tuple(steps)
        info = None
        if failing >= 0:
            hits = [h for h in self.explorer.faults() if (h.state, h.action) == (state, failing)]
            info = self._failure(next(h for h in hits if self.lowered.faults[h.fault].claim), ())
        return self._real(start, path, info)

    def to_error(self, hit: FaultHit, claims: Sequence[Claim]) -> tuple[State, tuple[tuple[Action, Args], ...]]:
        """A shortest run that meets an error of the model: in its last step, or while `claims` are evaluated."""
        start, path = self.explorer.path(hit.state)
        if self.symmetry.canonical is None:
            steps = [self._instance(i) for i in [*path, *([hit.action] if hit.action >= 0 else [])]]
            return self._unpacked(start), tuple(steps)
        return self._real(start, path, self._failure(hit, claims))

    def _failure(self, hit: FaultHit, claims: Sequence[Claim]) -> Failure:
        from kvproto.engine.symmetry import Failure

        return Failure(self.lowered.faults[hit.fault], hit.action >= 0, tuple(claims))

    def _real(
        self, start: int, path: Sequence[int], failing: Failure | None
    ) -> tuple[State, tuple[tuple[Action, Args], ...]]:
        from kvproto.engine.symmetry import canonical_path, concretize

        canonical = self.symmetry.canonical
        assert canonical is not None
        first = self.explorer.packed(start)
        representatives = canonical_path(self.system, self.lowered, canonical, first, path)
        run = concretize(self.system, self.lowered, canonical, representatives, self.initial, failing)
        return run.init, run.steps

    def _instance(self, number: int) -> tuple[Action, Args]:
        return self.lowered.instances[number]

    def _unpacked(self, number: int) -> State:
        return self.lowered.layout.unpack(self.explorer.packed(number))
