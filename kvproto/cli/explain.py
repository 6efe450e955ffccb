"""`kvproto explain`: what an error code or a property means, offline."""

from __future__ import annotations

import inspect

import click

from kvproto.cli.options import say
from kvproto.diagnostics import CATALOGUE, KvError, did_you_mean
from kvproto.lang.load import building_blocks, find, shipped_models
from kvproto.lang.properties import ClaimMark


@click.command()
@click.argument("word", metavar="CODE_OR_PROPERTY")
def explain(word: str) -> None:
    """What a code (KV107) or property means."""
    code = word.strip().upper()
    if code in CATALOGUE:
        say(f"{code}  {CATALOGUE[code].title}\n\n{CATALOGUE[code].text}")
        return
    claims = properties()
    if word not in claims:
        near = did_you_mean(word, claims) or did_you_mean(code, CATALOGUE)
        main = sorted(name for name, places in claims.items() if places[0][0] in shipped_models())
        raise KvError(
            "KV017",
            f"nothing is known about {word!r}{near}",
            reason=f"properties: {', '.join(main)}, and those of blocks; codes: {min(CATALOGUE)} to {max(CATALOGUE)}",
            cure="give one of these; for the properties of your own model see  kvproto list MODEL.py",
        )
    say("\n\n".join(f"{word}  (model {model})\n\n{claim}\n\n{doc}".rstrip() for model, claim, doc in claims[word]))


def properties() -> dict[str, list[tuple[str, str, str]]]:
    """Properties of the shipped models, blocks last: name -> (model, claim, docstring)."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name in (*shipped_models(), *building_blocks()):
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
