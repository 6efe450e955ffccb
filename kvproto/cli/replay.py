"""`kvproto replay`: a trace on the reference implementation."""

from __future__ import annotations

import json
from dataclasses import replace as with_changes
from pathlib import Path

import click

from kvproto.cli.check import _setting
from kvproto.diagnostics import KvError
from kvproto.trace import codec


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME=VALUE",
    help="What if: the same schedule with this mitigation; states are not compared then.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the outcome as JSON (- for standard output).")
@click.option("--save", is_flag=True, help="Store the outcome in the trace file, under `replay`.")
def replay(trace: Path, sets: tuple[str, ...], json_file: str | None, save: bool) -> int:
    """Run TRACE on the reference implementation: real KV tensors in real paged pools.

    After every step the implementation's state must equal the model's.  Exit 1 at the first difference.
    """
    from kvproto.replay import replay as run
    from kvproto.replay import report_lines

    loaded = codec.read(trace)
    overrides = {name: _value(name, value) for name, value in map(_setting, sets)}
    result = run(loaded, overrides=overrides)
    if json_file != "-":
        for line in report_lines(result):
            click.echo(line)
    if json_file is not None:
        _write(json_file, json.dumps(result.summary(), indent=2) + "\n")
    if save:
        codec.save(with_changes(loaded, replay=result.summary()), trace)
    return 1 if result.divergence is not None else 0


def _value(name: str, text: str) -> bool | int:
    words = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
    if text.lower() in words:
        return words[text.lower()]
    if text.isdecimal() and text.isascii() and len(text) < 10:
        return int(text)
    raise KvError(
        "KV006",
        f"{name}={text} is neither a switch nor a number",
        reason="sizes are numbers, mitigations are on or off",
        cure=f"write --set {name}=on",
    )


def _write(file: str, text: str) -> None:
    if file == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise KvError(
            "KV021",
            f"the outcome cannot be written to {file}: {problem.strerror}",
            reason="the replay is done, but its JSON has no place to go",
            cure="give --json a file in a folder that can be written",
        ) from None


