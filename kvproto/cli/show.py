"""`kvproto show`: a trace in the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from kvproto.trace import codec
from kvproto.view import render_trace


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--width", type=click.IntRange(min=40), help="Columns; default: the terminal's, 80 elsewhere.")
def show(trace: Path, width: int | None) -> None:
    """Print a TRACE: verdict, why, space-time lanes, page map, steps."""
    columns = width or (min(shutil.get_terminal_size((80, 24)).columns, 120) if sys.stdout.isatty() else 80)
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    click.echo(render_trace(codec.read(trace), width=max(columns, 40), color=color, file=str(trace)), nl=False, color=color)
