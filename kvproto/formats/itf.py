"""A trace in the Informal Trace Format of Apalache and Quint (`.itf.json`).

Variables keep the names that they have in traces (`req[A].decode`).  Sets are sets, numbers beyond what JSON readers
hold exactly are written as texts, and an absent value is a string that no other value of the trace is, in the way
Apalache writes constants of an uninterpreted sort.  As in Quint's traces, `mbt::actionTaken` is the action that led to
a state and `mbt::nondetPicks` are its arguments.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping

from kvproto import __version__
from kvproto.trace.trace import Step, Trace, Value

ACTION, PICKS = "mbt::actionTaken", "mbt::nondetPicks"

NOBODY = "None_OF_NONE"
"""What stands for an absent value, with underscores behind it where a trace uses the word itself."""

LARGEST = 2**53 - 1
"""Numbers up to here are exact in every reader of JSON."""

_RESERVED = re.compile(r"_*(#|mbt::)")


def itf(trace: Trace) -> str:
    """The text of the file."""
    nobody = _nobody(trace)
    names = {path: _variable(path) for path in trace.init}
    states = []
    for number, state in enumerate(trace.states()):
        step = trace.steps[number - 1] if number else None
        values = {names[path]: _value(value, nobody) for path, value in state.items()}
        states.append({"#meta": _about(number, step), **values, **_taken(step, nobody)})
    whole: dict[str, object] = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": f"Created by kvproto {__version__}",
            "source": trace.model,
            "status": "violation" if trace.verdict == "violated" else "ok",
            "preset": trace.preset,
            "scope": trace.scope,
            "parameters": dict(trace.parameters),
            "property": trace.property,
            "claim": trace.claim,
            "verdict": trace.verdict,
            "digest": trace.digest,
            "none": nobody,
        },
        "params": [],
        "vars": [*names.values(), ACTION, PICKS],
        "states": states,
    }
    if trace.loop is not None:
        whole["loop"] = trace.loop
    # Escapes keep unpaired surrogates, which a file in UTF-8 cannot hold.
    return json.dumps(whole, indent=1) + "\n"


def _about(number: int, step: Step | None) -> dict[str, object]:
    """What ITF has no place for: the arguments as they are, the lane, the line."""
    if step is None:
        return {"index": number}
    return {"index": number, "args": dict(step.args), "lane": step.lane, "loc": step.loc, "text": step.text}


def _taken(step: Step | None, nobody: str) -> dict[str, object]:
    if step is None:
        return {ACTION: "init", PICKS: {}}
    names = _identifiers(step.args)
    picks = {names[name]: {"tag": "Some", "value": _picked(value, nobody)} for name, value in step.args.items()}
    return {ACTION: step.action, PICKS: picks}


def _picked(value: Value, nobody: str) -> object:
    """A value inside of a variant, where itf-py takes any object for a record: sets are lists, large numbers texts."""
    if isinstance(value, list):
        return [_picked(item, nobody) for item in value]
    written = _value(value, nobody)
    return str(value) if isinstance(written, dict) else written


def _variable(path: str) -> str:
    """A name that ITF has no other use for, a different one for each path."""
    return f"_{path}" if _RESERVED.match(path) else path


def _identifiers(names: Iterable[str]) -> dict[str, str]:
    """Names of fields, as readers want them: `m.kind`, a part of an argument, becomes `m_kind`."""
    found: dict[str, str] = {}
    for name in names:
        word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "arg"
        if not word.isidentifier() or keyword.iskeyword(word):
            word = f"arg_{word}"
        unique = word
        for number in range(2, len(found) + 3):
            if unique not in found.values():
                break
            unique = f"{word}_{number}"
        found[name] = unique
    return found


def _value(value: Value, nobody: str) -> object:
    match value:
        case None:
            return nobody
        case list():
            return {"#set": [_value(item, nobody) for item in value]}
        case bool() | str():
            return value
        case int():
            return value if abs(value) <= LARGEST else {"#bigint": str(value)}


def _nobody(trace: Trace) -> str:
    taken = set(_texts(trace))
    word = NOBODY
    while word in taken:
        word += "_"
    return word


def _texts(trace: Trace) -> Iterator[str]:
    """Every string among the values of the trace."""
    groups: list[Mapping[str, Value]] = [trace.init, *(step.args for step in trace.steps)]
    groups += [{path: new for path, (_, new) in step.delta.items()} for step in trace.steps]
    for group in groups:
        for value in group.values():
            yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))
