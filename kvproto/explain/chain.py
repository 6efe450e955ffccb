"""The general way to explain: from what the verdict rests on back to what that rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kvproto.explain.facts import Facts
from kvproto.explain.slice import START, Edge
from kvproto.explain.words import count, joined, numbers, with_quote
from kvproto.trace.printable import cut, printable, shown


def chain(
    facts: Facts, room: int, *, without: Collection[str] = (), behind: Collection[str] = (), rest: bool = True
) -> list[str]:
    """At most `room` sentences: what the verdict reads, then what led to the latest of that, and so on.

    Paths in `without` have been told about, and those `behind` are not what the verdict itself reads.  The last
    sentence says how much of the slice is left (`rest`).
    """
    verdict = tuple(e for e in facts.slice.reads_of(facts.slice.verdict) if e.path not in (*without, *behind))
    deciders = sorted({edge.source for edge in verdict} - {START}, reverse=True)
    if not deciders:
        return [] if without else _from_the_start(facts, verdict)[: max(room, 0)]
    told = [_rests_on(facts, source, verdict) for source in deciders[: max(room - 2, 1)]]
    unchanged = [edge for edge in verdict if edge.source == START]
    if unchanged and len(told) < room - 1:
        told.append(_unchanged(facts, unchanged))
    told_steps = set(deciders)
    if len(told) < room:
        told += _overwritten(facts, deciders[0], verdict, told_steps)
    links = _links(facts, deciders[0], told_steps, room - len(told), across=False)
    if len(links) > room - len(told):
        links = _links(facts, deciders[0], told_steps, room - len(told), across=True)
    for current, hops, edge in links[: room - len(told)]:
        told.append(_used(facts, current, hops, edge))
        told_steps |= {*hops, edge.source}
    return _with_rest(facts, told[:room], told_steps) if rest else told[:room]


Link = tuple[int, list[int], Edge]
"""A step, steps of its machine behind it, and what the last of them relied on."""


def _links(facts: Facts, start: int, told_steps: set[int], most: int, *, across: bool) -> list[Link]:
    """From cause to cause, one more than `most` at most; `across` from machine to machine only.

    One machine's steps follow each other in a way that need not be told; if there is no room for all, what is told is
    where another machine came in.
    """
    seen, links, current = set(told_steps), list[Link](), start
    while len(links) <= most:
        hops, edge = _back(facts, current, seen) if across else ([], _cause(facts, current, seen))
        if edge is None:
            break
        links.append((current, hops, edge))
        seen |= {*hops, edge.source}
        current = edge.source
    return links


def _cause(facts: Facts, current: int, seen: Collection[int]) -> Edge | None:
    """What a step relied on; for one that decided, the condition under which it did."""
    edge = facts.cause(current, sorted(seen))
    return None if edge is None else facts.condition(edge)


def _back(facts: Facts, current: int, seen: set[int]) -> tuple[list[int], Edge | None]:
    """The steps of the same machine that a step goes back to, and what the last of them has from another one."""
    first = edge = facts.cause(current, sorted(seen))
    lane, hops = facts.step(current).lane, list[int]()
    while edge is not None and facts.step(edge.source).lane == lane:
        hops.append(edge.source)
        edge = facts.cause(edge.source, sorted({*seen, *hops}))
    return (hops, edge) if edge is not None else ([], first)


def _unchanged(facts: Facts, edges: Iterable[Edge]) -> str:
    """What the verdict found as it had been from the start; of an empty set that nothing ever came into it."""
    paths = list(dict.fromkeys(edge.path for edge in edges))
    empty = [path for path in paths if facts.states[0].get(path) == []]
    rest = [Edge(0, path, START) for path in paths if path not in empty]
    text = f"{_values(facts, rest, 0)}, as at the start" if rest else ""
    if not empty:
        return f"It also rests on {text}."
    never = f"Nothing was ever put into {joined(empty)}" if len(empty) <= 3 else f"{len(empty)} sets stayed empty"
    sought = list(dict.fromkeys(words for path in empty for words in facts.sought(path)))[:3]
    never += f" ({', '.join(f'no {printable(words)}' for words in sought)})" if sought else ""
    return f"{never}; besides, {text}." if text else f"{never}."


def _overwritten(facts: Facts, source: int, verdict: Iterable[Edge], told_steps: set[int]) -> list[str]:
    """What a step that raised a flag had found and changed: such flags keep that for the verdict to see."""
    step, mine = facts.step(source), [edge.path for edge in verdict if edge.source == source]
    if not any(step.delta.get(path) == (False, True) for path in mine):
        return []
    for edge in facts.slice.reads_of(source):
        old, new = step.delta.get(edge.path, (None, None))
        if isinstance(old, str) and edge.source not in (START, *told_steps) and edge.path not in facts.pool_paths:
            told_steps.add(edge.source)
            sentence = f"It changed {edge.path} to {shown(new)} from {shown(old)}, set by {facts.at(edge.source)[:-1]}"
            return [with_quote(sentence, facts.step(edge.source).text)]
    return []


def _from_the_start(facts: Facts, verdict: tuple[Edge, ...]) -> list[str]:
    if not verdict:
        where = f"after step {facts.end}" if facts.end else "at the start"
        return [f"The trace ends {where}; it does not say which variables decide."]
    if facts.trace.loop is not None:
        return [f"The verdict rests on {_values(facts, verdict, 0)}, as at the start."]
    return [f"The initial state decides it: {_values(facts, verdict, 0)}."]


def _rests_on(facts: Facts, source: int, verdict: Iterable[Edge]) -> str:
    mine = [edge for edge in verdict if edge.source == source]
    sentence = f"The verdict rests on {_values(facts, mine, source)}, set by {facts.at(source)}"
    return with_quote(sentence.rstrip(","), facts.step(source).text)


def _used(facts: Facts, current: int, hops: Sequence[int], edge: Edge) -> str:
    value = cut(shown(facts.states[edge.source].get(edge.path)), 40)
    sentence = f"Step {edge.step} relied on {edge.path} = {value}, set by {facts.at(edge.source)}"
    if hops:
        names = f" ({', '.join(facts.step(hop).action for hop in reversed(hops))})" if len(hops) <= 3 else ""
        way = f"Step {current} came after {numbers(hops)} of {facts.step(current).lane}{names}"
        sentence = f"{way}; s{sentence[1:]}"
    return with_quote(sentence.rstrip(","), facts.step(edge.source).text)


def _values(facts: Facts, edges: Iterable[Edge], state: int) -> str:
    paths = list(dict.fromkeys(edge.path for edge in edges))
    parts = [f"{path} = {_value(facts, path, state)}" for path in paths[:3]]
    return joined(parts) if len(paths) <= 3 else f"{', '.join(parts)} and {len(paths) - 3} more"


def _value(facts: Facts, path: str, state: int) -> str:
    """The value, and what the claim looks for in it in vain: `{FAILED}, without Down.ACK`."""
    value = facts.states[state].get(path)
    sought = facts.sought(path)[:2] if isinstance(value, list) else []
    lacking = f", without {printable(' and '.join(sought))}" if sought else ""
    return f"{cut(shown(value), 40)}{lacking}"


def _with_rest(facts: Facts, told: list[str], told_steps: set[int]) -> list[str]:
    """Say how much of the slice is left, at the end of the last sentence's account."""
    rest = facts.slice.steps - told_steps - {START}
    if rest and told and len(told[-1]) < 120:
        behind = "lies" if len(rest) == 1 else "lie"
        told[-1] += f" Behind it {behind} {count(len(rest), 'more step')} ({numbers(rest)})."
    return told
