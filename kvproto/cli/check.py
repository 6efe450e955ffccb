"""`kvproto check`: search targets, print verdicts, write traces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from kvproto.cli.live import Watch, wanted
from kvproto.cli.options import say, setting
from kvproto.cli.outputs import Outputs, Told, again
from kvproto.cli.project import ProjectCommand, configured_targets
from kvproto.cli.search_options import search_options, to_options
from kvproto.cli.traces import TraceFolder, variant
from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options, Result
from kvproto.engine.search import search, select
from kvproto.ir.digest import digest
from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import Target, find
from kvproto.lang.model import Model
from kvproto.trace import codec
from kvproto.trace.printable import printable
from kvproto.view.verdicts import Row, describe, exit_code, resuming, table, unproven

TRACES = ".kvproto/traces"

UNASKED = "interrupted.checkpoint"
"""The journal, beside the traces, of a long search for which nobody asked for one."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the options of `check` ask for, for each target."""

    sets: dict[str, str]
    scope: str | None
    options: Options
    trace_dir: Path
    quiet: bool
    watched: bool
    minimise: bool
    reuse: bool


@dataclass(frozen=True, slots=True)
class Job:
    """One system to search, under the name that it was asked for with."""

    target: str
    system: System
    variant: str
    """What the names of its traces say beside model and preset."""
    model: Model
    chosen: Chosen


@click.command(cls=ProjectCommand)
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--profile", metavar="NAME", help="Options of [tool.kvproto.profile.NAME] in pyproject.toml.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Fix a parameter or the size of a sort.")
@click.option("--scope", metavar="NAME", help="How large a world to search (kvproto list).")
@search_options
@click.option("--trace-dir", default=TRACES, show_default=True, metavar="DIR", help="Where traces are written.")
@click.option("--reuse/--no-reuse", default=False, help="First take runs there again; search only for what they leave.")
@click.option("--json", "json_file", metavar="FILE", help="Write kvproto.result/1 (- for standard output).")
@click.option("--sarif", metavar="FILE", help="Write SARIF 2.1.0, for code scanning.")
@click.option("--junit", metavar="FILE", help="Write JUnit XML, a test case a property.")
@click.option("--github/--no-github", default=None, help="Annotations and step summary; on in GitHub Actions.")
@click.option("--progress/--no-progress", default=None, help="Show how a search goes; off with --quiet.")
@click.option("--minimise", is_flag=True, help="Look for smaller worlds and runs that are easier to read.")
@click.option("--quiet", "-q", is_flag=True, help="Print only what does not hold; no progress.")
def check(targets: tuple[str, ...], **options: Any) -> int:
    """Search TARGETs exhaustively and judge their properties.

    A TARGET is a shipped model `name[@preset]`, a file `model.py[:object][@preset]`, or `package.module:object`.
    Without one: what [tool.kvproto] in the nearest pyproject.toml names, else every preset of the shipped sglang model.
    That table may also hold options by their names, for all (`time-limit = 60`) or in a profile.
    """
    names = list(targets) or configured_targets(Path.cwd(), options["profile"])
    request = _request(options, alone=len(names) == 1)
    outputs = Outputs.asked(options)
    outputs.refuse(_journals(request))
    try:
        return _check(names, request, outputs)
    except KvError as error:
        outputs.write_refusal(error.diagnostic, names)
        raise


def _check(names: list[str], request: Request, outputs: Outputs) -> int:
    in_table = not names
    # Everything that can be refused is refused before the first search.
    jobs = [_prepare(find(name), request) for name in names or default_targets()]
    _refuse_namesakes(jobs)
    _refuse_shared_checkpoint(jobs, request)
    codec.prepare(request.trace_dir)
    watch = Watch(len(jobs)) if request.watched else None
    rows: list[Row] = []
    for job in jobs:
        row, words = run_job(job, request, watch), list[str]()
        if request.minimise:
            row, words = _minimised(row, job, request)
        rows.append(row)
        if not in_table and not outputs.on_stdout:
            _print([*describe(row, quiet=request.quiet), *words])
        if rows[-1].result.interrupted:
            break
    if in_table and not outputs.on_stdout:
        _print(table([row for row in rows if not request.quiet or unproven(row.result)]))
    code = worst([exit_code(row.result) for row in rows])
    outputs.write(Told(rows, code, [(job.target, again(job.target, request.sets, request.scope)) for job in jobs]))
    if rows[-1].result.interrupted:
        click.echo("interrupted: the figures are partial" + _way_on(rows[-1]), err=True)
    return code


