"""The search driver: budgets, progress, early stop, and what the result means."""

from __future__ import annotations

import signal
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Literal

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.engine.evaluate import Args, Fault, Machine, NotEnabled, Run, State, choices
from kvproto.engine.explorer import Explorer, FaultHit
from kvproto.engine.lower import Lowered, lower
from kvproto.ir.nodes import Action, Claim, Init, Param, System
from kvproto.ir.types import label
from kvproto.passes import run as run_passes

Verdict = Literal["holds", "violated", "inconclusive"]
Strength = Literal["exhaustive", "bounded"]

FIRST_PIECE, LARGEST_PIECE = 16, 1 << 16
"""States expanded between two looks at the clock; the number follows the speed of the search."""

BRISK_S, SLOW_S = 0.02, 0.1
"""A piece that took less is doubled, one that took more is halved."""

CURES = {
    "KV201": "guard the store with require(...), take min(x, limit), or widen the type",
    "KV202": "guard the line with require(n < len(...)), or use an element of the sort instead of a number",
    "KV203": "test for None first: require(x is not None), or `if x is not None`",
    "KV204": "test the divisor first: require(n != 0), or `if n != 0`",
    "KV205": "give a default: min(..., default=0)",
}
"""What to do about an error of the model while it runs."""


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
    """A shortest run that violates a claim: initial state and steps.

    For an assertion the last step is the failing one; without steps it failed in an init function, which had made
    `init` by then.
    """

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


