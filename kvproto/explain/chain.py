"""The general way to explain: from what the verdict rests on back to what that rests on."""

from __future__ import annotations

from collections.abc import Iterable

from kvproto.explain.facts import Facts
from kvproto.explain.slice import START, Edge
from kvproto.explain.words import count, joined, numbers, with_quote
from kvproto.trace.printable import cut, shown


def chain(facts: Facts, room: int) -> list[str]:
    """At most `room` sentences: what the verdict reads, then what led to the latest of that, and so on."""
    verdict = facts.slice.reads_of(facts.slice.verdict)
    deciders = facts.slice.deciders()
    if not deciders:
        return _from_the_start(facts, verdict)[:room]
    told = [_rests_on(facts, source, verdict) for source in deciders[: max(room - 2, 1)]]
    unchanged = [edge for edge in verdict if edge.source == START]
    if unchanged and len(told) < room - 1:
        told.append(f"It also rests on {_values(facts, unchanged, 0)}, as at the start.")
    told_steps = set(deciders)
    current = deciders[0]
    while len(told) < room:
        edge = facts.cause(current, sorted(told_steps))
        if edge is None:
            break
        told.append(_used(facts, current, edge))
        told_steps.add(edge.source)
        current = edge.source
    return _with_rest(facts, told[:room], told_steps)


def _from_the_start(facts: Facts, verdict: tuple[Edge, ...]) -> list[str]:
    if not verdict:
        where = f"after step {facts.end}" if facts.end else "at the start"
        return [f"The trace ends {where}; it does not say which variables decide."]
    return [f"The initial state decides it: {_values(facts, verdict, 0)}."]


def _rests_on(facts: Facts, source: int, verdict: Iterable[Edge]) -> str:
    mine = [edge for edge in verdict if edge.source == source]
    sentence = f"The verdict rests on {_values(facts, mine, source)}, set by {facts.at(source)}"
    return with_quote(sentence.rstrip(","), facts.step(source).text)


def _used(facts: Facts, current: int, edge: Edge) -> str:
    value = cut(shown(facts.states[edge.source].get(edge.path)), 40)
    sentence = f"Step {current} relied on {edge.path} = {value}, set by {facts.at(edge.source)}"
    return with_quote(sentence.rstrip(","), facts.step(edge.source).text)


def _values(facts: Facts, edges: Iterable[Edge], state: int) -> str:
    paths = list(dict.fromkeys(edge.path for edge in edges))
    parts = [f"{path} = {cut(shown(facts.states[state].get(path)), 40)}" for path in paths[:3]]
    return joined(parts) if len(paths) <= 3 else f"{', '.join(parts)} and {len(paths) - 3} more"


def _with_rest(facts: Facts, told: list[str], told_steps: set[int]) -> list[str]:
    """Say how much of the slice is left, at the end of the last sentence's account."""
    rest = facts.slice.steps - told_steps - {START}
    if rest and told and len(told[-1]) < 120:
        behind = "lies" if len(rest) == 1 else "lie"
        told[-1] += f" Behind it {behind} {count(len(rest), 'more step')} ({numbers(rest)})."
    return told
