"""Results as Markdown and as `kvproto.bench/1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvproto.bench.plan import BASELINE
from kvproto.bench.rounds import Line, ratio
from kvproto.bench.startup import Start


@dataclass(frozen=True, slots=True)
class Report:
    """All that one run measured."""

    machine: dict[str, str]
    load_before: str
    load_after: str
    missing: str
    lines: Sequence[Line]
    starts: Sequence[Start]
    imported: Sequence[str]

    @property
    def right(self) -> bool:
        """Whether every search found as many states as it should."""
        return all(line.right for line in self.lines)


def as_json(report: Report) -> dict[str, object]:
    """Everything, single measurements included."""
    return {
        "schema": "kvproto.bench/1",
        "machine": report.machine,
        "load": {"before": report.load_before, "after": report.load_after},
        "missing": report.missing or None,
        "baseline": BASELINE,
        "searches": [_search(line, report.lines) for line in report.lines],
        "starts": [
            {"what": s.what, "tool": s.tool, "size": s.size, "cpu": s.cpu, "wall": s.wall, "steps": s.steps}
            for s in report.starts
        ],
        "heavy_modules_imported": list(report.imported),
    }


def _search(line: Line, lines: Sequence[Line]) -> dict[str, object]:
    first = line.samples[0]
    return {
        "way": line.way.key,
        "title": line.way.title,
        "tool": line.way.tool,
        "options": list(line.way.options),
        "size": line.size.name,
        "rounds": len(line.samples),
        "states": first.states,
        "transitions": first.transitions,
        "expected_states": line.expected,
        "right": line.right,
        "cpu": line.cpu(),
        "cpu_search": line.search(),
        "wall": line.wall(),
        "states_per_cpu_second": first.states / line.cpu(),
        "states_per_cpu_second_search": first.states / line.search() if line.lasts else None,
        "ratio": ratio(line, lines, whole=True),
        "ratio_search": ratio(line, lines, whole=False),
        "peak_bytes": line.peak(),
        "peak_bytes_per_state": line.peak() / first.states,
        "own_bytes_per_state": first.own_bytes,
        "samples": [
            {"cpu": s.cost.cpu, "wall": s.cost.wall, "seconds": s.seconds, "peak": s.cost.peak} for s in line.samples
        ],
        "cpu_until_first_state": line.starts,
    }


def as_markdown(report: Report) -> str:
    """Tables for people."""
    parts = [_machine(report)]
    for size in dict.fromkeys(line.size.name for line in report.lines):
        parts.append(_table(size, [line for line in report.lines if line.size.name == size]))
    parts.append(_starts(report))
    return "\n\n".join(part for part in parts if part) + "\n"


def _machine(report: Report) -> str:
    rows = [*report.machine.items(), ("load before", report.load_before), ("load after", report.load_after)]
    text = "\n".join(["| machine | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])
    return text if not report.missing else f"{text}\n\nWithout SPIN: {report.missing}."


HEAD = (
    "| way | states | CPU s | of it search | wall s | states per CPU s | ratio | search alone "
    "| peak MiB | B per state | by its own count |"
)


def _table(size: str, lines: Sequence[Line]) -> str:
    """One size."""
    scope = lines[0].size
    what = f"{scope.requests} requests, {scope.pages} pages, {scope.each} each; rounds: {len(lines[0].samples)}"
    rows = [f"### {size}: {what}", "", HEAD, "|---|" + "---:|" * 10]
    for line in lines:
        first = line.samples[0]
        cells = [
            line.way.title,
            f"{first.states:,}" + ("" if line.right else f" (should be {line.expected:,})"),
            _seconds(line.cpu()),
            _seconds(line.search()),
            _seconds(line.wall()),
            _thousands(first.states / line.cpu()),
            _times(ratio(line, lines, whole=True)),
            _times(ratio(line, lines, whole=False)),
            f"{line.peak() / 2**20:.0f}",
            f"{line.peak() / first.states:.0f}",
            f"{first.own_bytes:.1f}",
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _starts(report: Report) -> str:
    if not report.starts:
        return ""
    rows = ["### Beginnings", "", "| what | tool | size | CPU s | wall s | steps |", "|---|---|---|---:|---:|---:|"]
    for s in report.starts:
        steps = "" if s.steps is None else str(s.steps)
        rows.append(f"| {s.what} | {s.tool} | {s.size} | {_seconds(s.cpu)} | {_seconds(s.wall)} | {steps} |")
    heavy = ", ".join(report.imported) or "none of z3, torch, numpy, rich, hypothesis"
    return "\n".join([*rows, "", f"Heavy modules that a check imports: {heavy}."])


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def _thousands(value: float) -> str:
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
