"""Messages of a trace: what one machine put somewhere and another took out.

The language has no channels of its own; a model uses sets, queues, bags or flags.  So a message is recognised by what
happens to it: one step adds an element (or raises a flag), a later step of another machine looks and removes it (or
lowers the flag).  What a machine takes out itself was a note to itself.  An element that nobody has taken is a message
under way if the same machine sent another one to the same place, or its like with other indices, which was taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kvproto.report.containers import Containers, Delta
from kvproto.report.report import Message
from kvproto.trace.trace import State, Trace

Content = Counter[str]
"""What a place holds: elements as text, with their numbers."""

FLAG = ""
"""The element of a flag that is raised."""

SHORTEST = 2
"""Words of more letters than that tell what a message is."""

_INDEX = re.compile(r"\[[^\[\]]*\]")


@dataclass(frozen=True, slots=True)
class _Sent:
    """An element that was put somewhere, by which step of which machine."""

    step: int
    lane: str


def messages(trace: Trace) -> tuple[Message, ...]:
    """The messages in the order in which they were sent."""
    waiting: dict[tuple[str, str], list[_Sent]] = {}
    found: list[Message] = []
    containers, apart = Containers(trace), _not_mail(trace)
    for number, (step, before) in enumerate(zip(trace.steps, trace.states(), strict=False), 1):
        after = {**before, **{path: new for path, (_, new) in step.delta.items()}}
        for path, old, new in _touched(containers, step.delta, before, after, apart):
            looked = path in step.reads or path not in step.delta
            for text in (old - new).elements():
                sent = waiting.get((path, text), [])
                if sent and (first := sent.pop(0)).lane != step.lane and looked:
                    found.append(Message(first.step, number, first.lane, step.lane, path, _word(path, text)))
            for text in (new - old).elements():
                waiting.setdefault((path, text), []).append(_Sent(number, step.lane))
    boxes = {(_like(message.path), message.sender) for message in found}
    for (path, text), left in waiting.items():
        found += [
            Message(sent.step, None, sent.lane, "", path, _word(path, text))
            for sent in left
            if (_like(path), sent.lane) in boxes and text != FLAG
        ]
    return tuple(sorted(found, key=lambda message: (message.sent, message.taken or 1 << 62, message.path)))


def _touched(
    containers: Containers, delta: Delta, before: State, after: State, apart: frozenset[str]
) -> Iterator[tuple[str, Content, Content]]:
    """Every place that a step changes, before and after it."""
    held = containers.touched(delta)
    for container in held:
        yield container.view.path, Counter(container.elements(before)), Counter(container.elements(after))
    of_containers = {path for container in held for path in container.paths()}
    for path, (old, new) in delta.items():
        if path in apart or path in of_containers:
            continue
        if isinstance(old, list) and isinstance(new, list):
            # Sets of numbers are bookkeeping: ranks, positions, pages.
            named = [Counter(item for item in side if isinstance(item, str)) for side in (old, new)]
            yield path, named[0], named[1]
        elif isinstance(old, bool) and isinstance(new, bool):
            yield path, Counter([FLAG] * old), Counter([FLAG] * new)


def _not_mail(trace: Trace) -> frozenset[str]:
    """Sets of writes in flight, and what belongs to pages: pictures of their own."""
    flights = {
        field.replace("{r}", request)
        for view in trace.vocabulary.flights
        for request in view.requests
        for field in (view.field, *view.also)
    }
    pages = {
        path
        for pool in trace.vocabulary.pools
        for page in pool.pages
        for path in (pool.owned(page), *pool.contents(page).values())
    }
    return frozenset(flights | pages)


def _like(path: str) -> str:
    """A path without its indices."""
    return _INDEX.sub("[]", path)


def _word(path: str, text: str) -> str:
    """What the message is called: its element, or the name of the flag; a number or label alone says too little."""
    place = _INDEX.sub("", path).rpartition(".")[2]
    return text if len(text) > SHORTEST and not text.isdecimal() else f"{place} {text}".rstrip()
