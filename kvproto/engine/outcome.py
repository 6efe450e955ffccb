"""What a search is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kvproto.engine.coverage import Gap
from kvproto.engine.evaluate import Args, State
from kvproto.ir.nodes import Action, Claim, System
from kvproto.passes.symmetry import Asymmetry

Verdict = Literal["holds", "violated", "inconclusive"]
Strength = Literal["exhaustive", "bounded"]
Tier = Literal["auto", "python", "bytecode", "compiled"]
"""Which tier of the fast engine: `auto` interprets bytecode and compiles it once a search is long, `compiled` at once.
"""


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
    tier: Tier = "auto"
    workers: int = 1
    symmetry: bool | None = None
    """None: wherever it is sound; True: say so where it is not; False: never."""
    por: bool = False
    """Of steps that do not get into each other's way try one order, where that changes no verdict."""
    fingerprints: bool = False
    """Keep 128 bits of each state.  Lossy: nothing holds then, unless `accept_lossy`."""
    accept_lossy: bool = False
    coverage: bool = False
    """Also look for parts of guards that never decide."""
    checkpoint: Path | None = None
    """Journal of the search, written every `checkpoint_interval` seconds and when a limit, Ctrl-C or SIGTERM ends it.
    """
    fallback_checkpoint: Path | None = None
    """Where the journal goes if nobody asked for one but the search turns out long, or is interrupted; if there is a
    file of that name, beside it (`checkpoint.claim`).
    """
    checkpoint_interval: float = 60.0
    resume: Path | None = None
    """Journal to go on from."""
    spill: Path | None = None
    """Folder for states that do not fit into the memory limit."""
    share_from: int = 2048
    """So many states of a level are worth waking the other workers.  Changes no result; tests lower it."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A shortest run that violates a claim (or shows a `sometimes`): initial state and steps.

    For an assertion the last step is the failing one; without steps it failed in an init function, which had made
    `init` by then.
    """

    claim: Claim
    init: State
    steps: tuple[tuple[Action, Args], ...]
    loop: int | None = None
    """For a run without end: number of the state (0 is `init`) to which the last step leads back; with as many states
    as steps the run stays in its last state forever."""
    args: Args = ()
    """The choice of the parameters of a claim about runs for which it is violated."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one property."""

    claim: Claim
    verdict: Verdict
    strength: Strength
    counterexample: Counterexample | None = None
    """None also for a violated `sometimes`: no run shows that there is none."""
    witness: Counterexample | None = None
    """A run to a state that satisfies a `sometimes`."""
    reason: str = ""
    """Why it is inconclusive, where the search itself is complete."""
    kept: bool = False
    """Whether the run is one of an earlier search, taken again on the present system; nothing was searched for it."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What takes longer to find out than a few figures: how states spread over levels and actions, what is violated.

    `levels` are the sizes of the levels that the search has seen begin, in order, from number `first` on; the last one
    may be half expanded, and `behind` are the states that were found behind it so far.
    """

    first: int
    levels: tuple[int, ...]
    behind: int
    fired: dict[str, int]
    violated: tuple[str, ...]
    properties: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search is.  `detail` is to be asked for as often as somebody looks, and not each time; until the search
    goes on.
    """

    states: int
    frontier: int
    level: int
    transitions: int
    seconds: float
    memory: int
    detail: Callable[[], Detail]


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
    cpu_seconds: float = 0.0
    """Processor time of the search, all threads and compilers together."""
    outside: int = 0
    """States that were judged but neither counted nor expanded, because they are outside of the model's constraint."""
    frontier: int = 0
    """States that are counted and were not expanded: where there is a constraint, some of them may lie outside."""
    compiled: bool = False
    workers: int = 1
    symmetric: tuple[str, ...] = ()
    """Sorts whose elements were not told apart."""
    asymmetries: tuple[Asymmetry, ...] = ()
    symmetry_note: str = ""
    """Why symmetry was not used at all."""
    por: bool = False
    """Whether of independent actions only one order was tried."""
    por_note: str = ""
    """What that means for the runs that were found, or why it was not done although it was asked for."""
    lossy: bool = False
    may_spill: bool = False
    """Whether states could have gone to a disk that nobody has named."""
    vacuous: tuple[Gap, ...] = ()
    """Premises that are true in no reachable state (complete searches only)."""
    redundant: tuple[Gap, ...] | None = None
    """Parts of guards that never decide; None if nobody asked or the search is not complete."""
    checkpoint: Path | None = None
    """Journal from which the search can go on."""
    checkpoint_problem: str = ""
    """Why that is not there, or not up to date."""

    @property
    def collision_probability(self) -> float:
        """Bound on the chance that 128-bit fingerprints took two different states for one; 0 if states were kept
        whole.
        """
        return self.states**2 / 2.0**129 if self.lossy else 0.0

    def finding(self, name: str) -> Finding:
        """The finding on the property with that name."""
        return next(f for f in self.findings if f.claim.name == name)
