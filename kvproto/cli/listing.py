"""`kvproto list`: what there is to check."""

from __future__ import annotations

import inspect

import click

from kvproto.cli import listed_runs
from kvproto.cli.options import say
from kvproto.lang.bind import choose, sorts_of
from kvproto.lang.binding import Parameter
from kvproto.lang.load import Target, find, shipped_models
from kvproto.lang.model import Model
from kvproto.lang.properties import ClaimMark


@click.command("list")
@click.argument("targets", nargs=-1, metavar="[MODEL]...")
@click.option("--actions", is_flag=True, help="Also every action: what it does, abstracts, reads and writes.")
def list_models(targets: tuple[str, ...], actions: bool) -> None:
    """Models: presets, scopes, parameters, properties."""
    shown = []
    for target in [find(name) for name in targets or shipped_models()]:
        if target.preset is not None:
            choose(target.model, preset=target.preset)  # a misspelt one is refused, not passed over
        shown.append("\n".join(lines(target.text, target.model) + (action_lines(target) if actions else [])))
    say("\n\n".join(shown))


def lines(name: str, model: Model) -> list[str]:
    """The description of one model."""
    found = [f"{name}   {model.doc}"]
    found += _section("presets", [(p.name, p.doc) for p in model.presets])
    found += _section("scopes", [(s.name, s.doc) for s in model.scopes])
    found += _section("sorts", [(s.name, s.doc) for s in sorts_of(model).values()])
    parameters = model.params.parameters() if model.params else {}
    found += _section("parameters", [(f"{n}={_shown(p)}", p.doc) for n, p in parameters.items()])
    claims = [(fn.__name__, _worded(mark)) for fn, mark in model.marked(ClaimMark)]
    if model.terminal is not None or model.deadlock:
        claims.append(("no_deadlock", "some action can happen, unless everything is done"))
    found += _section("properties", claims)
    found += _section("fairness", listed_runs.fairness(model))
    found += _section("constraint", listed_runs.constraint(model))
    return found


def _worded(mark: ClaimMark) -> str:
    """The claim, and what kind it is unless it speaks of every state."""
    return mark.claim if mark.kind == "invariant" else f"{mark.claim} ({mark.kind.replace('_', ' ')})"


def action_lines(target: Target) -> list[str]:
    """The actions under the target's preset, with their footprints."""
    from kvproto.lang.frontend.build import build  # the front end is slow to load, and a plain list does without it
    from kvproto.passes.footprint import footprint

    system = build(target.model, choose(target.model, preset=target.preset))
    found = ["  actions"]
    for action in system.actions:
        mark = footprint(action)
        found.append(f"    {action.machine}.{action.name}({', '.join(p.name for p in action.params)})   {action.loc}")
        found.append(f"      {' '.join(action.doc.split())}")
        rows = [("abstracts", action.cites), ("reads", mark.reads), ("writes", mark.writes)]
        found += [f"      {title}: {', '.join(items)}" for title, items in rows if items]
    return found


def _shown(parameter: Parameter) -> str:
    value = parameter.default
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(getattr(value, "name", value))


def _section(title: str, rows: list[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    width = max(len(name) for name, _ in rows)
    return [f"  {title}", *(f"    {name:<{width}}  {inspect.cleandoc(doc)}".rstrip() for name, doc in rows)]
