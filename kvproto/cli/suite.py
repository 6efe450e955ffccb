"""`kvproto suite`: every known bug is found, every fix holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import click

from kvproto.cli.options import on_terminal, refuse_places, say, seconds, size, write_json, write_text
from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.suite import outputs
from kvproto.suite.entries import Entry, entries
from kvproto.suite.mutation import Trial, exit_code, subjects, try_all
from kvproto.suite.mutation_table import mutation_json, mutation_table
from kvproto.suite.needless import needless
from kvproto.suite.run import Judgement, judge_all, usual_workers
from kvproto.suite.table import table, totals
from kvproto.suite.wanted import wanted
from kvproto.view.verdicts import Row, as_json

SCHEMA = "kvproto.suite/1"
MUTANTS_SCHEMA = "kvproto.suite-mutants/1"


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("-k", "expression", metavar="EXPR", help="Only entries with these words: 'sglang and not leak'.")
@click.option("--mutants", is_flag=True, help="Leave out each guard of each fix: is that caught?")
@click.option("--list", "only_list", is_flag=True, help="Print the entries and search nothing.")
@click.option("--workers", type=click.IntRange(1, 64), metavar="N", help="Processes; default: the number of cores.")
@click.option("--engine", type=click.Choice(["compiled", "reference"]), default="compiled", show_default=True)
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop an entry, inconclusive, after that.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), callback=seconds, metavar="SECONDS", help="For each."
)
@click.option("--memory-limit", callback=size, metavar="BYTES", help="For each, such as 512M.")
@click.option(
    "--json", "json_file", metavar="FILE", help=f"Write {SCHEMA} or {MUTANTS_SCHEMA} (- for standard output)."
)
@click.option("--junit", metavar="FILE", help="Write JUnit XML: a test an entry.")
@click.option("--sarif", metavar="FILE", help="Write SARIF 2.1.0: what is not as expected.")
@click.option("--markdown", metavar="FILE", help="Write a summary for a pull request.")
@click.option("--quiet", "-q", is_flag=True, help="Print only what is not as expected.")
def suite(
    targets: tuple[str, ...],
    expression: str | None,
    mutants: bool,
    only_list: bool,
    workers: int | None,
    json_file: str | None,
    quiet: bool,
    **given: Any,
) -> int:
    """Find every known bug again, and hold every fix to it.

    Searches every shipped model of a public report, buggy and fixed, and compares with what its presets expect; or the
    models that TARGETs name, such as your own: kvproto suite my_model.py.

    Exit 1 if a known bug is not found, if its shortest run has another length, or if a fix does not hold.  With
    --mutants: if a fix can do without one of its guards, and nobody has said why.
    """
    files = {"--json": json_file, **{f"--{kind}": given.pop(kind) for kind in ("junit", "sarif", "markdown")}}
    refuse_places(files)
    if mutants:
        _refuse_with_mutants(files)
    chosen = subjects(_chosen(targets, expression)) if mutants else _chosen(targets, expression)
    if not chosen:
        raise _nothing(expression, "no fixed preset of a report fits it")
    if only_list:
        for entry in chosen:
            say(entry.target)
        return 0
    options, workers = Options(**given), workers or usual_workers()
    if mutants:
        trials = _in_order(try_all(chosen, options, workers), chosen, quiet=quiet)
        return _tell_mutants(trials, json_file, quiet=quiet)
    judged = _in_order(judge_all(chosen, options, workers), chosen, quiet=quiet)
    return _tell(judged, files, quiet=quiet)


class _OfEntry(Protocol):
    @property
    def entry(self) -> Entry: ...


Found = TypeVar("Found", bound=_OfEntry)


def _in_order(coming: Iterable[Found], chosen: Sequence[Entry], *, quiet: bool) -> list[Found]:
    """Say how far it is, and put what comes as it is done into the order of the entries."""
    found: list[Found] = []
    shown = on_terminal() and not quiet
    for one in coming:
        found.append(one)
        if shown:
            click.echo(f"\r{len(found)} of {len(chosen)}  {one.entry.target}\033[K", nl=False, err=True)
    if shown:
        click.echo("\r\033[K", nl=False, err=True)
    return sorted(found, key=lambda one: chosen.index(one.entry))


def _tell(judged: Sequence[Judgement], files: Mapping[str, str | None], *, quiet: bool) -> int:
    codes = {judgement.code for judgement in judged}
    code = 1 if 1 in codes else 3 if 3 in codes else 0
    _write(files, judged, code)
    if "-" not in files.values():
        for line in table(judged, quiet=quiet):
            say(line)
    return code


def _tell_mutants(trials: Sequence[Trial], json_file: str | None, *, quiet: bool) -> int:
    known = needless(trial.entry.model for trial in trials)
    if json_file is not None:
        write_json(json_file, {"schema": MUTANTS_SCHEMA, **mutation_json(trials, known)})
    if json_file != "-":
        for line in mutation_table(trials, known, quiet=quiet):
            say(line)
    return exit_code(trials, known)


def _refuse_with_mutants(files: Mapping[str, str | None]) -> None:
    """What is told of entries to CI systems says nothing about their guards (KV026)."""
    for option, file in files.items():
        if file is not None and option != "--json":
            raise KvError(
                "KV026",
                f"{option} does not go with --mutants",
                reason="it writes what became of known bugs and fixes, not of their guards",
                cure="take --json, or leave --mutants out",
            )


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


def _chosen(targets: Sequence[str], expression: str | None) -> list[Entry]:
    found = list(entries(targets))
    if expression is None:
        return found
    wants = wanted(expression)
    some = [entry for entry in found if wants(entry.words)]
    if not some:
        raise _nothing(expression, "a word is looked for in model, preset, engine, mechanism, properties and reports")
    return some


def _nothing(expression: str | None, reason: str) -> KvError:
    return KvError(
        "KV048",
        f"-k {expression!r} selects no entry",
        reason=reason,
        cure="kvproto suite --list  shows all entries",
    )


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
