"""The options that every search takes, and what they ask the engine for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from kvproto.cli.options import seconds, size
from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--property", "properties", multiple=True, metavar="NAME", help="Check only this property (repeatable)."
    ),
    click.option("--engine", type=click.Choice(["compiled", "reference"]), default="compiled", show_default=True),
    click.option(
        "--tier",
        type=click.Choice(["auto", "python", "bytecode", "compiled"]),
        default="auto",
        show_default=True,
        help="How the compiled engine runs the model: auto compiles it once a search is long.",
    ),
    click.option(
        "--workers", type=click.IntRange(1, 64), default=1, metavar="N", help="Threads; results are the same."
    ),
    click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop, inconclusive, after N states."),
    click.option(
        "--max-depth", type=click.IntRange(min=1), metavar="N", help="Search N levels; the first is the start."
    ),
    click.option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        callback=seconds,
        metavar="SECONDS",
        help="Stop then.",
    ),
    click.option("--memory-limit", callback=size, metavar="BYTES", help="Bytes for the search, such as 512M or 2G."),
    click.option(
        "--symmetry/--no-symmetry",
        default=None,
        help="Search one state of those that differ in names only: wherever that is sound, or never.",
    ),
    click.option("--por/--no-por", default=False, help="Leave out orders of independent steps; off unless asked for."),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of hashing; changes no result."
    ),
    click.option(
        "--keep-going", is_flag=True, help="Explore everything, also when every property is violated already."
    ),
    click.option("--coverage", is_flag=True, help="Also find parts of guards that never decide."),
    click.option("--fingerprints", is_flag=True, help="Keep 128 bits of each state: lossy, so nothing is proved."),
    click.option("--accept-lossy", is_flag=True, help="Call a search with fingerprints a proof all the same."),
    click.option("--checkpoint", metavar="FILE", help="Write the search there, to go on from later."),
    click.option(
        "--checkpoint-interval",
        type=click.FloatRange(min=0, min_open=True),
        callback=seconds,
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="How often.",
    ),
    click.option("--resume", metavar="FILE", help="Go on from a checkpoint, and keep it up to date."),
    click.option("--spill", metavar="DIR", help="Where states go that do not fit into the memory limit."),
)


def search_options(command: F) -> F:
    """Add the options of a search to a verb."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def to_options(given: dict[str, Any], fallback_checkpoint: Path | None = None) -> Options:
    """What the options ask for.  Raises KV026 where they contradict each other, KV006 where one names no folder."""
    for what, reason, cure in _contradictions(given):
        raise KvError("KV026", what, reason=reason, cure=cure)
    spill = None if given["spill"] is None else Path(given["spill"])
    if spill is not None and not _takes_files(spill):
        raise KvError(
            "KV006",
            f"--spill {given['spill']!a} is no folder that can be written",
            reason="states that do not fit into memory go into a file there",
            cure="name a folder on a disk with room",
        )
    names = ("engine", "tier", "workers", "max_states", "max_depth", "time_limit", "memory_limit", "symmetry", "por")
    more = ("seed", "keep_going", "coverage", "fingerprints", "accept_lossy", "checkpoint_interval")
    return Options(
        properties=tuple(given["properties"]),
        checkpoint=None if given["checkpoint"] is None else Path(given["checkpoint"]),
        resume=None if given["resume"] is None else Path(given["resume"]),
        spill=spill,
        fallback_checkpoint=fallback_checkpoint,
        **{name: given[name] for name in (*names, *more)},
    )


def _takes_files(folder: Path) -> bool:
    import tempfile  # Slow to load, and few searches spill.

    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except (OSError, ValueError):
        return False


def _contradictions(given: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Options that make no sense together: which, why, and what to do."""
    either = "leave out one of the two"
    if given["accept_lossy"] and not given["fingerprints"]:
        lossless = "states are kept whole, so there is nothing to accept"
        yield "--accept-lossy without --fingerprints", lossless, "leave it out, or add --fingerprints"
    if given["engine"] == "reference" and given["tier"] != "auto":
        reason = "tiers are ways to run the compiled engine, and the reference checker is another one"
        yield f"--tier {given['tier']} with --engine reference", reason, either
    if given["spill"] is not None and given["fingerprints"]:
        reason = "one keeps whole states on a disk, the other keeps no states"
        yield "--spill with --fingerprints", reason, either
    if given["spill"] is not None and given["memory_limit"] is None:
        reason = "states go to disk when the limit is met, and there is none"
        yield "--spill without --memory-limit", reason, "add --memory-limit 4G, or what the search may take"
