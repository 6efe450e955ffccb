"""Decode has the first pages of a prompt already, and prefill pairs its list with decode's from the wrong end.

Decode registers targets for the pages that it lacks, which are the last ones.  Prefill takes its own full list and
pairs from the front: the first pages of the prompt land where the last ones belong.
"""

from __future__ import annotations

from kvproto.lang import (
    Int,
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Report,
    Scope,
    action,
    eventually,
    flag,
    init,
    require,
)

from ..kit import lists
from ..kit.lists import Page, Placed, place


class Config(Params):
    """How two lists of different lengths are paired."""

    from_the_end: bool = flag(False, "lists are paired from their ends, as the pull path does", kind="mitigation")


cfg = Config()


class State(Placed):
    """Decode has the first pages; prefill has them all."""

    cached: Int(0, Page)
    sent: Int(0, Page)


prefill = Machine("prefill", "pairs and sends")


@init
def hit(s, cached: Int(0, Page)):
    """Decode has any number of first pages, and they are right."""
    s.cached = cached
    for p in Page:
        if int(p) < cached:
            s.content[p] = p


@action(prefill, fair="weak")
def send(s):
    """Prefill sends the next pair of its list."""
    require(s.cached + s.sent < len(Page))
    for p in Page:
        if int(p) == s.sent + (s.cached if cfg.from_the_end else 0):
            place(s, p, s.cached + s.sent)
    s.sent += 1


@eventually("decode has all pages")
def complete(s):
    """What is paired is all that is missing."""
    return all(s.content[p] is not None for p in Page)


model = Model(
    "patterns.front_trim",
    "lists of pages are paired from the front after a prefix hit",
    state=State,
    parts=[__name__],
    properties=[lists],
    params=Config,
    presets=[
        Preset("bug", "paired from the front", expect={"pages_in_place": 1}),
        Preset("fixed", "paired from the end", expect={}, from_the_end=True),
    ],
    scopes=[Scope("small", "3 pages", Page=3)],
    reports=[Report("vllm-project/vllm#48633", "vLLM", Mechanism.MISALIGNED)],
)
