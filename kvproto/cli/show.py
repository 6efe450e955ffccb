"""`kvproto show`: a trace in the terminal."""

from __future__ import annotations

import os
import shutil
import sys

import click

from kvproto.cli.options import say
from kvproto.trace import codec
from kvproto.trace.trace import Trace
from kvproto.view.terminal import render_trace


@click.command()
@click.argument("trace")
@click.option("--width", type=click.IntRange(min=40), help="Columns; default: the terminal's, 80 elsewhere.")
def show(trace: str, width: int | None) -> None:
    """Print a TRACE: why, space-time lanes, page map, steps."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    columns = width or (min(shutil.get_terminal_size((80, 24)).columns, 120) if terminal else 80)
    color = terminal and not os.environ.get("NO_COLOR")
    loaded = codec.read(trace)
    verbs = understanding(loaded)
    say(render_trace(loaded, width=max(columns, 40), color=color, file=trace, verbs=verbs), newline=False)


def understanding(trace: Trace) -> list[str]:
    """Verbs that can do something with a trace: it may come from a model that nobody here knows."""
    from kvproto.cli.explain import properties_of
    from kvproto.lang.load import building_blocks, shipped_models
    from kvproto.replay.adapters import ADAPTERS

    shipped = trace.model in (*shipped_models(), *building_blocks())
    known = shipped and trace.property in properties_of(trace.model)
    return [verb for verb, can in (("replay", trace.model in ADAPTERS), ("explain", known)) if can]
