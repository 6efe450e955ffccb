"""`kvproto mitigations`: which sets of switches suffice, and a trace for each that does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kvproto.cli.options import check_json_file, on_terminal, say, seconds, setting, size, unwritable, write_json
from kvproto.cli.traces import variant
from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.engine.search import select
from kvproto.explain.why import with_why
from kvproto.lang.load import Target, find
from kvproto.mitigations.answer import Answer, answer, asked
from kvproto.mitigations.judge import Judge, Work
from kvproto.mitigations.picture import picture
from kvproto.mitigations.result import as_json, exit_code
from kvproto.mitigations.switches import Question, question
from kvproto.mitigations.text import describe, describe_asked
from kvproto.trace import codec
from kvproto.trace.build import build_trace

TRACES = ".kvproto/traces"


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--drop", is_flag=True, help="Which of the mitigations that are on in TARGET are needed?")
@click.option("--from", "start", metavar="PRESET", help="Which of those that TARGET has more than PRESET are needed?")
@click.option("--switches", metavar="A,B,...", help="Try these switches, whatever they are on or off for in TARGET.")
@click.option("--ask", "sets_asked", multiple=True, metavar="A,B", help="Judge only this set; -A: all but A; none.")
@click.option("--exact/--boundary", "all_sets", default=None, help="Decide all sets, or those near the boundary.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Fix a parameter or the size of a sort.")
@click.option("--scope", metavar="NAME", help="How large a world to search (kvproto list).")
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Only this property (repeatable).")
@click.option("--engine", type=click.Choice(["compiled", "reference"]), default="compiled", show_default=True)
@click.option("--max-sets", type=click.IntRange(min=1), metavar="N", help="Look at N sets at most.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, metavar="N", help="Processes that decide sets.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, metavar="N", help="Threads of each search.")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Budget of each search.")
@click.option("--max-depth", type=click.IntRange(min=1), metavar="N", help="Levels of each search.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    callback=seconds,
    metavar="SECONDS",
    help="Of each search.",
)
@click.option("--memory-limit", callback=size, metavar="BYTES", help="Of each search, such as 512M or 2G.")
@click.option("--symmetry/--no-symmetry", default=None, help="As in check.")
@click.option("--por/--no-por", default=False, help="As in check.")
@click.option("--trace-dir", default=TRACES, show_default=True, metavar="DIR", help="Where traces are written.")
@click.option("--json", "json_file", metavar="FILE", help="Write kvproto.mitigations/1 (- for standard output).")
@click.option("--svg", metavar="FILE", help="Draw the answer.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors; the exit code, files and --json tell.")
def mitigations(target: str, json_file: str | None, svg: str | None, **given: Any) -> int:
    """Find the sets of switches with which TARGET is right.

    Prints the smallest sets that suffice and the largest ones that do not, each of these with a trace. By default the
    switches are the mitigations that are off in TARGET: what has to be added?

    Exit codes: 0 some set suffices for every property, 1 for some property none does (with --ask: a set does not
    suffice), 3 inconclusive.
    """
    _refuse_two_questions(given)
    found = find(target)
    what = question(
        found,
        scope=given["scope"],
        sets=dict(setting(text) for text in given["sets"]),
        switches=_listed(given["switches"]),
        start=given["start"],
        drop=given["drop"],
    )
    wanted = [_set(what, text) for text in given["sets_asked"]]
    names = [claim.name for claim in select(what.system(0), given["properties"])]
    codec.prepare(given["trace_dir"])
    check_json_file(json_file)
    check_json_file(svg)
    told = _found(what, names, wanted, given)
    traces = _write(told, found, Path(given["trace_dir"]))
    if json_file != "-" and not given["quiet"]:
        for line in describe(told, traces) if told.goals else describe_asked(told, traces):
            say(line)
    if json_file is not None:
        write_json(json_file, as_json(told, traces))
    if svg is not None:
        _draw(svg, told)
    return exit_code(told)


def _listed(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _set(what: Question, text: str) -> int:
    return 0 if text.strip() == "none" else what.mask(_listed(text))


def _refuse_two_questions(given: dict[str, Any]) -> None:
    asked = [f"--{name}" for name in ("drop", "switches") if given[name]] + ["--from"] * bool(given["start"])
    if len(asked) > 1:
        raise KvError(
            "KV026",
            f"{' and '.join(asked)} ask different questions",
            reason="each of them says which switches are tried",
            cure="leave out all but one",
        )


def _found(what: Question, names: list[str], wanted: list[int], given: dict[str, Any]) -> Answer:
    fields = ("engine", "workers", "max_states", "max_depth", "time_limit", "memory_limit", "symmetry", "por")
    options = Options(**{name: given[name] for name in fields})
    shown = on_terminal() and not given["quiet"]
    try:
        how = {"jobs": given["jobs"], "max_sets": given["max_sets"], "progress": _progress(what) if shown else None}
        with Judge(what, names, options, **how) as judge:
            return asked(what, judge, wanted) if wanted else answer(what, judge, all_sets=given["all_sets"])
    finally:
        if shown:
            click.echo("\r\033[K", nl=False, err=True)


def _progress(what: Question) -> Callable[[Work], None]:
    def show(now: Work) -> None:
        click.echo(
            f"\r{what.target}  {now.sets:,} of {1 << len(what.switches):,} sets  {now.searches:,} searches  "
            f"{now.states:,} states\033[K",
            nl=False,
            err=True,
        )

    return show


def _write(told: Answer, target: Target, folder: Path) -> dict[tuple[int, str], str]:
    """A trace for every counterexample, named as `check` with the same settings names it."""
    files = {}
    for (chosen, name), run in told.runs.items():
        system = told.systems[chosen]
        trace = with_why(system, run, build_trace(system, run))
        label = variant(target, told.question.choice(chosen))
        files[chosen, name] = str(codec.write(trace, folder, variant=label))
    return files


def _draw(file: str, told: Answer) -> None:
    try:
        Path(file).write_text(picture(told), encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise unwritable(file, problem) from None
