"""`kvproto check --reuse`: runs of earlier searches are taken again, and what they still break is not searched for.

The folder of traces is what is remembered.  A kept run counts only if the reference evaluator has taken its steps in
the present system and they break the claim: what it shows is as true as what a search shows.  Whether a shorter run
does it too is not asked, and nothing is said about other states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kvproto.cli.traces import TraceFolder, told
from kvproto.diagnostics import KvError
from kvproto.engine.clock import Clock
from kvproto.engine.outcome import Finding, Options, Result
from kvproto.engine.search import select
from kvproto.ir.nodes import Claim, System
from kvproto.trace import codec
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace
from kvproto.whatif.again import Again, again_in

NOTHING_LEFT = "kept runs violate every selected property"
"""Why a search was not even begun."""


@dataclass(frozen=True, slots=True)
class KeptRuns:
    """What kept runs have shown: findings, the claims that are left to search for, and what to say of stale runs."""

    claims: tuple[Claim, ...]
    findings: tuple[Finding, ...]
    stale: tuple[str, ...]
    clock: Clock

    @property
    def left(self) -> tuple[str, ...]:
        """Properties that no kept run breaks."""
        broken = {finding.claim.name for finding in self.findings}
        return tuple(claim.name for claim in self.claims if claim.name not in broken)

    @property
    def enough(self) -> bool:
        """Whether nothing is left to find out."""
        return bool(self.findings) and not self.left

    def narrowed(self, options: Options) -> Options:
        """The options of a search for the rest."""
        return replace(options, properties=self.left) if self.findings else options

    def beside(self, result: Result) -> Result:
        """The result of the search for the rest, with what kept runs have shown."""
        if not self.findings:
            return result
        found = {finding.claim.name: finding for finding in (*result.findings, *self.findings)}
        return replace(result, findings=tuple(found[claim.name] for claim in self.claims))

    def alone(self, system: System) -> Result:
        """The result where no search was made."""
        return Result(
            system=system,
            tier="reference",
            tier_note="kept runs, nothing was searched",
            complete=False,
            stopped=NOTHING_LEFT,
            interrupted=False,
            states=0,
            transitions=0,
            depth=0,
            seconds=self.clock.seconds(),
            cpu_seconds=self.clock.cpu_seconds(),
            bytes_per_state=0.0,
            violating_states=0,
            fired={action.name: 0 for action in system.actions},
            never_fired=(),
            findings=self.findings,
        )


def with_kept(
    traces: TraceFolder, options: Options, search: Callable[[Options], Result], note: Callable[[str], object]
) -> Result:
    """What kept runs show, and what `search` finds out about the rest; `note` is told of runs that are no use."""
    kept = kept_runs(traces, select(traces.system, options.properties))
    for line in kept.stale:
        note(line)
    return kept.alone(traces.system) if kept.enough else kept.beside(search(kept.narrowed(options)))


def kept_runs(traces: TraceFolder, claims: Sequence[Claim]) -> KeptRuns:
    """Take the traces of these claims again.  Those that still break theirs are written anew where they tell more."""
    clock, findings, stale = Clock(), list[Finding](), list[str]()
    for claim in claims:
        old = None if claim.kind == "sometimes" else _kept(traces, claim)
        if old is None:
            continue
        finding, why = _finding(traces, claim, old)
        if finding is not None:
            findings.append(finding)
        else:
            stale.append(f"the kept run of {printable(claim.name)} is no use any more: {printable(why)}")
    return KeptRuns(tuple(claims), tuple(findings), tuple(stale), clock)


def _kept(traces: TraceFolder, claim: Claim) -> Trace | None:
    """The trace of the claim in the folder, if there is one."""
    path = traces.path(claim.name)
    if not path.is_file():
        return None
    try:
        trace = codec.read(path)
    except KvError:
        return None  # no trace, and not ours to judge
    return trace if (trace.model, trace.property) == (traces.system.model, claim.name) else None


def _finding(traces: TraceFolder, claim: Claim, old: Trace) -> tuple[Finding | None, str]:
    """What the trace shows today; why it shows nothing otherwise."""
    taken = again_in(traces.system, old)
    if taken.run is None:
        return None, _whereabouts(taken)
    new = told(traces.system, taken.run)
    path = traces.path(claim.name)
    if not _says_the_same(old, new):
        codec.save(replace(new, strength="bounded", shortest=False), path)
    traces.written[claim.name] = str(path)
    return Finding(claim, "violated", "bounded", taken.run, kept=True), ""


def _says_the_same(old: Trace, new: Trace) -> bool:
    """Whether the file may stay: the system and the run are what they were, so what a search knew is still true."""
    known = replace(new, strength=old.strength, shortest=old.shortest, analysis=old.analysis, replay=old.replay)
    return replace(known, why=old.why if old.analysis else new.why) == old


def _whereabouts(taken: Again) -> str:
    """What has become of a trace that does not break its claim."""
    if taken.end == "refused":
        step = taken.trace.steps[taken.step - 1].action
        return f"step {taken.step}, {step}, cannot happen, because {taken.reason}"
    return taken.reason or "its steps break nothing"
