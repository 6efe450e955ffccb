"""The search driver: budgets, progress, early stop, and what the result means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.engine import coverage
from kvproto.engine.beginning import Beginning, beginning
from kvproto.engine.clock import Clock
from kvproto.engine.interrupt import polite_interrupt
from kvproto.engine.layout import plan
from kvproto.engine.lower import Lowered, lower
from kvproto.engine.model_errors import ModelErrors
from kvproto.engine.outcome import Counterexample, Detail, Finding, Options, Progress, Result
from kvproto.engine.reduction import (
    PartialOrder,
    Runs,
    choose_partial_order,
    choose_symmetry,
    reduced,
    reduced_condition,
)
from kvproto.engine.tiers import Chosen, choose_tier, no_room
from kvproto.ir.nodes import LIVENESS, Claim, Expr, System
from kvproto.passes import run as run_passes

if TYPE_CHECKING:
    from kvproto.engine.keeper import Keeper
    from kvproto.engine.liveness import LivenessFinding

__all__ = ["Options", "Progress", "Result", "search", "select"]

FIRST_PIECE, LARGEST_PIECE = 16, 1 << 16
"""States expanded between two looks at the clock; the number follows the speed of the search."""

DECIDED = "every selected property is violated"
"""Why a search stops that has nothing left to find out."""

WORTH_KEEPING_S = 5.0
"""A search that has lasted so long leaves a journal when it is interrupted, if nobody asked for one."""

BRISK_S, SLOW_S = 0.02, 0.1
"""A piece that took less is doubled, one that took more is halved."""


def select(system: System, names: tuple[str, ...]) -> tuple[Claim, ...]:
    """The claims with these names, all of them if none is given.  Raises KV004."""
    known = {claim.name: claim for claim in system.claims}
    for name in names:
        if name not in known:
            raise KvError(
                "KV004",
                f"{system.model} has no property {name!r}{did_you_mean(name, known)}",
                reason=f"known: {', '.join(known) or 'none'}",
                cure="kvproto list shows properties with their meaning",
            )
    return tuple(c for c in system.claims if not names or c.name in names)


def search(
    system: System, options: Options | None = None, progress: Callable[[Progress], None] | None = None
) -> Result:
    """Explore the system breadth first and judge every selected property.

    Raises KvError KV2nn where the model itself goes wrong (a number out of bounds, None used as an index).  Ctrl-C or
    SIGTERM in the main thread ends the search and gives what was found so far; a second one is a KeyboardInterrupt.
    """
    chosen = options or Options()
    claims = select(system, chosen.properties)
    clock = Clock()
    limit = chosen.time_limit
    folded = run_passes(system)
    layout = plan(system.state)
    start = beginning(system, folded, layout, lambda: limit is not None and clock.seconds() >= limit)
    symmetry = choose_symmetry(system, folded, layout, claims, chosen, start.states)
    searched = reduced(folded, symmetry)
    judged = tuple(searched.claim(claim.name) for claim in claims)
    # What a claim assumes is read from the claim as it was written: `strict` hides it.
    probes = Probes([folded.claim(claim.name) for claim in claims], folded, chosen.coverage)
    asked = [reduced_condition(cond, symmetry) for cond in probes.conditions]
    lowered = lower(searched, judged, asked, _asked_of_runs(system, claims))
    order = choose_partial_order(lowered, claims, chosen)
    tier = choose_tier(reduced(system, symmetry), lowered, chosen, symmetry, order)
    runs = Runs(system, lowered, tier.explorer, symmetry, start.states)
    run = _Run(Plan(system, claims, lowered, probes, start, runs, order), tier, chosen, progress, clock)
    try:
        run.explore()
        return run.result()
    finally:
        tier.explorer.close()


def _asked_of_runs(system: System, claims: tuple[Claim, ...]) -> list[Expr]:
    """What has to be known about single states to judge whole runs."""
    if not any(claim.kind in LIVENESS for claim in claims):
        return []
    from kvproto.engine.liveness import predicates

    return predicates(system, claims)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is searched for, before the first state is expanded."""

    system: System
    claims: tuple[Claim, ...]
    lowered: Lowered
    probes: Probes
    start: Beginning
    runs: Runs
    order: PartialOrder


