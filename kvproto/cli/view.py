"""`kvproto view`: traces as one self-contained page."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kvproto.cli.options import check_json_file, refuse_input, say, write_text
from kvproto.cli.show import understanding
from kvproto.diagnostics import KvError
from kvproto.report import Report, report
from kvproto.trace import codec
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from kvproto.replay import ReplayResult

STDOUT = "-"


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="Where to write the page; default: the name of the trace (of the folder, else `traces`) with .html, in the"
    " current folder; - for standard output.",
)
@click.option(
    "--replay", "replayed", is_flag=True, help="Run the reference implementation too, and show it beside the model."
)
@click.option("--open", "opened", is_flag=True, help="Open the page in the browser.")
def view(traces: tuple[str, ...], output: str | None, replayed: bool, opened: bool) -> None:
    """Write TRACE as one page that needs no network.

    Why, diagram, page maps, steps, and the state at every step.

    Several traces, or a folder of them, come into one page, those with the same story together.
    """
    file = output if output is not None else _default(traces)
    if opened and file == STDOUT:
        raise KvError(
            "KV026",
            "--open does not go with -o -",
            reason="a browser opens files, and standard output is none",
            cure="name a file with -o",
        )
    check_json_file(file)
    names = [name for trace in traces for name in _files(trace)]
    refuse_input(file, names)
    reports = [_report(name, replayed=replayed) for name in names]
    # Imported where it is wanted: reading traces does without the template engine.
    from kvproto.page.shell import page

    write_text(file, page(reports, names=[_label(name) for name in names]))
    if file != STDOUT:
        say(f"{printable(file)}: {'1 trace' if len(reports) == 1 else f'{len(reports)} traces'}")
    if opened:
        webbrowser.open(Path(file).resolve().as_uri())


def _default(traces: Sequence[str]) -> str:
    """The page lies where the reader is: traces may lie in a folder that nobody else writes into."""
    name = _label(Path(traces[0]).resolve().name) if len(traces) == 1 else ""
    return f"{name or 'traces'}.html"


def _label(file: str) -> str:
    return Path(file).name.removesuffix(codec.SUFFIX).removesuffix(".json")


def _files(name: str) -> Iterator[str]:
    """A trace, or those that lie in a folder."""
    folder = Path(name)
    try:
        is_folder = folder.is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        yield name
        return
    found = sorted(str(path) for path in folder.glob(f"*{codec.SUFFIX}") if path.is_file())
    if not found:
        raise KvError(
            "KV010",
            f"there is no trace in the folder {printable(name)}",
            reason=f"a folder stands for the files in it whose names end in {codec.SUFFIX}",
            cure="write some with kvproto check TARGET --trace-dir FOLDER, or name another folder",
        )
    yield from found


def _report(name: str, *, replayed: bool) -> Report:
    trace = codec.read(name)
    verbs = understanding(trace)
    result = _replay(trace, able="replay" in verbs) if replayed else None
    return report(trace, file=name, verbs=verbs, sources=True, replayed=result)


def _replay(trace: Trace, *, able: bool) -> ReplayResult | None:
    """The replay, where the model has an implementation; the page is complete without."""
    if not able:
        text = f"no reference implementation of model {printable(trace.model)}: its page has the model only"
        click.echo(text, err=True)
        return None
    from kvproto.replay import replay

    return replay(trace)
