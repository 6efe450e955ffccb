"""`kvproto explain`: what an error code or a property means, offline."""

from __future__ import annotations

import inspect

import click

from kvproto.diagnostics import CATALOGUE, KvError, did_you_mean
from kvproto.lang.load import find, shipped_models
from kvproto.lang.model import InvariantMark


@click.command()
@click.argument("word", metavar="CODE_OR_PROPERTY")
def explain(word: str) -> None:
    """What an error code (KV107) or a property (reads_own_writes) means."""
    if word.upper() in CATALOGUE:
        entry = CATALOGUE[word.upper()]
        click.echo(f"{word.upper()}  {entry.title}\n\n{entry.text}")
        return
    claims = properties()
    if word not in claims:
        raise KvError(
            "KV017",
            f"nothing is known about {word!r}{did_you_mean(word, [*claims, *CATALOGUE])}",
            reason=f"properties: {', '.join(sorted(claims))}; codes: KV001 to KV301",
            cure="give one of these",
        )
    for model, claim, doc in claims[word]:
        click.echo(f"{word}  (model {model})\n\n{claim}\n\n{doc}".rstrip())


def properties() -> dict[str, list[tuple[str, str, str]]]:
    """Properties of the shipped models: name -> (model, claim, docstring)."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name in shipped_models():
        model = find(name).model
        for fn, mark in model.marked(InvariantMark):
            found.setdefault(fn.__name__, []).append((name, mark.claim, inspect.getdoc(fn) or ""))
        if model.terminal is not None or model.deadlock:
            terminal = inspect.getdoc(model.terminal) or "" if model.terminal else ""
            claim = "some action can happen, unless everything is done"
            found.setdefault("no_deadlock", []).append((name, claim, f"Done means: {terminal}" if terminal else ""))
    return found
