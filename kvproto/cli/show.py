"""`kvproto show`: a trace in the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping

import click

from kvproto.cli.options import say
from kvproto.diagnostics import KvError, did_you_mean
from kvproto.report.build import report as report_of
from kvproto.report.report import Report
from kvproto.trace import codec
from kvproto.trace.trace import Trace
from kvproto.view.choice import Choice, Part
from kvproto.view.detail import render_step
from kvproto.view.lanes import NARROWEST
from kvproto.view.terminal import render_report


@click.command()
@click.argument("trace")
@click.option("--tui", is_flag=True, help="Step through it with keys (pip install 'kvproto[tui]').")
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="One step in full, with the state after it.")
@click.option("--slice", "guilty", is_flag=True, help="Only the steps that the verdict rests on.")
@click.option("--lane", "lanes", multiple=True, metavar="NAME", help="Only steps of this machine; repeatable.")
@click.option("--request", "requests", multiple=True, metavar="NAME", help="Only steps about it; repeatable.")
@click.option("--page", "pages", multiple=True, metavar="PAGE", help="3 or decode/3: only steps at it; repeatable.")
@click.option("--all", "everything", is_flag=True, help="Nothing left out: all switches, all local steps.")
@click.option("--width", type=click.IntRange(min=40), help="Columns; default: the terminal's, 80 elsewhere.")
def show(
    trace: str,
    tui: bool,
    step: int | None,
    guilty: bool,
    lanes: tuple[str, ...],
    requests: tuple[str, ...],
    pages: tuple[str, ...],
    everything: bool,
    width: int | None,
) -> None:
    """Print a TRACE: why, space-time lanes, page map, steps."""
    loaded = codec.read(trace)
    closer = step is not None or tui
    report = report_of(loaded, file=trace, verbs=understanding(loaded), sources=closer)
    asked = (("lane", lanes), ("request", requests), ("page", pages))
    _check(report, step, dict(asked))
    choice = Choice(tuple(Part(key, values) for key, values in asked if values), guilty=guilty)
    if tui:
        _only_tui(step is not None or everything or width is not None)
        _run_tui(report, choice)
        return
    terminal = sys.stdout is not None and sys.stdout.isatty()
    columns = width or (min(shutil.get_terminal_size((80, 24)).columns, 120) if terminal else 80)
    columns = max(columns, NARROWEST)
    if step is not None:
        if choice.filters or everything:
            raise _apart("--step", "--slice, --lane, --request, --page and --all")
        say(render_step(report, step, width=columns), newline=False)
        return
    color = terminal and not os.environ.get("NO_COLOR")
    text = render_report(
        report, width=columns, color=color, choice=choice if choice.filters else None, everything=everything
    )
    say(text, newline=False)


def _only_tui(more: bool) -> None:
    if more:
        raise _apart("--tui", "--step, --all and --width")


def _apart(one: str, others: str) -> KvError:
    return KvError(
        "KV026",
        f"{one} does not go with {others}",
        reason=f"{one} shows the trace in a way of its own, which they would not change",
        cure="leave one of them out",
    )


def _check(report: Report, step: int | None, asked: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse what the trace does not have: an empty picture would be taken for an answer."""
    end = len(report.rows)
    if step is not None and step > end:
        raise click.BadParameter(f"the trace has {end} steps; --step takes 0 (the start) to {end}")
    labels = [page for pool in report.pools for page in pool.pages]
    full = [f"{pool.name}/{page}" for pool in report.pools for page in pool.pages]
    for key, known in (("lane", report.lanes), ("request", report.requests), ("page", [*full, *labels])):
        _known(f"--{key}", asked[key], known)


def _known(option: str, wanted: Iterable[str], known: Iterable[str]) -> None:
    names = list(dict.fromkeys(known))
    for word in wanted:
        if word not in names:
            there = f"there are {', '.join(names)}" if names else "it has none"
            raise click.BadParameter(f"{option} {word!r} is not in the trace{did_you_mean(word, names)}; {there}")


def _run_tui(report: Report, choice: Choice) -> None:
    """Start the viewer with keys, which is an extra and needs a terminal."""
    # It draws on standard error, so that it would also draw where the text goes to a file.
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise KvError(
            "KV037",
            "--tui has no terminal to draw on",
            reason="standard input, output or error goes to a file or a pipe",
            cure="leave --tui out: kvproto show prints the same as text",
        )
    try:
        from kvproto.tui.app import run
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "textual":
            raise
        raise KvError(
            "KV038",
            "--tui needs the package textual, which is not installed",
            reason="the viewer with keys is an extra, so that everything else does without it",
            cure="pip install 'kvproto[tui]', or leave --tui out",
        ) from None
    run(report, choice)


def understanding(trace: Trace) -> list[str]:
    """Verbs that can do something with a trace: it may come from a model that nobody here knows."""
    from kvproto.cli.explain import properties_of
    from kvproto.lang.load import every_model
    from kvproto.replay.adapters import ADAPTERS

    shipped = trace.model in every_model()
    known = shipped and trace.property in properties_of(trace.model)
    return [verb for verb, can in (("replay", trace.model in ADAPTERS), ("explain", known)) if can]
