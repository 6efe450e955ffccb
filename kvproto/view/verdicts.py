"""Search results as text and as `kvproto.result/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvproto import __version__
from kvproto.engine.search import Finding, Result

WORDS = {"holds": "holds", "violated": "VIOLATED", "inconclusive": "INCONCL."}


def as_json(target: str, result: Result, traces: Mapping[str, str]) -> dict[str, object]:
    """One object of schema `kvproto.result/1`; `traces` maps properties to trace files."""
    system = result.system
    return {
        "schema": "kvproto.result/1",
        "kvproto": __version__,
        "target": target,
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
        "properties": [_property(f, traces.get(f.claim.name)) for f in result.findings],
    }


def _property(finding: Finding, trace: str | None) -> dict[str, object]:
    length = len(finding.counterexample.steps) if finding.counterexample else None
    return {
        "name": finding.claim.name,
        "kind": finding.claim.kind,
        "verdict": finding.verdict,
        "strength": finding.strength,
        "trace": trace,
        "length": length,
    }


def describe(target: str, result: Result, traces: Mapping[str, str]) -> list[str]:
    """The result of one target for a terminal: a line a property, the totals, warnings."""
    system = result.system
    scope = f"  scope {system.scope}" if system.scope else ""
    lines = [f"{target}{scope}  engine {tier_words(result)}"]
    width = max((len(f.claim.name) for f in result.findings), default=0)
    for finding in result.findings:
        row = f"  {WORDS[finding.verdict]:<9} {finding.claim.name:<{width}}  {finding.strength}"
        if finding.counterexample is not None:
            steps = len(finding.counterexample.steps)
            row += f"  {steps} step{'' if steps == 1 else 's'} -> {traces.get(finding.claim.name, '(no trace written)')}"
        lines.append(row)
    end = "complete" if result.complete else f"stopped: {result.stopped}"
    lines.append(
        f"  {result.states:,} states  {result.transitions:,} transitions  depth {result.depth}  "
        f"{result.seconds:.2f} s  {result.bytes_per_state:.0f} bytes/state  {end}"
    )
    lines += warnings(result)
    return lines


def tier_words(result: Result) -> str:
    """Which tier ran, and why a slower one."""
    words = {"C": "C", "Python": "Python (slower)", "reference": "reference"}[result.tier]
    return f"{words}: {result.tier_note}" if result.tier_note else words


def warnings(result: Result) -> list[str]:
    """KV301 for every action that never fired."""
    return [
        f"  warning KV301  action {name} never fired in this scope: what it does has not been checked"
        for name in result.never_fired
    ]


def table(rows: Sequence[tuple[str, Result, str]]) -> list[str]:
    """The preset table: one line a target; the last part of a row says where its traces are."""
    width = max(len(target) for target, _, _ in rows)
    lines = []
    for target, result, where in rows:
        broken = [(f.claim.name, f.counterexample) for f in result.findings]
        named = ", ".join(f"{name} ({len(found.steps)})" for name, found in broken if found is not None)
        extent = f"{result.states:,} states, " + ("complete" if result.complete else f"stopped: {result.stopped}")
        traces = f"  -> {where}" if named else ""
        words = WORDS[overall(result)]
        lines.append(f"{target:<{width}}  {words:<9} {named or 'no property violated'}  [{extent}]{traces}")
        lines += warnings(result)
    return lines


def overall(result: Result) -> str:
    """The worst verdict of a result; nothing selected is inconclusive."""
    verdicts = {f.verdict for f in result.findings}
    if "violated" in verdicts:
        return "violated"
    return "holds" if verdicts == {"holds"} and not result.never_fired else "inconclusive"


def exit_code(result: Result) -> int:
    """0 all hold and nothing is vacuous, 1 violated, 3 inconclusive, 130 interrupted."""
    if result.interrupted:
        return 130
    return {"violated": 1, "holds": 0, "inconclusive": 3}[overall(result)]
