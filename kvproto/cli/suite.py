"""`kvproto suite`: every known bug is found, every fix holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from kvproto.cli.options import check_json_file, on_terminal, say, seconds, size, write_json
from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.suite.entries import Entry, entries
from kvproto.suite.run import Judgement, judge_all, usual_workers
from kvproto.suite.table import table, totals
from kvproto.suite.wanted import wanted
from kvproto.view.verdicts import Row, as_json

SCHEMA = "kvproto.suite/1"


@click.command()
@click.option("-k", "expression", metavar="EXPR", help="Only entries with these words: 'sglang and not leak'.")
@click.option("--list", "only_list", is_flag=True, help="Print the entries and search nothing.")
@click.option("--workers", type=click.IntRange(1, 64), metavar="N", help="Processes; default: the number of cores.")
@click.option("--engine", type=click.Choice(["compiled", "reference"]), default="compiled", show_default=True)
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop an entry, inconclusive, after that.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), callback=seconds, metavar="SECONDS", help="For each."
)
@click.option("--memory-limit", callback=size, metavar="BYTES", help="For each, such as 512M.")
@click.option("--json", "json_file", metavar="FILE", help=f"Write {SCHEMA} (- for standard output).")
@click.option("--quiet", "-q", is_flag=True, help="Print only what is not as expected.")
def suite(expression: str | None, only_list: bool, workers: int | None, json_file: str | None, **given: Any) -> int:
    """Search every shipped model of a public bug, buggy and fixed, and compare with what has to be found.

    Exit 1 if a known bug is not found, if its shortest run has another length, or if a fix does not hold.
    """
    check_json_file(json_file)
    chosen = _chosen(expression)
    if only_list:
        for entry in chosen:
            say(entry.target)
        return 0
    quiet = given.pop("quiet")
    judged: list[Judgement] = []
    for judgement in judge_all(chosen, Options(**given), workers or usual_workers()):
        judged.append(judgement)
        if on_terminal() and not quiet:
            click.echo(f"\r{len(judged)} of {len(chosen)}  {judgement.entry.target}\033[K", nl=False, err=True)
    if on_terminal() and not quiet:
        click.echo("\r\033[K", nl=False, err=True)
    judged.sort(key=lambda judgement: chosen.index(judgement.entry))
    if json_file is not None:
        write_json(json_file, _as_json(judged))
    if json_file != "-":
        for line in table(judged, quiet=quiet):
            say(line)
    codes = {judgement.code for judgement in judged}
    return 1 if 1 in codes else 3 if 3 in codes else 0


def _chosen(expression: str | None) -> list[Entry]:
    found = list(entries())
    if expression is None:
        return found
    wants = wanted(expression)
    some = [entry for entry in found if wants(entry.words)]
    if not some:
        raise KvError(
            "KV048",
            f"-k {expression!r} selects none of {len(found)} entries",
            reason="a word is looked for in model, preset, engine, mechanism, properties and reports",
            cure="kvproto suite --list  shows all entries",
        )
    return some


def _as_json(judged: Sequence[Judgement]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "summary": totals(judged),
        "entries": [
            {
                "target": j.entry.target,
                "reports": [
                    {"where": r.where, "engine": r.engine, "mechanism": r.mechanism.name, "established": r.established}
                    for r in j.entry.reports
                ],
                "expected": dict(j.entry.expected),
                "as_expected": {0: True, 1: False, 3: None}[j.code],
                "differences": j.words(),
                "result": as_json(Row(j.entry.target, j.result, {})),
            }
            for j in judged
        ],
    }
