"""`kvproto replay --impl sglang==VERSION`: the option, and the replay on the engine's own code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kvproto.cli.options import check_json_file, say, write_json
from kvproto.diagnostics import KvError
from kvproto.trace import codec

OPTION = click.option(
    "--impl", metavar="sglang==VERSION", help="On the own code of this release (kvproto engine fetch) instead."
)
KEPT = ("trace", "json_file", "save")
"""Parameters of the command that mean the same here."""


def with_engine(command: Callable[..., int]) -> Callable[..., int]:
    """Add the option to a command that replays a trace; with it the trace is replayed on an engine."""

    @functools.wraps(command)
    def either(*, impl: str | None, **given: Any) -> int:
        if impl is None:
            return command(**given)
        _refuse_others(given)
        return _follow(given["trace"], impl, json_file=given["json_file"], save=given["save"])

    return OPTION(either)


def _refuse_others(given: dict[str, Any]) -> None:
    """Options that would change nothing are refused."""
    context = click.get_current_context()
    kinds = {parameter.name: parameter for parameter in context.command.params}
    for name in given:
        source = context.get_parameter_source(name)
        if name not in KEPT and name in kinds and source not in (None, ParameterSource.DEFAULT):
            shown = kinds[name].opts[0]
            raise KvError(
                "KV026",
                f"{shown} says nothing with --impl",
                reason="a release has its own switches, memory and transport, the last of which is scripted",
                cure=f"leave {shown} out",
            )


def _follow(trace: str, requirement: str, *, json_file: str | None, save: bool) -> int:
    from kvproto.engines import fitting, kept
    from kvproto.engines.child import Child
    from kvproto.engines.following import follow
    from kvproto.engines.reporting import report_lines
    from kvproto.replay.driver import check

    loaded = codec.read(trace)
    release = kept.parse(requirement)
    check_json_file(json_file)
    fitting.sizes(loaded)
    check(loaded)
    with Child(release) as child:
        result = follow(loaded, child)
    if json_file != "-":
        for line in report_lines(result):
            say(line)
    if json_file is not None:
        write_json(json_file, result.summary())
    if save:
        codec.save(with_changes(loaded, replay=result.summary()), Path(trace))
    return 1 if result.divergence is not None else 0