def search(
    system: System, options: Options | None = None, progress: Callable[[Progress], None] | None = None
) -> Result:
    """Explore the system breadth first and judge every selected property.

    Raises KvError KV2nn where the model itself goes wrong (a number out of bounds, None used as an index).  Ctrl-C in
    the main thread ends the search and gives what was found so far; a second one is a KeyboardInterrupt.
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
        # Each tier is imported when it runs: the others would only make the start slower.
        if options.engine == "reference":
            from kvproto.engine.reference_explorer import ReferenceExplorer

            return ReferenceExplorer(system, lowered, memory_limit=limit), ""
        from kvproto.engine.native import Unavailable, load_engine

        engine = load_engine()
        if isinstance(engine, Unavailable):
            from kvproto.engine.tier0 import PythonExplorer

            return PythonExplorer(lowered.program, memory_limit=limit, seed=options.seed), engine.reason
        from kvproto.engine.c_explorer import CExplorer

        return CExplorer(lowered.program, memory_limit=limit, seed=options.seed), ""
    except MemoryError as problem:
        raise _no_room(options) from problem


def _no_room(options: Options) -> KvError:
    limit = options.memory_limit
    return KvError(
        "KV006",
        "this machine has no memory left for a search"
        if limit is None
        else f"a memory limit of {limit} bytes leaves no room for a search",
        reason="not even the initial states and an empty table fit",
        cure="use a smaller scope" if limit is None else "give at least some megabytes, for example --memory-limit 64M",
    )


@contextmanager
def _polite_interrupt() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C end a piece of work instead of tearing it apart; gives the question whether it was pressed."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    pressed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if pressed:
            signal.default_int_handler(number, frame)
        pressed.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
        self.piece = FIRST_PIECE
        self.next_look = 0
        self.failed_starts: dict[str, State] = {}

    def seconds(self) -> float:
        """Time since the search began."""
        return time.monotonic() - self.began

    def explore(self) -> None:
        """Advance until nothing is left or a limit is met."""
        try:
            self.explorer.start(self.lowered.layout.pack(state) for state in self._initial())
        except MemoryError as problem:
            raise _no_room(self.options) from problem
        self._raise_errors()
        with _polite_interrupt() as pressed:
            while self.explorer.frontier() and not self.stopped:
                self.interrupted = pressed()
                self.stopped = "interrupted" if self.interrupted else self._limit()
                if not self.stopped:
                    self._advance()

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
        if self.progress:
            self.progress(self._where())

    def _initial(self) -> list[State]:
        """Initial states in order.  An assertion that fails on the way is a finding, and gives no state."""
        machine, found = Machine(self.system), dict[State, None]()
        if not self.system.inits:
            return [machine.zero()]
        for init, args in _starts(self.system):
            if self.options.time_limit is not None and self.seconds() >= self.options.time_limit:
                self.stopped = "time limit"
                break
            try:
                state = run_init(machine, init, args)
            except InitFault as problem:
                fault = problem.fault
                if not fault.claim:
                    run = [_called(init.name, init.params, args)]
                    raise _model_error(self.system, fault, f"reached by: {_listed(run)}") from None
                self.failed_starts.setdefault(fault.claim, problem.state)
                continue
            if state is not None:
                found[state] = None
        if not found and not self.failed_starts and not self.stopped:
            raise KvError(
                "KV151",
                f"model {self.system.model} has no initial state",
                reason="every init function refused every choice of its parameters, so every claim would hold",
                cure="weaken the require(...) of an init function",
            )
        if not found:
            self.stopped = self.stopped or "no initial state passes its assertions"
        return list(found)

    def _piece(self) -> int:
        """How many states to expand next: a state limit stops every tier after the same number of states."""
        if self.options.max_states is None:
            return self.piece
        done = self.explorer.expanded()
        if done >= self.next_look:
            self.next_look = done + max(1, (self.options.max_states - self.explorer.states()) // 8)
        return min(self.piece, self.next_look - done)

    def _limit(self) -> str:
        """Name of the limit that is met, or why there is nothing left to find out."""
        options, explorer = self.options, self.explorer
        looking = explorer.expanded() >= self.next_look
        if options.max_states is not None and looking and explorer.states() >= options.max_states:
            return "state limit"
        if options.max_depth is not None and explorer.level() >= options.max_depth:
            return "depth limit"
        if options.time_limit is not None and self.seconds() >= options.time_limit:
            return "time limit"
        if explorer.at_level_start() and not options.keep_going and self._all_violated():
            return "every selected property is violated"
        return ""

    def _all_violated(self) -> bool:
        return bool(self.claims) and all(
            claim.name in self.failed_starts or self._violation(claim) is not None for claim in self.claims
        )

    def _violation(self, claim: Claim) -> tuple[int, int] | None:
        """(state, failing action instance or -1) of the first violation."""
        if claim.kind == "assert":
            faults = self.lowered.faults
            hits = [(h.state, h.action) for h in self.explorer.faults() if faults[h.fault].claim == claim.name]
            return min(hits, default=None)
        if claim.kind == "deadlock":
            state = self.explorer.deadlock()
        else:
            at = [c.name for c in self.lowered.invariants].index(claim.name)
            state = self.explorer.violation(at)
        return None if state is None else (state, -1)

    # --- errors of the model --------------------------------------------------------------------------

    def _raise_errors(self) -> None:
        """A fault that is no failed assertion is an error of the model: report the one that was met first."""
        errors = [h for h in self.explorer.faults() if not self.lowered.faults[h.fault].claim]
        if errors:
            raise self._explained(min(errors, key=self._moment))

    def _moment(self, hit: FaultHit) -> tuple[int, ...]:
        """When the fault was met, in a form that can be compared: tiers look at different times.

        States are found in the order of (length of the path, initial state, instances on the path).
        """
        start, path = self.explorer.path(hit.state)
        if hit.action >= 0:
            return (len(path), start, *path, hit.action)
        if any(claim.kind == "invariant" for claim, _ in self._faulty_claims(hit)):
            return (len(path) - 1, start, *path)  # when the state was found
        return (len(path), start, *path, len(self.lowered.instances))  # after its last action

    def _faulty_claims(self, hit: FaultHit) -> list[tuple[Claim, Fault]]:
        """The selected properties that go wrong at this place in this state, in the words of the oracle."""
        machine, state = Machine(self.system), self._state(hit.state)
        info = self.lowered.faults[hit.fault]
        found = []
        for claim in self.claims:
            try:
                if claim.cond is not None:
                    machine.holds(claim.cond, state)
            except Fault as fault:
                if (fault.code, fault.node.loc) == (info.code, info.loc):
                    found.append((claim, fault))
        return found

    def _state(self, number: int) -> State:
        return self.lowered.layout.unpack(self.explorer.packed(number))

    def _explained(self, hit: FaultHit) -> KvError:
        """The error with the run that leads to it and the oracle's own words."""
        start, path = self.explorer.path(hit.state)
        run = self._origin(start) + [call(*self.lowered.instances[at]) for at in path]
        info = self.lowered.faults[hit.fault]
        if hit.action < 0:
            claim, fault = next(iter(self._faulty_claims(hit)), (None, None))
            what = f"evaluating {claim.name} " if claim else ""
            place = f"{what}after: {_listed(run)}" if run else f"{what}in the initial state"
        else:
            action, args = self.lowered.instances[hit.action]
            place = f"reached by: {_listed([*run, call(action, args)])}"
            fault = None
            try:
                Machine(self.system).step(action.params, action.body, self._state(hit.state), args)
            except Fault as problem:
                fault = problem
        if fault is None:
            raise AssertionError(f"the reference checker does not confirm {info.message!r} at {info.loc}: {place}")
        return _model_error(self.system, fault, place)

    def _origin(self, start: int) -> list[str]:
        """The init function that gave an initial state, where there is a choice."""
        machine, wanted = Machine(self.system), self._state(start)
        starts = list(_starts(self.system))
        for init, args in starts if len(starts) > 1 else []:
            try:
                if run_init(machine, init, args) == wanted:
                    return [_called(init.name, init.params, args)]
            except InitFault:
                continue
        return []

    def _where(self) -> Progress:
        e = self.explorer
        return Progress(e.states(), e.frontier(), e.level(), e.transitions(), self.seconds(), e.memory())

    # --- the result -----------------------------------------------------------------------------------

    def result(self, note: str) -> Result:
        """Verdicts and figures."""
        e = self.explorer
        complete = e.frontier() == 0 and not self.stopped
        fired = {action.name: 0 for action in self.system.actions}
        for (action, _), count in zip(self.lowered.instances, e.fired(), strict=True):
            fired[action.name] += count
        live = {action.name for action, _ in self.lowered.instances}
        # An action that only ever fails its assertion has happened.
        live -= {self.lowered.instances[hit.action][0].name for hit in e.faults() if hit.action >= 0}
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
        if claim.name in self.failed_starts:
            return Finding(claim, "violated", "exhaustive", Counterexample(claim, self.failed_starts[claim.name], ()))
        hit = self._violation(claim)
        if hit is None:
            return Finding(claim, "holds", "exhaustive") if complete else Finding(claim, "inconclusive", "bounded")
        state, failing = hit
        start, path = self.explorer.path(state)
        steps = [self.lowered.instances[i] for i in [*path, *([failing] if failing >= 0 else [])]]
        return Finding(claim, "violated", "exhaustive", Counterexample(claim, self._state(start), tuple(steps)))


