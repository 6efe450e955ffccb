"""The search driver: budgets, progress, early stop, and what the result means."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from kvproto.diagnostics import KvError, Loc, did_you_mean
from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.evaluate import Args, Fault, Machine, State
from kvproto.engine.explorer import Explorer, FaultHit
from kvproto.engine.lower import Lowered, lower
from kvproto.engine.native import Unavailable, load_engine
from kvproto.engine.reference_explorer import ReferenceExplorer
from kvproto.engine.tier0 import PythonExplorer
from kvproto.ir.nodes import Action, Claim, System
from kvproto.ir.types import label
from kvproto.passes import run as run_passes

Verdict = Literal["holds", "violated", "inconclusive"]
Strength = Literal["exhaustive", "bounded"]

PIECE = {"C": 20_000, "Python": 2_000, "reference": 100}
"""States expanded between two looks at the clock, by tier: some tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to search for, and how far.  None is no limit; `max_depth` counts levels, the initial states being level 1.

    A search ends early, at the end of a level, once every selected property is violated, unless `keep_going`.
    """

    properties: tuple[str, ...] = ()
    engine: Literal["compiled", "reference"] = "compiled"
    max_states: int | None = None
    max_depth: int | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    seed: int = 0
    keep_going: bool = False


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A shortest run that violates a claim: initial state and steps; for an assertion the last step is the failing one."""

    claim: Claim
    init: State
    steps: tuple[tuple[Action, Args], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one property."""

    claim: Claim
    verdict: Verdict
    strength: Strength
    counterexample: Counterexample | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search is."""

    states: int
    frontier: int
    level: int
    transitions: int
    seconds: float
    memory: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a search found.

    `stopped` says why it is not complete ("" if it is); `tier_note` why a slower tier ran; `violating_states` counts
    distinct states that violate a selected invariant.  `never_fired` are actions without a single successor in
    a complete search, those that the parameters switch off left out.
    """

    system: System
    tier: str
    tier_note: str
    complete: bool
    stopped: str
    interrupted: bool
    states: int
    transitions: int
    depth: int
    seconds: float
    bytes_per_state: float
    violating_states: int
    fired: dict[str, int]
    never_fired: tuple[str, ...]
    findings: tuple[Finding, ...] = field(default_factory=tuple)

    def finding(self, name: str) -> Finding:
        """The finding on the property with that name."""
        return next(f for f in self.findings if f.claim.name == name)


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


def search(system: System, options: Options | None = None, progress: Callable[[Progress], None] | None = None) -> Result:
    """Explore the system breadth first and judge every selected property.

    Raises KvError KV2nn where the model itself goes wrong (a number out of bounds, None used as an index).
    """
    chosen = options or Options()
    claims = select(system, chosen.properties)
    lowered = lower(run_passes(system), claims)
    explorer, note = _explorer(system, lowered, chosen)
    run = _Run(system, lowered, explorer, claims, chosen, progress)
    try:
        run.explore()
        return run.result(note)
    finally:
        explorer.close()


def _explorer(system: System, lowered: Lowered, options: Options) -> tuple[Explorer, str]:
    limit = options.memory_limit
    try:
        if options.engine == "reference":
            return ReferenceExplorer(system, lowered, memory_limit=limit), ""
        engine = load_engine()
        if isinstance(engine, Unavailable):
            return PythonExplorer(lowered.program, memory_limit=limit, seed=options.seed), engine.reason
        return CExplorer(lowered.program, memory_limit=limit, seed=options.seed), ""
    except MemoryError as problem:
        raise _no_room(options) from problem


def _no_room(options: Options) -> KvError:
    return KvError(
        "KV006",
        f"a memory limit of {options.memory_limit} bytes leaves no room for a search",
        reason="not even the initial states and an empty table fit",
        cure="give at least some megabytes, for example --memory-limit 64M",
    )


class _Run:
    """One search under way."""

    def __init__(
        self,
        system: System,
        lowered: Lowered,
        explorer: Explorer,
        claims: tuple[Claim, ...],
        options: Options,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.system = system
        self.lowered = lowered
        self.explorer = explorer
        self.claims = claims
        self.options = options
        self.progress = progress
        self.began = time.monotonic()
        self.stopped = ""
        self.interrupted = False

    def seconds(self) -> float:
        """Time since the search began."""
        return time.monotonic() - self.began

    def explore(self) -> None:
        """Advance until nothing is left or a limit is met."""
        try:
            self.explorer.start(self.lowered.layout.pack(state) for state in self._initial())
            while self.explorer.frontier():
                self.stopped = self._limit()
                if self.stopped:
                    break
                if not self.explorer.advance(self._piece()):
                    self.stopped = "memory limit"
                    break
                self._raise_errors()
                if self.progress:
                    self.progress(self._where())
        except KeyboardInterrupt:
            self.stopped, self.interrupted = "interrupted", True
        except MemoryError as problem:
            raise _no_room(self.options) from problem
        self._raise_errors()

    def _initial(self) -> list[State]:
        try:
            states = list(Machine(self.system).initial())
        except Fault as fault:
            raise self.model_error(fault.code, fault.message, fault.node.loc, []) from None
        if not states:
            raise KvError(
                "KV151",
                f"model {self.system.model} has no initial state",
                reason="every init function refused every choice of its parameters, so every claim would hold",
                cure="weaken the require(...) of an init function",
            )
        return states

    def _piece(self) -> int:
        piece = PIECE[self.explorer.tier]
        if self.options.max_states is None:
            return piece
        return max(1, min(piece, (self.options.max_states - self.explorer.states()) // 8 + 1))

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
            return "every selected property is violated"
        return ""

    def _all_violated(self) -> bool:
        return bool(self.claims) and all(self._violation(claim) is not None for claim in self.claims)

    def _violation(self, claim: Claim) -> tuple[int, int] | None:
        """(state, failing action instance or -1) of the first violation."""
        if claim.kind == "deadlock":
            state = self.explorer.deadlock()
        elif claim.kind == "invariant":
            at = [c.name for c in self.lowered.invariants].index(claim.name)
            state = self.explorer.violation(at)
        else:
            hits = [h for h in self.explorer.faults() if self.lowered.faults[h.fault].claim == claim.name]
            return (hits[0].state, hits[0].action) if hits else None
        return None if state is None else (state, -1)

    def _raise_errors(self) -> None:
        """A fault that is no failed assertion is an error of the model: report the earliest."""
        errors = [h for h in self.explorer.faults() if not self.lowered.faults[h.fault].claim]
        if errors:
            first = min(errors, key=lambda h: (h.state, h.action))
            raise self._explained(first)

    def _explained(self, hit: FaultHit) -> KvError:
        """The error with the run that leads to it and the oracle's own words."""
        info = self.lowered.faults[hit.fault]
        _, instances = self.explorer.path(hit.state)
        steps = [self.lowered.instances[i] for i in [*instances, *([hit.action] if hit.action >= 0 else [])]]
        message = info.message
        if hit.action >= 0:
            action, args = steps[-1]
            state = self.lowered.layout.unpack(self.explorer.packed(hit.state))
            try:
                Machine(self.system).step(action.params, action.body, state, args)
            except Fault as fault:
                message = fault.message
        return self.model_error(info.code, message, info.loc, steps)

    def model_error(self, code: str, message: str, loc: Loc, steps: list[tuple[Action, Args]]) -> KvError:
        """KV2nn with the run that leads there."""
        run = ", ".join(call(action, args) for action, args in steps)
        lines = self.system.sources.get(loc.file, "").splitlines()
        return KvError(
            code,
            message,
            reason=f"reached by: {run}" if steps else "reached in an initial state",
            cure="guard the step with require(...), widen the type, or test for None first",
            loc=loc,
            line=lines[loc.line - 1] if 0 < loc.line <= len(lines) else "",
        )

    def _where(self) -> Progress:
        e = self.explorer
        return Progress(e.states(), e.frontier(), e.level(), e.transitions(), self.seconds(), e.memory())

    # --- the result -----------------------------------------------------------------------------------

    def result(self, note: str) -> Result:
        """Verdicts and figures."""
        e = self.explorer
        complete = e.frontier() == 0
        fired = {action.name: 0 for action in self.system.actions}
        for (action, _), count in zip(self.lowered.instances, e.fired(), strict=True):
            fired[action.name] += count
        live = {action.name for action, _ in self.lowered.instances}
        never = tuple(name for name, count in fired.items() if name in live and count == 0) if complete else ()
        return Result(
            system=self.system,
            tier=e.tier,
            tier_note=note,
            complete=complete,
            stopped="" if complete else self.stopped,
            interrupted=self.interrupted,
            states=e.states(),
            transitions=e.transitions(),
            depth=e.level(),
            seconds=self.seconds(),
            bytes_per_state=e.memory() / max(1, e.states()),
            violating_states=e.violating_states(),
            fired=fired,
            never_fired=never,
            findings=tuple(self._finding(claim, complete) for claim in self.claims),
        )

    def _finding(self, claim: Claim, complete: bool) -> Finding:
        hit = self._violation(claim)
        if hit is None:
            return Finding(claim, "holds", "exhaustive") if complete else Finding(claim, "inconclusive", "bounded")
        state, failing = hit
        start, path = self.explorer.path(state)
        steps = [self.lowered.instances[i] for i in [*path, *([failing] if failing >= 0 else [])]]
        init = self.lowered.layout.unpack(self.explorer.packed(start))
        return Finding(claim, "violated", "exhaustive", Counterexample(claim, init, tuple(steps)))


def call(action: Action, args: Args) -> str:
    """An action instance as text: `land(A, 2)`."""
    shown = [label(arg, param.type) for param, arg in zip(action.params, args, strict=True)]
    return f"{action.name}({', '.join(str(s) for s in shown)})"
