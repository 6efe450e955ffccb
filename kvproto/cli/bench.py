"""`kvproto bench`: the benchmark protocol against SPIN, in one run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from kvproto.bench.machine import describe, load
from kvproto.bench.plan import SIZES, SPIN, kvproto_ways
from kvproto.bench.report import Report, as_json, as_markdown
from kvproto.bench.rounds import measure_searches
from kvproto.bench.runs import Failed, Workshop, tuned_model
from kvproto.bench.startup import imported, measure_counterexamples, measure_starts
from kvproto.cli.costing import with_costs
from kvproto.cli.options import check_json_file, on_terminal, say, unwritable, write_json
from kvproto.diagnostics import KvError
from kvproto.export import spin

WRONG = 1
"""Exit code if a search did not find the states that there are."""


@click.command()
@click.option(
    "--size", "sizes", multiple=True, type=click.Choice(list(SIZES)), help="Measure at this size (repeatable; all)."
)
@click.option("--rounds", type=click.IntRange(1, 100), metavar="N", help="Rounds; 3, and 1 at XL, unless given.")
@click.option("--way", "keys", multiple=True, metavar="NAME", help="Only this way to search (repeatable).")
@click.option("--workers", type=click.IntRange(2, 64), default=2, show_default=True, metavar="N", help="Several means.")
@click.option("--spin/--no-spin", "with_spin", default=True, help="Compare with SPIN, where it is installed.")
@click.option("--starts/--no-starts", default=True, help="Also measure starting and the first counterexample.")
@click.option("--output", "-o", metavar="FILE", help="Write the tables there instead of to standard output.")
@click.option("--json", "json_file", metavar="FILE", help="Write kvproto.bench/1 (- for standard output).")
@with_costs
def bench(
    sizes: tuple[str, ...],
    rounds: int | None,
    keys: tuple[str, ...],
    workers: int,
    with_spin: bool,
    starts: bool,
    output: str | None,
    json_file: str | None,
) -> int:
    """Measure searches against SPIN, or what mitigations cost.

    Every way to search runs once in each round, one after the other; figures are medians. With nothing given this
    takes some minutes. Exit code 1 says that a search did not find as many states as there are.

    `kvproto bench mitigations` measures, on the device there is, what clearing, checksums, canaries and page tags add
    to moving and reading pages (15 rounds; kvproto.bench.mitigations/1). It needs PyTorch.
    """
    check_json_file(json_file)
    check_json_file(output)
    missing = spin.missing() or ("" if tuned_model().is_file() else "its model is not part of this installation")
    with_spin = with_spin and not missing
    if missing:
        click.echo(f"without SPIN: {missing}", err=True)
    ways = [*(SPIN if with_spin else ()), *kvproto_ways(workers)]
    unknown = set(keys) - {way.key for way in ways}
    if unknown:
        raise KvError(
            "KV022",
            f"there is no way to search called {min(unknown)!r}",
            reason=f"known: {', '.join(way.key for way in ways)}",
            cure="give one of these, or leave --way out",
        )
    chosen = [SIZES[name] for name in sizes or SIZES]
    before = load()
    with tempfile.TemporaryDirectory(prefix="kvproto-bench-") as folder:
        workshop = Workshop(Path(folder))
        try:
            lines = measure_searches(workshop, chosen, [w for w in ways if not keys or w.key in keys], rounds, _tell)
            begun, heavy = [], []
            if starts:
                begun = measure_starts(workshop, rounds or 3, _tell)
                ends = list(dict.fromkeys([chosen[0], chosen[-1]]))
                begun += measure_counterexamples(workshop, ends, rounds or 3, with_spin, _tell)
                heavy = imported(workshop)
        except (Failed, spin.SpinFailed) as problem:
            raise KvError(
                "KV032",
                "a command of the benchmark failed",
                reason=str(problem).strip(),
                cure="run it by itself; --no-spin leaves SPIN out",
            ) from problem
        finally:
            _tell("")
    report = Report(describe(), before, load(), missing, lines, begun, heavy)
    _write(report, output, json_file)
    return 0 if report.right else WRONG


def _tell(text: str) -> None:
    """Progress, for people only."""
    if on_terminal():
        click.echo(f"\r{text}\033[K", nl=False, err=True)


def _write(report: Report, output: str | None, json_file: str | None) -> None:
    text = as_markdown(report)
    if output is None and json_file != "-":
        say(text, newline=False)
    if output is not None:
        try:
            Path(output).write_text(text, encoding="utf-8")
        except (OSError, ValueError) as problem:
            raise unwritable(output, problem) from None
    if json_file is not None:
        write_json(json_file, as_json(report))