class InitFault(Exception):
    """An init function goes wrong; `state` is what it had made by then."""

    def __init__(self, fault: Fault, state: State) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.state = state


def _starts(system: System) -> Iterator[tuple[Init, Args]]:
    for init in system.inits:
        for args in choices(init.params):
            yield init, args


def run_init(machine: Machine, init: Init, args: Args) -> State | None:
    """The initial state that an init function makes, None if it refuses; raises InitFault."""
    run = Run(machine, machine.zero(), dict(zip((p.name for p in init.params), args, strict=True)))
    try:
        run.block(init.body)
    except NotEnabled:
        return None
    except Fault as fault:
        raise InitFault(fault, tuple(run.state)) from None
    return tuple(run.state)


def _model_error(system: System, fault: Fault, place: str) -> KvError:
    """KV2nn where the model goes wrong while it runs."""
    loc = fault.node.loc
    lines = system.sources.get(loc.file, "").splitlines()
    return KvError(
        fault.code,
        fault.message,
        reason=place,
        cure=CURES[fault.code],
        loc=loc,
        line=lines[loc.line - 1] if 0 < loc.line <= len(lines) else "",
    )


def _listed(run: Sequence[str]) -> str:
    """Steps in order, folded between steps."""
    glued = ", ".join(step.replace(" ", "\0") for step in run)
    return "\n      ".join(textwrap.wrap(glued, 84, break_long_words=False, break_on_hyphens=False)).replace("\0", " ")


def call(action: Action, args: Args) -> str:
    """An action instance as text: `land(A, 2)`."""
    return _called(action.name, action.params, args)


def _called(name: str, params: Sequence[Param], args: Args) -> str:
    return f"{name}({', '.join(str(label(arg, param.type)) for param, arg in zip(params, args, strict=True))})"