def _request(given: dict[str, Any], alone: bool) -> Request:
    trace_dir = Path(given["trace_dir"])
    return Request(
        sets=dict(setting(text) for text in given["sets"]),
        scope=given["scope"],
        options=to_options(given, trace_dir / UNASKED if alone else None),
        trace_dir=trace_dir,
        quiet=given["quiet"],
        watched=wanted(given["progress"], quiet=given["quiet"]),
        minimise=given["minimise"],
        reuse=given["reuse"] and not _wants_all(given),
    )


def _wants_all(given: dict[str, Any]) -> bool:
    """Whether an option asks for the search for every property, so that kept runs can spare nothing."""
    for option in ("resume", "checkpoint", "keep_going"):
        if given[option] and given["reuse"]:
            click.echo(f"kept runs are not used: --{option.replace('_', '-')} is about the whole search", err=True)
            return True
    return False


def default_targets() -> list[str]:
    """Every preset of the shipped SGLang model."""
    return [f"sglang@{preset.name}" for preset in find("sglang").model.presets]


def _prepare(target: Target, request: Request) -> Job:
    chosen = choose(target.model, preset=target.preset, scope=request.scope, sets=request.sets)
    system = build(target.model, chosen)
    select(system, request.options.properties)
    return Job(target.text, system, variant(target, chosen), target.model, chosen)


def _refuse_namesakes(jobs: list[Job]) -> None:
    """Traces are named after model, preset and variant; those of two models must not replace each other."""
    first: dict[tuple[str, str, str], Job] = {}
    for job in jobs:
        system = job.system
        other = first.setdefault((system.model, system.preset, job.variant), job)
        if other is not job and digest(other.system) != digest(system):
            raise KvError(
                "KV014",
                f"{job.target} and {other.target} would write traces of the same names",
                reason=f"both models are called {system.model!r}, and traces are named after model and preset",
                cure="check them in two runs with two folders:  --trace-dir DIR",
            )


def _journals(request: Request) -> list[Path]:
    """The files that the search itself is asked to write."""
    return [place for place in (request.options.checkpoint, request.options.resume) if place]


def _refuse_shared_checkpoint(jobs: list[Job], request: Request) -> None:
    if len(jobs) > 1 and _journals(request):
        raise KvError(
            "KV026",
            "--checkpoint and --resume with several targets",
            reason="a checkpoint belongs to one search",
            cure="check one target at a time",
        )


def _way_on(row: Row) -> str:
    words = resuming(row.result)
    return f"; go on with {words}" if words else ""


def run_job(job: Job, request: Request, watch: Watch | None = None) -> Row:
    """Search one system and write a trace for each violated property; with `reuse` only for what kept runs leave."""
    traces = TraceFolder(request.trace_dir, job.system, job.variant)
    if not request.reuse:
        return Row(job.target, _searched(job, request.options, traces, watch), traces.written)
    from kvproto.cli.kept import with_kept  # most checks do without

    def rest(options: Options) -> Result:
        return _searched(job, options, traces, watch)

    result = with_kept(traces, request.options, rest, lambda line: click.echo(line, err=True))
    return Row(job.target, result, traces.written)


def _searched(job: Job, options: Options, traces: TraceFolder, watch: Watch | None) -> Result:
    """Search, write the traces of what was found, and say which are out of date."""
    try:
        seen = watch.begin(job.target, options.memory_limit) if watch else None
        result = search(job.system, options, seen)
    finally:
        if watch:
            watch.end()
    for path in traces.keep(result):
        click.echo(f"removed {printable(str(path))}: the run that it tells of is no longer possible", err=True)
    return result


def _minimised(row: Row, job: Job, request: Request) -> tuple[Row, list[str]]:
    """The same with smaller runs, and what to say of them."""
    from kvproto.cli.minimising import Searched, minimised  # most checks do without

    searched = Searched(job.model, job.chosen, job.system, job.variant)
    return minimised(row, searched, request.trace_dir, request.options.time_limit)


def _print(lines: list[str]) -> None:
    for line in lines:
        say(line)


def worst(codes: list[int]) -> int:
    """The exit code of several results: 130 > 70 > 2 > 1 > 3 > 0."""
    order = [130, 70, 2, 1, 3, 0]
    return min(codes, key=order.index, default=3)