class Probes:
    """The conditions that a search looks out for, by number: `sometimes` properties, premises, parts of guards."""

    def __init__(self, claims: Sequence[Claim], folded: System, guards: bool) -> None:
        self.sometimes = [claim for claim in claims if claim.kind == "sometimes"]
        self.premises = coverage.premises(claims, folded.sources)
        self.guards = coverage.guards(folded) if guards else ()
        wanted = [claim.cond for claim in self.sometimes]
        wanted += [probe.cond for probe in (*self.premises, *self.guards)]
        self.conditions = [cond for cond in wanted if cond is not None]

    def of(self, claim: Claim) -> int:
        """The probe of a `sometimes` property."""
        return [c.name for c in self.sometimes].index(claim.name)

    def gaps(self, group: tuple[coverage.Probe, ...], unseen: Callable[[int], bool]) -> tuple[coverage.Gap, ...]:
        """The gaps of premises or guards whose probe was never true."""
        first = len(self.sometimes) + (len(self.premises) if group is self.guards else 0)
        return tuple(probe.gap for at, probe in enumerate(group, first) if unseen(at))


class _Run:
    """One search under way."""

    def __init__(
        self,
        plan: Plan,
        tier: Chosen,
        options: Options,
        progress: Callable[[Progress], None] | None,
        clock: Clock,
    ) -> None:
        self.plan = plan
        self.system, self.claims, self.lowered, self.probes = plan.system, plan.claims, plan.lowered, plan.probes
        self.tier = tier
        self.explorer = tier.explorer
        self.options = options
        self.progress = progress
        self.errors = ModelErrors(plan.runs, plan.claims)
        self.seconds = clock.seconds
        self.cpu_seconds = clock.cpu_seconds
        self.stopped = plan.start.stopped
        self.interrupted = False
        self.piece = FIRST_PIECE
        self.failed_starts = plan.start.failed
        self.judged_runs: dict[str, Finding] = {}
        self.roots = 0
        self.levels: dict[int, int] = {}
        self.level_end = 0
        self.keeper = self._keeper(options.checkpoint or options.resume)

    def _keeper(self, path: Path | None, *, asked: bool = True) -> Keeper | None:
        if path is None:
            return None
        # Imported when it is wanted: most searches are over before anything could be saved.
        from kvproto.engine.keeper import Keeper

        return Keeper(self.system, self.lowered, self.claims, self.tier, self.options, path, asked=asked)

    def _keep(self) -> None:
        """Let the journal see whether it is time; a search that turns out long gets one without being asked."""
        if self.keeper is None and self.seconds() >= WORTH_KEEPING_S and self.explorer.tier == "C":
            self.keeper = self._keeper(self.options.fallback_checkpoint, asked=False)
            if self.keeper:
                self.keeper.roots = self.roots
        if self.keeper:
            self.keeper.look(self.seconds())

    def explore(self) -> None:
        """Advance until nothing is left or a limit is met."""
        try:
            self.explorer.start(self.plan.start.states)
        except MemoryError as problem:
            raise no_room(self.options) from problem
        self.roots = self.explorer.states()
        self._raise_errors()
        if self.keeper:
            self.keeper.roots = self.roots
            self.keeper.resume()
        self._count_level()
        with polite_interrupt() as pressed:
            while self.explorer.frontier() and not self.stopped:
                self.interrupted = pressed()
                self.stopped = "interrupted" if self.interrupted else self._limit()
                if not self.stopped:
                    self._advance()
            self.judged_runs = self._judge_runs(pressed)
        if self.keeper:
            undecided = any(found.verdict == "inconclusive" for found in self.judged_runs.values())
            complete = self.explorer.frontier() == 0 and not self.stopped and not undecided
            self.keeper.end(finished=complete or self.stopped == DECIDED)

    def _advance(self) -> None:
        began = self.seconds()
        try:
            if not self.explorer.advance(self._piece()):
                self.stopped = "memory limit" if self.options.memory_limit else "out of memory"
        except MemoryError:
            self.stopped = "out of memory"
        took = self.seconds() - began
        if took < BRISK_S:
            self.piece = min(2 * self.piece, LARGEST_PIECE)
        elif took > SLOW_S:
            self.piece = max(self.piece // 2, 1)
        self._raise_errors()
        self._keep()
        self._count_level()
        if self.progress:
            self.progress(self._where())

    def _raise_errors(self) -> None:
        error = self.errors.first()
        if error is not None:
            raise error

    def _piece(self) -> int:
        """How many states to expand next.

        Never so many that a state limit could be passed within: so it stops every tier at the same state, and a
        search that was resumed, too.
        """
        if self.options.max_states is None:
            return self.piece
        room = self.options.max_states - self.explorer.states()
        return max(1, min(self.piece, room // max(1, len(self.lowered.instances))))

    def _limit(self) -> str:
        """Name of the limit that is met, or why there is nothing left to find out."""
        options, explorer = self.options, self.explorer
        if options.max_states is not None and explorer.states() >= options.max_states:
            return "state limit"
        if options.max_depth is not None and explorer.level() >= options.max_depth:
            return "depth limit"
        if options.time_limit is not None and self.seconds() >= options.time_limit:
            return "time limit"
        if explorer.at_level_start() and not options.keep_going and self._all_violated():
            return DECIDED
        return ""

    def _all_violated(self) -> bool:
        return bool(self.claims) and all(
            claim.name in self.failed_starts or self._violation(claim) is not None for claim in self.claims
        )

    def _violation(self, claim: Claim) -> tuple[int, int] | None:
        """(state, failing action instance or -1) of the first violation, as far as single states can show one."""
        if claim.kind == "assert":
            faults = self.lowered.faults
            hits = [(h.state, h.action) for h in self.explorer.faults() if faults[h.fault].claim == claim.name]
            return min(hits, default=None)
        if claim.kind == "deadlock":
            state = self.explorer.deadlock()
        elif claim.kind == "invariant":
            at = [c.name for c in self.lowered.invariants].index(claim.name)
            state = self.explorer.violation(at)
        else:
            return None
        return None if state is None else (state, -1)

    def _count_level(self) -> None:
        """Note how large a level is that begins.  A piece never goes past the end of a level, so none is missed."""
        if self.progress and self.explorer.at_level_start() and self.explorer.frontier():
            self.levels[self.explorer.level()] = self.explorer.frontier()
            self.level_end = self.explorer.states()

    def _where(self) -> Progress:
        e = self.explorer
        figures = e.states(), e.frontier(), e.level(), e.transitions(), self.seconds(), e.memory()
        return Progress(*figures, self._detail)

    def _detail(self) -> Detail:
        seen = (c.name for c in self.claims if c.name in self.failed_starts or self._violation(c) is not None)
        return Detail(
            first=min(self.levels, default=1),
            levels=tuple(self.levels.values()),
            behind=self.explorer.states() - self.level_end if self.levels else 0,
            fired=self._fired(),
            violated=tuple(seen),
            properties=len(self.claims),
        )

    def _fired(self) -> dict[str, int]:
        """How often each action happened."""
        fired = {action.name: 0 for action in self.system.actions}
        for (action, _), count in zip(self.lowered.instances, self.explorer.fired(), strict=True):
            fired[action.name] += count
        return fired

    # --- claims about runs ----------------------------------------------------------------------------

    def _judge_runs(self, pressed: Callable[[], bool]) -> dict[str, Finding]:
        """The verdicts on claims about runs, from the graph of the states found."""
        runs = tuple(c for c in self.claims if c.kind in LIVENESS and c.name not in self.failed_starts)
        if not runs or self.interrupted:
            return {}
        from kvproto.engine.liveness import Budget, ConditionFault, check

        def stop() -> str:
            if pressed():
                self.interrupted, self.stopped = True, "interrupted"
            if self.progress:
                self.progress(self._where())
            limit = self.options.time_limit
            late = limit is not None and self.seconds() >= limit
            return "interrupted" if self.interrupted else "time limit" if late else ""

        budget = Budget(self.options.memory_limit, stop)
        try:
            found = check(self.system, self.lowered, self.explorer, runs, budget=budget)
        except ConditionFault as problem:
            raise self.errors.in_claim(problem.claim, problem.state, problem.fault) from None
        return {finding.claim.name: self._of_runs(finding) for finding in found}

    def _of_runs(self, found: LivenessFinding) -> Finding:
        if found.lasso is not None:
            lasso = found.lasso
            run = Counterexample(found.claim, lasso.init, lasso.steps, lasso.loop, lasso.args)
            return Finding(found.claim, "violated", "exhaustive", run)
        if found.verdict == "holds":
            return self._clean(found.claim, complete=self.explorer.frontier() == 0 and not self.stopped)
        return Finding(found.claim, "inconclusive", "bounded", reason=found.reason)

    # --- the result -----------------------------------------------------------------------------------

    def result(self) -> Result:
        """Verdicts and figures."""
        e = self.explorer
        complete = e.frontier() == 0 and not self.stopped
        fired = self._fired()
        live = {action.name for action, _ in self.lowered.instances}
        # Off by a parameter is a choice; off by the size of a sort or by a constant is an action that never happens.
        live |= {action.name for action in self.system.actions if not coverage.mentions_parameter(action)}
        # An action that only ever fails its assertion has happened.
        live -= {self.lowered.instances[hit.action][0].name for hit in e.faults() if hit.action >= 0}
        never = tuple(name for name, count in fired.items() if name in live and count == 0) if complete else ()
        counted = e.states() - e.outside()
        return Result(
            system=self.system,
            tier=e.tier,
            tier_note=self.tier.note,
            complete=complete,
            stopped="" if complete else self.stopped,
            interrupted=self.interrupted,
            states=counted,
            transitions=e.transitions(),
            depth=e.depth() if e.frontier() == 0 else e.level(),
            seconds=self.seconds(),
            cpu_seconds=self.cpu_seconds(),
            bytes_per_state=e.memory() / max(1, e.states()),
            violating_states=e.violating_states(),
            fired=fired,
            never_fired=never,
            findings=tuple(self._finding(claim, complete) for claim in self.claims),
            outside=e.outside(),
            frontier=e.frontier(),
            compiled=getattr(e, "compiled", False),
            workers=self.tier.workers,
            symmetric=self.plan.runs.symmetry.sorts,
            asymmetries=self.plan.runs.symmetry.asymmetries,
            symmetry_note=self.plan.runs.symmetry.note,
            por=self.tier.por,
            por_note=self.plan.order.note,
            lossy=self.tier.lossy,
            may_spill=e.tier == "C" and not self.options.fingerprints and self.options.spill is None,
            checkpoint=self.keeper.left if self.keeper else None,
            checkpoint_problem=self.keeper.problem if self.keeper else "",
            vacuous=self.probes.gaps(self.probes.premises, self._unseen) if complete else (),
            redundant=(
                self.probes.gaps(self.probes.guards, self._unseen) if complete and self.options.coverage else None
            ),
        )

    def _unseen(self, probe: int) -> bool:
        return self.explorer.witness(probe) is None

    def _finding(self, claim: Claim, complete: bool) -> Finding:
        if claim.name in self.failed_starts:
            return Finding(claim, "violated", "exhaustive", Counterexample(claim, self.failed_starts[claim.name], ()))
        if claim.kind in LIVENESS:
            return self.judged_runs.get(claim.name) or Finding(claim, "inconclusive", "bounded")
        if claim.kind == "sometimes":
            return self._seen(claim, complete)
        hit = self._violation(claim)
        if hit is None:
            return self._clean(claim, complete)
        return Finding(claim, "violated", "exhaustive", self._run_to(claim, *hit))

    def _clean(self, claim: Claim, complete: bool) -> Finding:
        """Nothing was found: that is a proof if everything was looked at and nothing could get lost."""
        if not complete:
            return Finding(claim, "inconclusive", "bounded")
        if self.tier.lossy and not self.options.accept_lossy:
            return Finding(claim, "inconclusive", "bounded", reason="states were kept as 128-bit fingerprints")
        return Finding(claim, "holds", "exhaustive")

    def _seen(self, claim: Claim, complete: bool) -> Finding:
        """The verdict on a `sometimes`: a witness proves it, only a complete search refutes it."""
        state = self.explorer.witness(self.probes.of(claim))
        if state is not None:
            return Finding(claim, "holds", "exhaustive", witness=self._run_to(claim, state, -1))
        clean = self._clean(claim, complete)
        return Finding(claim, "violated", "exhaustive") if clean.verdict == "holds" else clean

    def _run_to(self, claim: Claim, state: int, failing: int) -> Counterexample:
        return Counterexample(claim, *self.plan.runs.to(state, failing))
