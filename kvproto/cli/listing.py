"""`kvproto list`: what there is to check."""

from __future__ import annotations

import inspect

import click

from kvproto.lang.bind import sorts_of
from kvproto.lang.binding import Parameter
from kvproto.lang.load import find, shipped_models
from kvproto.lang.model import InvariantMark, Model


@click.command("list")
@click.argument("targets", nargs=-1, metavar="[MODEL]...")
def list_models(targets: tuple[str, ...]) -> None:
    """Models with their presets, scopes, parameters and properties."""
    for at, name in enumerate(targets or shipped_models()):
        if at:
            click.echo()
        for line in lines(name, find(name).model):
            click.echo(line)


def lines(name: str, model: Model) -> list[str]:
    """The description of one model."""
    found = [f"{name}   {model.doc}"]
    found += _section("presets", [(p.name, p.doc) for p in model.presets])
    found += _section("scopes", [(s.name, s.doc) for s in model.scopes])
    found += _section("sorts", [(s.name, s.doc) for s in sorts_of(model).values()])
    parameters = model.params.parameters() if model.params else {}
    found += _section("parameters", [(f"{n}={_shown(p)}", p.doc) for n, p in parameters.items()])
    claims = [(fn.__name__, mark.claim) for fn, mark in model.marked(InvariantMark)]
    if model.terminal is not None or model.deadlock:
        claims.append(("no_deadlock", "some action can happen, unless everything is done"))
    found += _section("properties", claims)
    return found


def _shown(parameter: Parameter) -> str:
    value = parameter.default
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(getattr(value, "name", value))


def _section(title: str, rows: list[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    width = max(len(name) for name, _ in rows)
    return [f"  {title}", *(f"    {name:<{width}}  {inspect.cleandoc(doc)}".rstrip() for name, doc in rows)]
