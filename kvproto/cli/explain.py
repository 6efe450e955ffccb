"""`kvproto explain`: what a code, a property or an action means, and what would have prevented a trace; offline."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from kvproto.cli import actions
from kvproto.cli.options import on_terminal, say
from kvproto.diagnostics import CATALOGUE, KvError, did_you_mean
from kvproto.lang.load import every_model, find, shipped_models
from kvproto.lang.properties import ClaimMark


@click.command()
@click.argument("word", metavar="CODE_OR_NAME_OR_TRACE")
@click.option("--model", "target", metavar="TARGET", help="The model of the trace, if it is neither shipped nor here.")
@click.option("--quick", is_flag=True, help="Of a trace only what its own steps tell: nothing is searched.")
@click.option("--save", is_flag=True, help="Keep what was found out in the trace file: `show` and `view` tell it, too.")
def explain(word: str, target: str | None, quick: bool, save: bool) -> None:
    """Say what a code, a property or an action means, or a TRACE.

    Of a trace: the measures under which the same steps break no claim (and whether the claim then holds in the whole
    scope), the point of no return, and the single changes that the violation rests on.
    """
    if word.endswith(".json") or _is_file(word):
        explain_trace(word, target, quick=quick, save=save)
        return
    if target is not None or quick or save:
        raise KvError(
            "KV026",
            f"--model, --quick and --save go with a trace, and {word!r} is none",
            reason="they say how what would have been is found out, and where it is kept",
            cure="give the path of a *.trace.json file, or leave them out",
        )
    code = word.strip().upper()
    if code in CATALOGUE:
        say(f"{code}  {CATALOGUE[code].title}\n\n{CATALOGUE[code].text}")
        return
    say("\n\n".join(_meanings(word)))


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except (OSError, ValueError):  # no path at all
        return False


def _meanings(word: str) -> Iterator[str]:
    """Properties and actions of that name.  Raises KV017."""
    claims, known = properties(), actions.actions()
    if word not in claims and word not in known:
        near = did_you_mean(word, claims) or did_you_mean(word, known) or did_you_mean(word.strip().upper(), CATALOGUE)
        main = sorted(name for name, places in claims.items() if places[0][0] in shipped_models())
        raise KvError(
            "KV017",
            f"nothing is known about {word!r}{near}",
            reason=f"properties: {', '.join(main)}, those of blocks, and actions; codes: {min(CATALOGUE)} to"
            f" {max(CATALOGUE)}",
            cure="give one of these; for the properties of your own model see  kvproto list MODEL.py",
        )
    for model, claim, doc in claims.get(word, []):
        yield f"{word}  (model {model})\n\n{claim}\n\n{doc}".rstrip()
    for model, fn, mark in known.get(word, []):
        yield actions.describe(model, fn, mark)


def properties() -> dict[str, list[tuple[str, str, str]]]:
    """Properties of the shipped models, blocks last: name -> (model, claim, docstring)."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name in every_model():
        for claim, (words, doc) in properties_of(name).items():
            found.setdefault(claim, []).append((name, words, doc))
    return found


def properties_of(name: str) -> dict[str, tuple[str, str]]:
    """Properties of a shipped model: name -> (claim, docstring)."""
    model = find(name).model
    found = {fn.__name__: (mark.claim, inspect.getdoc(fn) or "") for fn, mark in model.marked(ClaimMark)}
    if model.terminal is not None or model.deadlock:
        done = inspect.getdoc(model.terminal) or "" if model.terminal else ""
        claim = "some action can happen, unless everything is done"
        found["no_deadlock"] = (claim, f"Done means: {done}" if done else "")
    return found


def explain_trace(file: str, target: str | None, *, quick: bool, save: bool) -> None:
    """Find out what would have been in a trace, print it, and keep it if asked to."""
    # Imported where it is wanted: to look up a code nothing else is needed.
    from kvproto.trace import codec
    from kvproto.whatif.analyse import analysed, explained
    from kvproto.whatif.searches import STATES
    from kvproto.whatif.subject import subject
    from kvproto.whatif.text import describe

    trace = codec.read(file)
    if on_terminal() and not quick:
        click.echo("searching under each measure that stops the run (--quick does without) ...", err=True)
    about = subject(trace, target)
    found = analysed(about, states=None if quick else STATES)
    told = explained(about, found.analysis)
    say("\n".join(describe(told, found)))
    if save:
        codec.save(told, Path(file))
        click.echo(f"kept in {file}", err=True)
