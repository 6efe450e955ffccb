"""`kvproto check --minimise`: smaller runs in place of those that the search came upon."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap

from kvproto.cli.traces import trace_of
from kvproto.engine.outcome import Finding, Result
from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen
from kvproto.lang.model import Model
from kvproto.trace import codec
from kvproto.trace.analysis import Analysis
from kvproto.trace.printable import printable
from kvproto.view.verdicts import Row
from kvproto.whatif.budget import Budget
from kvproto.whatif.minimise import Minimised, minimise
from kvproto.whatif.worlds import World

INDENT, WIDTH = "    ", 80


@dataclass(frozen=True, slots=True)
class Searched:
    """What was searched, so that smaller worlds of it can be made."""

    model: Model
    chosen: Chosen
    system: System
    variant: str


def minimised(row: Row, searched: Searched, folder: Path, seconds: float | None = None) -> tuple[Row, list[str]]:
    """The row with smaller runs, whose traces take the place of the others; and what to say about it.

    `seconds` may be spent on each run.  Ctrl-C leaves the runs that have not been looked at as they are.
    """
    if row.result.interrupted:
        return row, []
    findings, lines = list(row.result.findings), list[str]()
    stopped = False
    try:
        for place, finding in enumerate(findings):
            found = finding.counterexample
            world = None if found is None else World(searched.chosen, searched.system, found)
            smaller = None if world is None else minimise(searched.model, world, Budget(seconds=seconds))
            if smaller is not None:
                _write(row.result, finding, smaller, searched.variant, folder)
                lines += _told(finding.claim.name, smaller)
                findings[place] = replace(finding, counterexample=smaller.world.found)
    except KeyboardInterrupt:
        stopped = True
        lines.append("  minimising was interrupted: the other runs are as the search came upon them")
    return Row(row.target, replace(row.result, findings=tuple(findings), interrupted=stopped), row.traces), lines


def _write(result: Result, finding: Finding, smaller: Minimised, variant: str, folder: Path) -> None:
    trace = trace_of(smaller.world.system, result, finding, smaller.world.found)
    trace = replace(
        trace, shortest=smaller.order == "runs" or trace.shortest, analysis=Analysis(minimised=smaller.words())
    )
    codec.write(trace, folder, variant=variant)


def _told(name: str, smaller: Minimised) -> Iterator[str]:
    """A line for each thing that was found out."""
    yield f"  minimised  {printable(name)}"
    for sentence in smaller.words():
        yield from wrap(printable(sentence), WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
