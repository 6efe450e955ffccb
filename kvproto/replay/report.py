"""A replay in words, for the terminal."""

from __future__ import annotations

import json
import textwrap

from kvproto.reference import prompts
from kvproto.replay.canaries import UNKNOWN, writer
from kvproto.replay.result import CanaryFound, ClientView, ReplayResult

WIDTH = 80
MOST_BLOCKED = 12
"""Blocked steps that are listed; the rest is counted."""


def report_lines(result: ReplayResult) -> list[str]:
    """The report, at most `WIDTH` columns wide: verdict, device, blocked steps, every request, every foreign canary."""
    lines = _wrapped(_verdict(result))
    if result.backend != "numpy":
        lines += _wrapped(f"tensors: {result.backend}, on {result.device}")
    if result.settled:
        lines += _wrapped(f"after the trace decode went on to the answer: {', '.join(result.settled)}")
    if result.blocked:
        lines += ["", "blocked steps"]
        for step in result.blocked[:MOST_BLOCKED]:
            lines += _wrapped(f"{step.step:>4}  {step.action}: {step.reason}", hang=6)
        if len(result.blocked) > MOST_BLOCKED:
            lines.append(f"      and {len(result.blocked) - MOST_BLOCKED} more")
    for name, view in result.answers.items():
        lines += ["", *_request(name, view)]
    lines.append("")
    for found in result.canaries:
        lines += _wrapped(canary_sentence(found))
    if not result.canaries:
        lines.append("no request has read a page that another request wrote")
    return lines


def canary_sentence(found: CanaryFound) -> str:
    """Whose text turned up where."""
    numbers = ", ".join(map(str, found.pages))
    pages = f"page {numbers}" if len(found.pages) == 1 else f"pages {numbers}"
    canary = f"{found.writer}'s canary ({pages}): text that {found.writer} wrote"
    if found.delivered:
        return f"request {found.reader}'s answer contains {canary}"
    return f"decode has read, for request {found.reader}, {canary}"


def _verdict(result: ReplayResult) -> str:
    if result.overrides or result.what_if:
        named = [f"{name}={json.dumps(value)}" for name, value in result.overrides.items()]
        changes = ", ".join([*([result.what_if] if result.what_if else []), *named])
        return (
            f"what if {changes}: {result.performed} steps of the same schedule performed, {len(result.blocked)} blocked"
        )
    if result.divergence is not None:
        return f"the implementation diverges from the model: {result.divergence}"
    return f"the implementation agrees with the model after each of {result.performed} steps"


def _request(name: str, view: ClientView) -> list[str]:
    head = f"request {name}: {view.outcome}"
    if view.status is not None:
        head = f"request {name}: HTTP {view.status}, prompt_tokens {view.prompt_tokens}"
    elif view.prompt_tokens:
        head += f", prompt_tokens {view.prompt_tokens}"
    lines = [head]
    if view.text and not view.delivered:
        lines += _wrapped(f"  {view.text}", hang=2)
    for number, text in enumerate(view.read):
        if not view.delivered or len(view.read) > 1:
            lines.append(f"  read by decode, {view.read_by[number] if view.read_by else f'pass {number + 1}'}")
        lines += _pages(name, text)
    return lines


def _pages(name: str, text: str) -> list[str]:
    """One line a page, with whose text it is unless it is the request's own."""
    lines = []
    for number, page in enumerate(prompts.split(text)):
        lines.append(f"  page {number:>2} |{page}|  {_note(name, page)}".rstrip())
    return lines


def _note(reader: str, page: str) -> str:
    found = writer(page)
    if found is None:
        return "never written"
    if found[0] == UNKNOWN:
        return "text of no prompt"
    placeholder = "the one-token placeholder" if page[0] in prompts.STUBS else ""
    if found[0] == reader:
        return placeholder
    return f"written by {found[0]}" + (f" ({placeholder})" if placeholder else "")


def _wrapped(text: str, hang: int = 0) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * hang) or [text]
