"""What several verbs share: settings, sizes, and results that reach standard output or a file."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from kvproto.diagnostics import KvError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def setting(text: str) -> tuple[str, str]:
    """`NAME=VALUE` of a --set, as a pair."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise KvError(
            "KV006",
            f"--set {text!r} is not NAME=VALUE",
            reason="a setting names a parameter and gives its value",
            cure="write --set deferred_release=on",
        )
    return name.strip(), value.strip()


def size(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """`512M` as a number of bytes."""
    if value is None:
        return None
    text = value.strip().upper().removesuffix("IB").removesuffix("B")
    unit = text[-1:] if text[-1:] in ("K", "M", "G") else ""
    number = text.removesuffix(unit) if unit else text
    if not (number.isascii() and number.isdecimal() and len(number) < 20) or int(number) == 0:
        raise click.BadParameter(f"{value!r} is no size; write 512M or 2G", context, parameter)
    return int(number) * UNITS[unit]


def seconds(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """A time limit; one that is no number would never end."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no number of seconds", context, parameter)
    return value


def say(text: str = "", *, newline: bool = True) -> None:
    """Print results.  A reader that went away (`| head`) ends the printing, not the work."""
    try:
        click.echo(text, nl=newline)
    except BrokenPipeError:
        silence()
    except OSError as problem:
        silence()
        raise unwritable("standard output", problem) from None


def silence() -> None:
    """Send what is still printed nowhere, so that Python does not complain about it while it shuts down."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def on_terminal() -> bool:
    """Whether messages reach a person."""
    return sys.stderr is not None and sys.stderr.isatty()


def unwritable(place: str, problem: OSError | ValueError) -> KvError:
    """The error that a result has no place to go."""
    why = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return KvError(
        "KV021",
        f"the result cannot be written to {place}: {why[:1].lower()}{why[1:]}",
        reason="a result that nobody can read is no result",
        cure="name a place that can be written, with room in it",
    )


def check_json_file(file: str | None) -> None:
    """Find out before a long search that its result would have no place to go (KV021)."""
    if file in (None, "-"):
        return
    path = Path(str(file))
    try:
        if "\0" in str(file):
            raise ValueError("a file name has no null character")
        if path.is_dir():
            raise IsADirectoryError(21, "is a directory")
        if not path.parent.is_dir():
            raise NotADirectoryError(20, "its folder does not exist")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise PermissionError(13, "permission denied")
    except (OSError, ValueError) as problem:
        raise unwritable(str(file), problem) from None


def refuse_places(files: Mapping[str, str | None], taken: Iterable[Path] = ()) -> None:
    """Find out before a long search that results would have no place to go, or the same place (KV021, KV026).

    `files` are places by option; `taken` are files that the search itself writes.
    """
    places: dict[object, str] = {path.absolute(): "the checkpoint" for path in taken}
    for option, file in files.items():
        if file is None:
            continue
        place = file if file == "-" else Path(file).absolute()
        if place in places:
            raise KvError(
                "KV026",
                f"{option} and {places[place]} name the same file, {file}",
                reason="one would replace the other",
                cure="name two files",
            )
        places[place] = option
        check_json_file(file)


def refuse_input(file: str | None, inputs: Iterable[str]) -> None:
    """A result does not replace what it is made from (KV026)."""
    if file in (None, "-"):
        return
    place = Path(str(file))
    for name in inputs:
        if os.path.exists(name) and place.exists() and os.path.samefile(place, name):
            raise KvError(
                "KV026",
                f"the result would replace {name}, from which it is made",
                reason="the trace would be lost",
                cure="name another file with -o",
            )


def write_json(file: str, value: object) -> None:
    """Write a result as JSON into a file, or to standard output for `-`."""
    write_text(file, json.dumps(value, indent=2) + "\n")


def write_text(file: str, text: str) -> None:
    """Write a result into a file, or to standard output for `-`."""
    if file == "-":
        say(text, newline=False)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise unwritable(file, problem) from None
