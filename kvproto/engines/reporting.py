"""A replay on an engine in words, for the terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

from kvproto.engines.following import Followed, Point, divergence_text
from kvproto.engines.protocol import Client, Reading

WIDTH = 100

STATUS = {
    "IDLE": "has sent nothing",
    "WAITING": "waits",
    "OK_200": "has HTTP 200",
    "REJECTED_400": "has HTTP 400",
    "FAILED_500": "has HTTP 500",
    "GONE": "is gone",
}


_MIXIN = re.compile(r"(?<=:)\w+Mixin\.")
"""The name of a class that the scheduler is put together from says nothing that its file does not."""


def report_lines(result: Followed) -> list[str]:
    """Every step with the places in the engine's source, then what was found."""
    lines = [f"{result.engine}, along a trace of {result.preset or 'no preset'}"]
    for point in (*result.points, *result.settled):
        if point.number:
            lines += _step(point)
    lines.append("")
    lines += _verdict(result)
    for label, client in result.clients.items():
        lines += _client(label, client)
    if result.violations:
        lines += _wrapped(f"claims that what was seen breaks: {', '.join(result.violations)}")
    return lines


def _step(point: Point) -> list[str]:
    """The step, its places, and what is to be said about it."""
    head = f"{point.number:>4}  {point.call}"
    if point.grouped:
        return [f"{head:<34}with the step above: the engine does both in one go"]
    places = [_MIXIN.sub("", place.removeprefix("note:")) for place in point.points]
    first = places[0] if places else "" if point.refused else "ours: no code of the engine"
    lines = [f"{head:<34}{first}".rstrip()]
    lines += [f"{'':<34}{place}" for place in places[1:]]
    if point.aside:
        lines.append(f"{'':<34}kept out of this pass: {', '.join(sorted(set(point.aside)))}")
    for note in point.notes:
        lines += _wrapped(note, indent=34)
    return lines


def _verdict(result: Followed) -> list[str]:
    ended = result.divergence
    if ended is not None:
        return _wrapped(f"the engine diverges from the model: {divergence_text(ended)}")
    text = f"the engine agrees with the model after each of {len(result.points)} steps"
    lines = _wrapped(f"{text} ({result.compared} variables compared, {len(result.left_out)} left out)")
    if result.settled:
        lines += _wrapped(f"after the trace decode went on to the answer: {', '.join(p.call for p in result.settled)}")
    return lines


def _client(label: str, client: Client) -> list[str]:
    if client.client == "IDLE":
        return []
    lines = ["", f"client {label}, prompt of {client.tokens} tokens: {STATUS.get(client.client, client.client)}"]
    for side, leg in client.legs.items():
        lines += _wrapped(f"{side} answered {leg.status}: {leg.text}", indent=2)
    for number, read in enumerate(client.reads, 1):
        when = f" (pass {number})" if len(client.reads) > 1 else ""
        lines += _wrapped(f"decode read{when} {_tokens(label, read.tokens)}", indent=2)
        lines += _foreign(label, read)
    return lines


def _tokens(label: str, tokens: Mapping[str, int]) -> str:
    if set(tokens) == {label}:
        return f"{tokens[label]} tokens, all written by {label}"
    parts = [f"{count} {f'written by {who}' if who else 'that nobody wrote'}" for who, count in tokens.items()]
    return f"{sum(tokens.values())} tokens: {', '.join(parts)}"


def _foreign(label: str, read: Reading) -> list[str]:
    """The pages that are not the request's own."""
    by: dict[str | None, list[int]] = {}
    for page, author in read.pages:
        if author != label:
            by.setdefault(author, []).append(page)
    lines = []
    for author, pages in by.items():
        numbers = f"page{'s' if len(pages) > 1 else ''} {', '.join(map(str, pages))}"
        whose = f"{'were' if len(pages) > 1 else 'was'} written by {author or 'nobody'}"
        lines += _wrapped(f"{numbers} that {label} reads {whose}", indent=4)
    return lines


def _wrapped(text: str, indent: int = 0) -> list[str]:
    lead = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=lead, subsequent_indent=lead) or [text]
