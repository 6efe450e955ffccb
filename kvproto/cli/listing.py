"""`kvproto list`: what there is to check."""

from __future__ import annotations

import inspect
from pathlib import Path

import click

from kvproto.cli import cited, listed_runs
from kvproto.cli.options import check_json_file, say, write_json
from kvproto.diagnostics import KvError
from kvproto.lang.bind import choose, sorts_of
from kvproto.lang.binding import Parameter
from kvproto.lang.load import Target, building_blocks, every_model, find, patterns, proofs, shipped_models
from kvproto.lang.model import Model
from kvproto.lang.properties import ClaimMark


@click.command("list")
@click.argument("targets", nargs=-1, metavar="[MODEL]...")
@click.option("--actions", is_flag=True, help="Also every action: what it does, abstracts, reads and writes.")
@click.option(
    "--cites",
    "function",
    is_flag=False,
    flag_value="",
    metavar="[FUNCTION]",
    help="The code that actions and parameters cite, with releases; only what cites FUNCTION (part of a name).",
)
@click.option("--json", "json_file", metavar="FILE", help="With --cites: write kvproto.cites/1 (- to print it).")
def list_models(targets: tuple[str, ...], actions: bool, function: str | None, json_file: str | None) -> None:
    """Models: presets, scopes, parameters, properties.

    With --cites: the table of what they abstract; `kvproto list sglang@0.5.21 --cites` is that of one release.
    """
    if function is not None and not targets and _names_model(function):
        targets, function = (function,), ""  # kvproto list --cites sglang
    _refuse_combination(actions, function, json_file)
    # Who asks for a function of the engine wants the blocks too.
    found = [_chosen(name) for name in targets or [*shipped_models(), *(building_blocks() if function else ())]]
    if function is None:
        shown = ["\n".join(lines(t.text, t.model) + (action_lines(t) if actions else [])) for t in found]
        small = ["\n".join(found) for found in (block_lines(), pattern_lines(), proof_lines())]
        say("\n\n".join(shown if targets else [*shown, *small]))
    else:
        _list_cites(found, function, json_file)


def _chosen(name: str) -> Target:
    target = find(name)
    if target.preset is not None:
        choose(target.model, preset=target.preset)  # a misspelt one is refused, not passed over
    return target


def _names_model(word: str) -> bool:
    file, suffix, _ = word.partition(".py")
    known = every_model()
    return word.partition("@")[0] in known or (bool(suffix) and Path(file + suffix).is_file())


def _refuse_combination(actions: bool, function: str | None, json_file: str | None) -> None:
    if function is None and json_file is not None:
        message, cure = "--json goes with --cites", "add --cites, or leave --json out"
    elif function is not None and actions:
        message, cure = "--actions and --cites are two lists", "ask for one, then for the other"
    else:
        return
    raise KvError("KV026", message, reason="kvproto list prints one list at a time", cure=cure)


def _list_cites(found: list[Target], function: str, json_file: str | None) -> None:
    check_json_file(json_file)
    tables = [(target, cited.cited(target, function)) for target in found]
    if function:
        tables = [pair for pair in tables if pair[1]]
        if not tables:
            raise cited.nothing_cites(found, function)
    if json_file is not None:
        values = [cited.as_json(*pair) for pair in tables]
        write_json(json_file, values[0] if len(values) == 1 else values)
    if json_file != "-":
        say("\n\n".join("\n".join(cited.table(target, items, bool(function))) for target, items in tables))


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


def block_lines() -> list[str]:
    """The building blocks, a line each: there are many, and they must not hide the models."""
    rows = [(name, find(name).model.doc) for name in building_blocks()]
    return ["building blocks   one mechanism each; kvproto list blocks.NAME describes one", *_section("", rows)[1:]]


def pattern_lines() -> list[str]:
    """The models of public reports, a line each."""
    rows = [(name, find(name).model.doc) for name in patterns()]
    head = "patterns   models of public bug reports, buggy and fixed; kvproto suite searches all of them"
    return [head, *_section("", rows)[1:]]


def proof_lines() -> list[str]:
    """The models that are proved for every size, a line each."""
    rows = [(name, find(name).model.doc) for name in proofs()]
    head = "proofs   the core of the protocol, proved for every size or refuted; kvproto prove proofs.NAME"
    return [head, *_section("", rows)[1:]]


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
