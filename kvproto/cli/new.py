"""`kvproto new`: a model to start from, with its properties and its tests."""

from __future__ import annotations

import keyword
import re
import sys
from importlib import resources
from pathlib import Path
from string import Template

import click

from kvproto.cli.options import say, unwritable
from kvproto.diagnostics import KvError
from kvproto.trace.printable import printable

FILES = {
    "protocol.txt": "{name}_protocol.py",
    "properties.txt": "{name}_properties.py",
    "model.txt": "{name}.py",
    "test.txt": "test_{name}.py",
}


@click.command()
@click.argument("name")
@click.option("--folder", default=".", metavar="DIR", help="Where to write the files; default: the current folder.")
def new(name: str, folder: str) -> None:
    """Write a model NAME to start from, with tests.

    Protocol, properties, model and tests are commented and pass as they are. Nothing that exists is overwritten.
    """
    place = Path(folder)
    texts = {place / file.format(name=name): _text(source, name) for source, file in FILES.items()}
    _refuse(name, list(texts))
    try:
        place.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as out:
                out.write(text)
    except OSError as problem:
        raise unwritable(str(place), problem) from None
    for path in texts:
        say(printable(str(path)))
    model = printable(str(place / f"{name}.py"))
    say(f"next: kvproto check {model}, kvproto check {model}@hasty, pytest")


def _text(source: str, name: str) -> str:
    return Template(resources.files("kvproto.starting").joinpath(source).read_text(encoding="utf-8")).substitute(
        name=name
    )


def _refuse(name: str, paths: list[Path]) -> None:
    """Raise KV049 for a name that no module can have, or files that are there."""
    taken = name in sys.stdlib_module_names or name in ("kvproto", "pytest", "conftest")
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or taken:
        raise KvError(
            "KV049",
            f"{name!r} is no name for a model",
            reason="it becomes the name of Python files" + (", and a module of that name exists" if taken else ""),
            cure="use small letters, digits and _: kvproto new my_protocol",
        )
    there = [path for path in paths if path.exists()]
    if there:
        raise KvError(
            "KV049",
            f"{printable(str(there[0]))} exists",
            reason="nothing is overwritten",
            cure="choose another name, or another folder with --folder",
        )
