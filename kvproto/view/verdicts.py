"""Search results as text and as `kvproto.result/1`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kvproto import __version__
from kvproto.engine.outcome import Finding, Result, Verdict
from kvproto.trace.printable import fold, printable

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
        "workers": 1,
        "reductions": {"symmetry": False, "por": False},
        "complete": result.complete,
        "stopped": result.stopped or None,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "seconds": round(result.seconds, 3),
        "bytes_per_state": round(result.bytes_per_state, 1),
        "never_fired": list(result.never_fired),
        "properties": [_property(f, row.traces.get(f.claim.name)) for f in result.findings],
    }


def _property(finding: Finding, trace: str | None) -> dict[str, object]:
    return {
        "name": finding.claim.name,
        "kind": finding.claim.kind,
        "verdict": finding.verdict,
        "strength": finding.strength,
        "trace": trace,
        "length": len(finding.counterexample.steps) if finding.counterexample else None,
    }


def describe(row: Row, *, quiet: bool = False) -> list[str]:
    """The result of one target for a terminal: a line a property, totals, doubts, and what to do next.

    `quiet` leaves out all that holds.
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
    lines += warnings(result)
    lines += _folded(doubt(result))
    return lines + _next(list(row.traces.values()))


def _line(finding: Finding, width: int, trace: str | None) -> str:
    text = f"  {WORDS[finding.verdict]:<9} {finding.claim.name:<{width}}  {finding.strength}"
    if finding.counterexample is None:
        return text
    steps = len(finding.counterexample.steps)
    return f"{text}  {steps} step{'' if steps == 1 else 's'} -> {printable(trace or '(no trace written)')}"


def tier_words(result: Result) -> str:
    """Which tier ran, and why a slower one."""
    words = {"C": "C", "Python": "Python (slower)", "reference": "reference"}[result.tier]
    return f"{words}: {printable(result.tier_note)}" if result.tier_note else words


def warnings(result: Result) -> list[str]:
    """KV301 if actions never fired."""
    if not result.never_fired:
        return []
    names = ", ".join(result.never_fired)
    return _folded(f"warning KV301  never happened in this scope, so what they do is unchecked: {names}")


def doubt(result: Result) -> str:
    """Why a result without violation is no proof; "" if it is one, or if there is a violation."""
    if overall(result) != "inconclusive":
        return ""
    if result.interrupted:
        return "inconclusive: interrupted"
    if not result.complete:
        cure = CURES.get(result.stopped)
        return f"inconclusive: the search was stopped ({result.stopped})" + (f"; {cure}" if cure else "")
    if not result.findings:
        return "inconclusive: nothing was selected, the model has no property; write one with @invariant"
    return "inconclusive: actions never happened; set a larger scope, or switch them off"


def _folded(text: str) -> list[str]:
    first, *rest = fold(text, WIDTH - 4) if text else [""]
    return [f"  {first}", *(f"    {line}" for line in rest)] if text else []


def _next(traces: Sequence[str]) -> list[str]:
    return [f"  next: kvproto show {printable(shlex.quote(traces[0]))}"] if traces else []


def table(rows: Sequence[Row]) -> list[str]:
    """The preset table: one line a target; doubts only where the verdict rests on them."""
    width = max((len(row.target) for row in rows), default=0)
    lines = []
    for row in rows:
        result, words = row.result, WORDS[overall(row.result)]
        broken = [(f.claim.name, f.counterexample) for f in result.findings]
        named = ", ".join(f"{name} ({len(found.steps)})" for name, found in broken if found is not None)
        extent = f"{result.states:,} states, " + ("complete" if result.complete else f"stopped: {result.stopped}")
        lines.append(f"{row.target:<{width}}  {words:<9} {named or 'no property violated'}  [{extent}]")
        if not named:
            lines += [*warnings(result), *_folded(doubt(result))]
    traces = [trace for row in rows for trace in row.traces.values()]
    if traces:
        folder = printable(os.path.dirname(traces[0]) or ".")
        lines.append(f"(n): steps of the shortest run, one trace each in {folder}")
    return lines + [line.strip() for line in _next(traces)]


def overall(result: Result) -> Verdict:
    """The worst verdict of a result; nothing selected is inconclusive."""
    verdicts = {f.verdict for f in result.findings}
    if "violated" in verdicts:
        return "violated"
    return "holds" if verdicts == {"holds"} and not result.never_fired else "inconclusive"


def unproven(result: Result) -> bool:
    """Whether there is something to say even to those who want to hear of problems only."""
    return overall(result) != "holds"


def exit_code(result: Result) -> Literal[0, 1, 3, 130]:
    """0 all hold and nothing is vacuous, 1 violated, 3 inconclusive, 130 interrupted."""
    if result.interrupted:
        return 130
    codes: dict[Verdict, Literal[0, 1, 3]] = {"violated": 1, "holds": 0, "inconclusive": 3}
    return codes[overall(result)]
