"""What a model's actions and parameters cite: the table and the JSON of `kvproto list --cites`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.lang.cites import VERSION, Cite, parse, version
from kvproto.lang.load import Target
from kvproto.lang.model import ActionMark

SCHEMA = "kvproto.cites/1"
WIDTH = 80
PARAMETERS = "parameters"


@dataclass(frozen=True, slots=True)
class Cited:
    """An action or a parameter, and what it cites.  `group` is the machine of an action."""

    group: str
    name: str
    doc: str
    cites: tuple[Cite, ...]


def cited(target: Target, function: str = "") -> list[Cited]:
    """The actions by machine, then the parameters that cite something.

    A preset that is a release (`sglang@0.5.21`) leaves the citations of that release.  `function` leaves what cites it.
    """
    found = [*_actions(target), *_parameters(target)]
    if target.preset is not None and VERSION.fullmatch(target.preset):
        release = version(target.preset)
        found = [_only(item, lambda cite: cite.releases.cover(release)) for item in found]
    if not function:
        return found
    word = function.lower()
    kept = [_only(item, lambda cite: word in cite.source.lower()) for item in found]
    return [item for item in kept if item.cites]


def _actions(target: Target) -> list[Cited]:
    """The actions, those of a machine together, machines in order of appearance."""
    groups: dict[str, list[Cited]] = {}
    for fn, mark in target.model.marked(ActionMark):
        doc = " ".join((inspect.getdoc(fn) or "").split())
        item = Cited(mark.machine.name, fn.__name__, doc, tuple(map(parse, mark.cites)))
        groups.setdefault(item.group, []).append(item)
    return [item for group in groups.values() for item in group]


def _parameters(target: Target) -> Iterator[Cited]:
    declared = target.model.params.parameters() if target.model.params else {}
    for name, parameter in declared.items():
        if parameter.cites:
            doc = " ".join(parameter.doc.split())
            yield Cited(PARAMETERS, name, doc, tuple(map(parse, parameter.cites)))


def _only(item: Cited, wanted: Callable[[Cite], bool]) -> Cited:
    return Cited(item.group, item.name, item.doc, tuple(cite for cite in item.cites if wanted(cite)))


def nothing_cites(targets: Sequence[Target], function: str) -> KvError:
    """The error (KV033) that no action or parameter of the models cites the function."""
    everything = [cite.name for target in targets for item in cited(target) for cite in item.cites if cite.path]
    near = did_you_mean(function, {part for name in everything for part in (name, name.split(".")[-1])})
    shown = " ".join(target.text for target in targets)
    return KvError(
        "KV033",
        f"nothing in {shown} cites {function!r}{near}",
        reason="the word is looked for in the files and names that actions and parameters cite",
        cure=f"kvproto list {shown} --cites  shows all of them",
    )


def table(target: Target, found: list[Cited], with_docs: bool) -> list[str]:
    """Lines of at most 80 columns, unless a single name is longer."""
    first, *more = _words(target.model.doc, WIDTH - len(target.text) - 3)
    rows = [f"{target.text}   {first}", *(f"{'':{len(target.text) + 3}}{line}" for line in more)]
    width = max((len(str(cite.releases)) for item in found for cite in item.cites), default=0)
    if not width:
        return [*rows, "  cites nothing"]
    group = ""
    for item in found:
        if item.group != group:
            group = item.group
            rows.append(f"  {group}")
        rows.append(f"    {item.name}")
        rows += [f"      {line}" for line in _words(item.doc, WIDTH - 6)] if with_docs else []
        for cite in item.cites:
            first, *more = _broken(cite, WIDTH - 8 - width)
            rows.append(f"      {cite.releases!s:<{width}}  {first}")
            rows += [f"{'':{8 + width}}{line}" for line in more]
        if not item.cites:
            rows.append("      nothing")
    return rows


def _broken(cite: Cite, room: int) -> list[str]:
    """The source of a citation on as many lines as it needs: words, or a path and then the parts of a name."""
    if len(cite.source) <= room:
        return [cite.source]
    if not cite.path:
        return _words(cite.source, room)
    first, *more = _parts(cite.source.removesuffix(cite.name), "/", room)
    name = _parts(cite.name, ".", room - 2)
    if more and len(more[-1]) + len(name[0]) <= room - 2:
        name[0] = more.pop() + name[0]
    return [first, *(f"  {line}" for line in [*more, *name])]


def _parts(text: str, mark: str, room: int) -> list[str]:
    """Text in lines that end in `mark`, as far as that is needed and possible."""
    lines = []
    while len(text) > room and (cut := text.rfind(mark, 0, room) + 1):
        lines.append(text[:cut])
        text = text[cut:]
    return [*lines, text]


def _words(text: str, room: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines


def as_json(target: Target, found: list[Cited]) -> dict[str, object]:
    """The same as data, schema `kvproto.cites/1`."""
    return {
        "schema": SCHEMA,
        "target": target.text,
        "model": target.model.name,
        "preset": target.preset,
        "entries": [_entry(item) for item in found],
    }


def _entry(item: Cited) -> dict[str, object]:
    is_parameter = item.group == PARAMETERS
    return {
        "kind": "parameter" if is_parameter else "action",
        "machine": None if is_parameter else item.group,
        "name": item.name,
        "doc": item.doc,
        "cites": [_cite(cite) for cite in item.cites],
    }


def _cite(cite: Cite) -> dict[str, object]:
    first, last = (None if v is None else ".".join(map(str, v)) for v in (cite.releases.first, cite.releases.last))
    return {
        "text": cite.text,
        "first": first,
        "last": last,
        "kind": cite.kind,
        "project": cite.project or None,
        "path": cite.path or None,
        "name": cite.name,
    }
