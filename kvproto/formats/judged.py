"""What a CI system is told: one case a property, and one for each doubt that keeps a search from being a proof.

SARIF, JUnit and GitHub's annotations are three ways to write the same cases, so that none of them can call a result
good that another calls bad.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kvproto.diagnostics import CATALOGUE, Diagnostic, Loc
from kvproto.engine.outcome import Finding, Result, Verdict
from kvproto.ir.nodes import Assert, Claim, System
from kvproto.ir.walk import statements
from kvproto.report.whatif import told
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace
from kvproto.view.verdicts import Row, doubt, overall

NEVER_FIRED = "KV301"
"""Name of the case of actions that never happened."""

DOUBT = "coverage"
"""Kind of a case that is about the whole search."""

NOTHING_SEARCHED = "nothing_searched"
"""Name of the case of a search that had nothing to look at."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The result for one target, with what it refers to.

    `traces` are the runs that were found, by property; `files` maps names of source files as messages have them to
    paths from the root of the repository, for those that lie in it; `command` is what searches this target again.
    """

    row: Row
    traces: Mapping[str, Trace]
    files: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    def again(self, case: Case) -> str:
        """The command that finds the case again; "" if nobody said how the target was searched."""
        alone = self.command and case.kind != DOUBT
        return printable(f"{self.command} --property {shlex.quote(case.name)}" if alone else self.command)


@dataclass(frozen=True, slots=True)
class Case:
    """The verdict on one property of one target, or a doubt about the whole search.

    `claim` and `doc` are the property in words; `why` is the explanation, nothing where it holds.  All text is free of
    control characters, `doc` has lines.
    """

    name: str
    kind: str
    claim: str
    doc: str
    verdict: Verdict
    why: tuple[str, ...]
    loc: Loc | None
    trace: Trace | None = None
    file: str | None = None
    """The file of the trace."""
    kept: bool = False
    """Whether the run is one of an earlier search, and none was made for it."""

    @property
    def head(self) -> str:
        """The first sentence of the explanation."""
        return self.why[0] if self.why else ""

    @property
    def missing(self) -> tuple[str, ...]:
        """What would have prevented the run, if somebody has looked for it."""
        return () if self.trace is None else told(self.trace)

    @property
    def steps(self) -> str:
        """How long the run is in words, "" if there is none."""
        if self.trace is None:
            return ""
        count = len(self.trace.steps)
        return f"{count} step{'' if count == 1 else 's'}{' of a kept run' if self.kept else ''}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error that ended a check before there were results; `path` is its file, as seen from the repository."""

    diagnostic: Diagnostic
    path: str | None = None

    @property
    def head(self) -> str:
        """What is wrong, on one line."""
        return printable(self.diagnostic.message)

    @property
    def text(self) -> str:
        """All four parts of the error."""
        return "\n".join(map(printable, self.diagnostic.render().splitlines()))


def cases(judged: Judged) -> tuple[Case, ...]:
    """A case for every selected property, in their order, and then the doubts about the search.

    They all hold only if the exit code of the search is 0.
    """
    found = tuple(_case(judged, finding) for finding in judged.row.result.findings)
    return (*found, *_doubts(judged.row.result, found))


def unproven(judged: Judged) -> tuple[Case, ...]:
    """The cases that do not hold."""
    return tuple(case for case in cases(judged) if case.verdict != "holds")


def target_words(judged: Judged) -> str:
    """The target and its scope, as a heading."""
    scope = judged.row.result.system.scope
    return printable(judged.row.target) + (f" ({printable(scope)})" if scope else "")


def _case(judged: Judged, finding: Finding) -> Case:
    claim, result = finding.claim, judged.row.result
    trace = judged.traces.get(claim.name)
    vacuous = [gap for gap in result.vacuous if gap.owner == claim.name]
    verdict: Verdict = "inconclusive" if vacuous and finding.verdict == "holds" else finding.verdict
    why: Sequence[str] = ()
    if verdict == "violated":
        why = trace.why if trace is not None else ("It is true in no reachable state.",)
    elif vacuous and finding.verdict == "holds":
        why = [f"It holds vacuously: {gap.text} is never true ({gap.loc})." for gap in vacuous]
    elif verdict == "inconclusive":
        why = (_undecided(finding, result),)
    return Case(
        name=printable(claim.name),
        kind=claim.kind,
        claim=printable(claim.text),
        doc="\n".join(map(printable, claim.doc.splitlines())),
        verdict=verdict,
        why=tuple(map(printable, why)),
        loc=_place(_written_at(claim, result.system)),
        trace=trace,
        file=judged.row.traces.get(claim.name),
        kept=finding.kept,
    )


def _written_at(claim: Claim, system: System) -> Loc:
    """Where a claim stands: an assertion knows its line by itself, and its file from the statement."""
    if claim.kind != "assert":
        return claim.loc
    bodies = [*(action.body for action in system.actions), *(init.body for init in system.inits)]
    made = (stmt for body in bodies for stmt in statements(body))
    return next((s.loc for s in made if isinstance(s, Assert) and s.claim == claim.name), claim.loc)


def _undecided(finding: Finding, result: Result) -> str:
    if finding.reason:
        return f"It could not be decided: {finding.reason}."
    if result.interrupted:
        return "The search was interrupted."
    said = doubt(result).removeprefix("inconclusive: ")
    return f"{said[:1].upper()}{said[1:]}." if said else f"The search was stopped ({result.stopped})."


def _doubts(result: Result, found: Sequence[Case]) -> Iterator[Case]:
    """What keeps a search from being a proof although no property says so."""
    if result.never_fired:
        names = ", ".join(result.never_fired)
        entry = CATALOGUE[NEVER_FIRED]
        first = next((a.loc for a in result.system.actions if a.name == result.never_fired[0]), None)
        why = f"These actions never happened in this scope, so what they do is unchecked: {names}."
        yield _doubt(NEVER_FIRED, "every action happens", entry.text, why, first)
    elif overall(result) == "inconclusive" and all(case.verdict == "holds" for case in found):
        said = doubt(result).removeprefix("inconclusive: ")
        first = next((action.loc for action in result.system.actions), None)
        yield _doubt(NOTHING_SEARCHED, "there is something to search", "", f"{said[:1].upper()}{said[1:]}.", first)


def _doubt(name: str, claim: str, doc: str, why: str, loc: Loc | None) -> Case:
    return Case(name, DOUBT, claim, doc, "inconclusive", (printable(why),), _place(loc))


def _place(loc: Loc | None) -> Loc | None:
    """A place in a file, if it is one."""
    return loc if loc is not None and loc.file and loc.line > 0 else None
