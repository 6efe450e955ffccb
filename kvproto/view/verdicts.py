"""Search results as text and as `kvproto.result/1`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kvproto import __version__
from kvproto.engine.coverage import Gap
from kvproto.engine.outcome import Finding, Result, Verdict
from kvproto.trace.printable import cut, fold, printable

WORDS = {"holds": "holds", "violated": "VIOLATED", "inconclusive": "INCONCL."}

WIDTH = 100
"""Sentences are folded at that width."""

CURES = {
    "state limit": "raise --max-states",
    "depth limit": "raise --max-depth",
    "time limit": "raise --time-limit",
    "memory limit": "raise --memory-limit",
}
"""What to do about a search that a limit stopped."""


@dataclass(frozen=True, slots=True)
class Row:
    """The result for one target; `traces` maps violated properties to trace files."""

    target: str
    result: Result
    traces: Mapping[str, str]


def as_json(row: Row) -> dict[str, object]:
    """One object of schema `kvproto.result/1`."""
    result, system = row.result, row.result.system
    return {
        "schema": "kvproto.result/1",
        "kvproto": __version__,
        "target": row.target,
        "model": system.model,
        "preset": system.preset,
        "parameters": dict(system.parameters),
        "scope": system.scope,
        "engine": "reference" if result.tier == "reference" else "compiled",
        "tier": result.tier,
        "compiled": result.compiled,
        "workers": result.workers,
        "reductions": {"symmetry": bool(result.symmetric), "por": result.por},
        "symmetric_sorts": list(result.symmetric),
        "storage": "fingerprints" if result.lossy else "exact",
        "collision_probability": result.collision_probability,
        "complete": result.complete,
        "stopped": result.stopped or None,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "seconds": round(result.seconds, 3),
        "cpu_seconds": round(result.cpu_seconds, 3),
        "bytes_per_state": round(result.bytes_per_state, 1),
        "outside_constraint": result.outside,
        "frontier": result.frontier,
        "fired": dict(result.fired),
        "never_fired": list(result.never_fired),
        "vacuous": [_gap(gap) for gap in result.vacuous],
        "redundant_guards": None if result.redundant is None else [_gap(gap) for gap in result.redundant],
        "checkpoint": None if result.checkpoint is None else str(result.checkpoint),
        "checkpoint_problem": result.checkpoint_problem or None,
        "properties": [_property(f, row.traces.get(f.claim.name)) for f in result.findings],
    }


def _gap(gap: Gap) -> dict[str, object]:
    return {"where": gap.owner, "condition": gap.text, "loc": str(gap.loc)}


def _property(finding: Finding, trace: str | None) -> dict[str, object]:
    return {
        "name": finding.claim.name,
        "kind": finding.claim.kind,
        "verdict": finding.verdict,
        "strength": finding.strength,
        "trace": trace,
        "length": len(run.steps) if (run := finding.counterexample or finding.witness) else None,
        "reason": finding.reason or None,
        **({"kept": True} if finding.kept else {}),
    }


def describe(row: Row, *, quiet: bool = False) -> list[str]:
    """The result of one target for a terminal: a line a property, totals, doubts, and what to do next.

    `quiet` leaves out all that holds, and all that one need not act on.
    """
    result = row.result
    if quiet and not unproven(result):
        return []
    scope = f"  scope {result.system.scope}" if result.system.scope else ""
    lines = [f"{printable(row.target)}{scope}  engine {tier_words(result)}"]
    width = max((len(f.claim.name) for f in result.findings), default=0)
    for finding in result.findings:
        if not quiet or finding.verdict != "holds":
            lines.append(_line(finding, width, row.traces.get(finding.claim.name)))
    end = "complete" if result.complete else f"stopped: {result.stopped}"
    lines.append(
        f"  {result.states:,} states  {result.transitions:,} transitions  depth {result.depth}  "
        f"{result.seconds:.2f} s  {result.bytes_per_state:.0f} bytes/state  {end}"
    )
    lines += [*([] if quiet else notes(result)), *warnings(result), *_folded(doubt(result))]
    if result.checkpoint and not result.interrupted:
        # Never folded: it is there to be copied.
        lines.append(f"  to go on: {resuming(result)}")
    violated = [row.traces[f.claim.name] for f in result.findings if f.counterexample and f.claim.name in row.traces]
    return lines + _next(violated or ([] if quiet else list(row.traces.values())))


def resuming(result: Result) -> str:
    """With which options a search goes on, "" if it left no journal.

    A journal belongs to the properties that were searched for; those that a kept run breaks were not.
    """
    if result.checkpoint is None:
        return ""
    left = [f.claim.name for f in result.findings if not f.kept]
    only = [f"--property {name}" for name in left] if len(left) < len(result.findings) else []
    words = " ".join([*only, f"--resume {printable(shlex.quote(str(result.checkpoint)))}"])
    return f"the same options and  {words}"


def _line(finding: Finding, width: int, trace: str | None) -> str:
    text = f"  {WORDS[finding.verdict]:<9} {finding.claim.name:<{width}}  {finding.strength}"
    run = finding.counterexample or finding.witness
    if run is None:
        never = finding.verdict == "violated" and finding.claim.kind == "sometimes"
        why = "true in no reachable state" if never else finding.reason
        return f"{text}  {why}" if why else text
    steps = len(run.steps)
    what = "witness of " if finding.witness else "kept run of " if finding.kept else ""
    return f"{text}  {what}{steps} step{'' if steps == 1 else 's'} -> {printable(trace or '(no trace written)')}"


def tier_words(result: Result) -> str:
    """Which tier ran, and why a slower one."""
    words = {"C": "C", "Python": "Python (slower)", "reference": "reference"}[result.tier]
    if result.compiled:
        words = "C, model compiled"
    if result.workers > 1:
        words += f", {result.workers} workers"
    if result.symmetric:
        words += f", symmetry over {', '.join(result.symmetric)}"
    if result.por:
        words += ", partial order"
    if result.lossy:
        words += ", 128-bit fingerprints (lossy)"
    return f"{words}: {printable(result.tier_note)}" if result.tier_note else words


def notes(result: Result) -> list[str]:
    """What one may want to know about a search and need not act on."""
    lines = []
    if result.outside:
        were = "state outside of the constraint was" if result.outside == 1 else "states outside of the constraint were"
        lines += _folded(f"{result.outside:,} {were} judged, but not counted or expanded")
    if result.frontier and result.system.constraint is not None:
        were = "state was" if result.frontier == 1 else "states were"
        text = f"{result.frontier:,} {were} counted without being expanded, and may lie outside of the constraint"
        lines += _folded(text)
    if result.lossy:
        lines += _folded(
            f"two states were taken for one with a probability of at most {result.collision_probability:.0e}"
        )
    if result.symmetry_note:
        lines += _folded(f"symmetry: {result.symmetry_note}")
    if result.por_note:
        lines += _folded(f"partial order: {result.por_note}")
    for gap in result.redundant or ():
        lines += _folded(f"{gap.loc}: this part of the guard of {gap.owner} never decides: {cut(gap.text, WIDTH)}")
    if result.redundant == ():
        lines += _folded("every part of every guard decides somewhere")
    return lines


def warnings(result: Result) -> list[str]:
    """KV301 if actions never fired, KV302 for properties that say nothing here, KV024 if a journal was not written."""
    lines = []
    if result.never_fired:
        names = ", ".join(result.never_fired)
        lines += _folded(f"warning KV301  never happened in this scope, so what they do is unchecked: {names}")
    for gap in result.vacuous:
        holds = result.finding(gap.owner).verdict == "holds"
        what = "holds vacuously, this is never true" if holds else "assumes what is never true"
        lines += _folded(f"warning KV302  {gap.owner} {what}: {cut(gap.text, WIDTH)}  ({gap.loc})")
    if result.checkpoint_problem:
        behind = "; what it holds is older" if result.checkpoint else ""
        lines += _folded(f"warning KV024  {printable(result.checkpoint_problem)}{behind}")
    return lines


def doubt(result: Result) -> str:
    """Why a result without violation is no proof; "" if it is one, or if there is a violation."""
    if overall(result) != "inconclusive":
        return ""
    if result.interrupted:
        return "inconclusive: interrupted"
    if not result.complete:
        cure = CURES.get(result.stopped)
        if cure and result.stopped == "memory limit" and result.may_spill:
            cure += ", or add --spill DIR"
        return f"inconclusive: the search was stopped ({result.stopped})" + (f"; {cure}" if cure else "")
    if not result.findings:
        return "inconclusive: nothing was selected, the model has no property; write one with @invariant"
    if result.states == 0:
        return "inconclusive: every initial state is outside of the constraint, so there is nothing to search"
    if result.never_fired:
        return "inconclusive: actions never happened; set a larger scope, or switch them off"
    if result.vacuous:
        return "inconclusive: a property is vacuous in this scope; set a larger one, or do not select it"
    if result.lossy:
        return "inconclusive: fingerprints may lose states; add --accept-lossy, or leave out --fingerprints"
    cures = [cure for limit, cure in CURES.items() if any(f.reason.startswith(limit) for f in result.findings)]
    return "; ".join(["inconclusive: not every property could be decided", *cures])


def _folded(text: str) -> list[str]:
    first, *rest = fold(text, WIDTH - 4) if text else [""]
    return [f"  {first.rstrip()}", *(f"    {line.rstrip()}" for line in rest)] if text else []


def _next(traces: Sequence[str]) -> list[str]:
    return [f"  next: kvproto show {printable(shlex.quote(traces[0]))}"] if traces else []


def table(rows: Sequence[Row]) -> list[str]:
    """The preset table: one line a target; doubts only where the verdict rests on them."""
    width = max((len(row.target) for row in rows), default=0)
    lines = []
    for row in rows:
        result, words = row.result, WORDS[overall(row.result)]
        runs = ((f, f.counterexample) for f in result.findings)
        broken = [(f.claim.name, f"{len(run.steps)}{', kept' if f.kept else ''}") for f, run in runs if run is not None]
        named = ", ".join(f"{name} ({steps})" for name, steps in broken)
        extent = f"{result.states:,} states, " + ("complete" if result.complete else f"stopped: {result.stopped}")
        lines.append(f"{row.target:<{width}}  {words:<9} {named or 'no property violated'}  [{extent}]")
        if not named:
            lines += [*warnings(result), *_folded(doubt(result))]
    traces = [trace for row in rows for trace in row.traces.values()]
    if traces:
        folder = printable(os.path.dirname(traces[0]) or ".")
        kept = any(finding.kept for row in rows for finding in row.result.findings)
        other = "; kept: a run of an earlier search" if kept else ""
        lines.append(f"(n): steps of the shortest run, one trace each in {folder}{other}")
    return lines + [line.strip() for line in _next(traces)]


def overall(result: Result) -> Verdict:
    """The worst verdict of a result; nothing selected is inconclusive."""
    verdicts = {f.verdict for f in result.findings}
    if "violated" in verdicts:
        return "violated"
    doubtful = result.never_fired or result.vacuous or result.states == 0
    return "holds" if verdicts == {"holds"} and not doubtful else "inconclusive"


def unproven(result: Result) -> bool:
    """Whether there is something to say even to those who want to hear of problems only."""
    return overall(result) != "holds"


def exit_code(result: Result) -> Literal[0, 1, 3, 130]:
    """0 all hold and nothing is vacuous, 1 violated, 3 inconclusive, 130 interrupted."""
    if result.interrupted:
        return 130
    codes: dict[Verdict, Literal[0, 1, 3]] = {"violated": 1, "holds": 0, "inconclusive": 3}
    return codes[overall(result)]
