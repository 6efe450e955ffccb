"""`kvproto replay`: a trace on the reference implementation."""

from __future__ import annotations

from dataclasses import replace as with_changes
from pathlib import Path

import click

from kvproto.cli.backends import with_backend
from kvproto.cli.moving import Moving, with_transport
from kvproto.cli.on_engine import with_engine
from kvproto.cli.options import check_json_file, say, setting, write_json
from kvproto.cli.probing import with_http
from kvproto.diagnostics import KvError
from kvproto.reference.array import Arrays
from kvproto.replay import report_lines
from kvproto.trace import codec


@click.command()
@click.argument("trace", required=False)
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME=VALUE",
    help="What if: the same schedule with this mitigation; states are not compared then.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the outcome as JSON (- for standard output).")
@click.option("--save", is_flag=True, help="Store the outcome in the trace file, under `replay`.")
@with_http
@with_engine
@with_transport
@with_backend
def replay(trace: str, sets: tuple[str, ...], json_file: str | None, save: bool, *, moving: Moving, xp: Arrays) -> int:
    """Run TRACE on the reference implementation, on real tensors.

    After every step the implementation's state must equal the model's.  Exit 1 at the first difference.
    With --impl the engine's own code takes the place of the reference implementation.
    With --http an endpoint is probed with the incident's two requests: exit 0 if the long one is refused.
    """
    loaded = codec.read(trace)
    overrides = {name: _value(name, value) for name, value in map(setting, sets)}
    check_json_file(json_file)
    result = moving.replay(loaded, overrides=overrides, xp=xp)
    if json_file != "-":
        for line in [*report_lines(result), *moving.lines()]:
            say(line)
    outcome = result.summary() | ({"transport": moving.summary()} if moving.asked else {})
    if json_file is not None:
        write_json(json_file, outcome)
    if save:
        codec.save(with_changes(loaded, replay=outcome), Path(trace))
    return 1 if result.divergence is not None or moving.strange else 0


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
