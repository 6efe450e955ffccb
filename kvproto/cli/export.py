"""`kvproto export`: a model for other tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from kvproto.cli.options import check_json_file, say, setting, unwritable
from kvproto.engine.search import select
from kvproto.export.promela.model import export as to_promela
from kvproto.export.tla.module import export as to_tla
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--to", "form", type=click.Choice(["promela", "tla"]), required=True, help="What to write.")
@click.option("--output", "-o", metavar="FILE", help="Write there instead of to standard output.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Fix a parameter or the size of a sort.")
@click.option("--scope", metavar="NAME", help="How large a world (kvproto list).")
@click.option("--property", "names", multiple=True, metavar="NAME", help="With this property only (repeatable).")
@click.option("--properties", "claimed", is_flag=True, help="With all properties, to be judged by the other tool.")
def export(
    target: str,
    form: str,
    output: str | None,
    sets: tuple[str, ...],
    scope: str | None,
    names: tuple[str, ...],
    claimed: bool,
) -> None:
    """Write the model TARGET for SPIN (Promela) or TLC (TLA+).

    The file is made from the text of the model, not from what the search runs, so the other tool's numbers are
    independent of kvproto's. Without properties it counts states: as many as `kvproto check` without reductions.
    """
    check_json_file(output)
    found = find(target)
    given = dict(setting(text) for text in sets)
    system = build(found.model, choose(found.model, preset=found.preset, scope=scope, sets=given))
    system = replace(system, claims=select(system, names))
    properties = claimed or bool(names)
    if form == "promela":
        _write(output, to_promela(system, properties=properties).text)
        return
    module = to_tla(system, name=_stem(output) or system.model, properties=properties)
    if output is None:
        say(module.text + "\n" + module.config, newline=False)
        return
    _write(output, module.text)
    _write(str(Path(output).with_suffix(".cfg")), module.config)


def _stem(output: str | None) -> str:
    """A TLA+ module is called as its file is."""
    return Path(output).stem if output is not None else ""


def _write(output: str | None, text: str) -> None:
    if output is None:
        say(text, newline=False)
        return
    try:
        Path(output).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise unwritable(output, problem) from None
