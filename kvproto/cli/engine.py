"""`kvproto engine`: engines whose own code traces are replayed on."""

from __future__ import annotations

import click

from kvproto.cli.options import say
from kvproto.diagnostics import KvError

MEGA = 1_000_000


@click.group()
def engine() -> None:
    """Fetch, list or remove engines to replay traces on."""


@engine.command()
@click.argument("requirement", metavar="sglang==VERSION")
def fetch(requirement: str) -> int:
    """Fetch a release and what its code imports.

    The packages that are imported are fetched once for all releases, into the folder that `kvproto engine list` shows.
    """
    from kvproto.engines import fetching, kept

    fetching.fetch(kept.parse(requirement), lambda text: click.echo(text, err=True))
    return 0


@engine.command(name="list")
def list_engines() -> int:
    """Releases that are here, and those that are known to fit."""
    from kvproto.engines import kept

    there = kept.fetched()
    for one in there:
        fits = "" if one.version in kept.FITTING else "  not known to fit"
        say(f"{one}  {kept.size(one.folder) // MEGA} MB  {one.folder}{fits}")
    if kept.light() is not None:
        say(f"packages they import  {kept.light()}")
    missing = [version for version in kept.FITTING if version not in {one.version for one in there}]
    if missing:
        say(f"known to fit, not here: {', '.join(missing)}")
    return 0


@engine.command()
@click.argument("requirement", metavar="sglang==VERSION", required=False)
@click.option("--all", "everything", is_flag=True, help="Every release, and the packages that they import.")
def remove(requirement: str | None, everything: bool) -> int:
    """Delete a release, or everything."""
    from kvproto.engines import fetching, kept

    if everything == (requirement is not None):
        raise KvError(
            "KV022",
            "nothing to remove is named" if requirement is None else "both a release and --all are named",
            reason="remove takes a release or --all",
            cure=f"kvproto engine remove sglang=={kept.FITTING[0]}, or kvproto engine remove --all",
        )
    freed = fetching.remove_all() if requirement is None else fetching.remove(kept.parse(requirement))
    say(f"{freed // MEGA} MB removed")
    return 0
