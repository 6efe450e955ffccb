"""`kvproto suite`: every known bug is found, every fix holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kvproto.cli.options import check_json_file, on_terminal, say, seconds, size, write_text
from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.suite import outputs
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
@click.option("--junit", metavar="FILE", help="Write JUnit XML: a test an entry.")
@click.option("--sarif", metavar="FILE", help="Write SARIF 2.1.0: what is not as expected.")
@click.option("--markdown", metavar="FILE", help="Write a summary for a pull request.")
@click.option("--quiet", "-q", is_flag=True, help="Print only what is not as expected.")
def suite(expression: str | None, only_list: bool, workers: int | None, json_file: str | None, **given: Any) -> int:
    """Find every known bug again, and hold every fix to it.

    Searches every shipped model of a public report, buggy and fixed, and compares with what has to be found.

    Exit 1 if a known bug is not found, if its shortest run has another length, or if a fix does not hold.
    """
    files = {"--json": json_file, **{f"--{kind}": given.pop(kind) for kind in ("junit", "sarif", "markdown")}}
    _refuse_places(files)
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
    codes = {judgement.code for judgement in judged}
    code = 1 if 1 in codes else 3 if 3 in codes else 0
    _write(files, judged, code)
    if "-" not in files.values():
        for line in table(judged, quiet=quiet):
            say(line)
    return code


def _refuse_places(files: Mapping[str, str | None]) -> None:
    """Find out before the searches that results would have no place to go, or the same place (KV021, KV026)."""
    taken: dict[object, str] = {}
    for option, file in files.items():
        if file is None:
            continue
        place = file if file == "-" else Path(file).absolute()
        if place in taken:
            raise KvError(
                "KV026",
                f"{option} and {taken[place]} name the same file, {file}",
                reason="one would replace the other",
                cure="name two files",
            )
        taken[place] = option
        check_json_file(file)


def _write(files: Mapping[str, str | None], judged: Sequence[Judgement], code: int) -> None:
    makers: dict[str, Callable[[], str]] = {
        "--json": lambda: json.dumps(_as_json(judged), indent=2) + "\n",
        "--junit": lambda: outputs.junit(judged),
        "--sarif": lambda: outputs.sarif(judged, code),
        "--markdown": lambda: outputs.markdown(judged),
    }
    for option, file in files.items():
        if file is not None:
            write_text(file, makers[option]())


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
