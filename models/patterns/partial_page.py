"""A chunk ends inside a page, the page is sent with both chunks, and everything behind it slides by one.

Both sides count pages, chunks end where they like.  The page that two chunks share is sent twice, and each time the
sender's place in the list of targets moves on.  The rule that was adopted: a chunk in the middle sends whole pages
only, the last one the rest.
"""

from __future__ import annotations

from kvproto.lang import (
    Bool,
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
    invariant,
    require,
)

from ..kit.lists import SIZE, Page, Placed, place


class Config(Params):
    """What a chunk sends."""

    whole_pages: bool = flag(False, "a chunk in the middle sends whole pages only", kind="mitigation")


cfg = Config()


class State(Placed):
    """A prompt that fills all pages but for one token, in two chunks."""

    edge: Int(1, SIZE * Page - 1)  # tokens of the first chunk
    chunk: Int(0, 2)  # chunks sent
    next: Int(0, 2 * Page)  # the sender's place in the list of targets
    crashed: Bool


prefill = Machine("prefill", "sends chunk after chunk")


@init
def cut(s, edge: Int(1, SIZE * Page - 1)):
    """The first chunk ends anywhere."""
    s.edge = edge


def put(s, p):
    """The page of the prompt goes to the next target."""
    place(s, p, s.next)
    if s.next >= len(Page):
        s.crashed = True
    s.next += 1


@action(prefill, fair="weak")
def send_first(s):
    """The first chunk is sent: the pages that it touches, or that it fills."""
    require(s.chunk == 0)
    for p in Page:
        if SIZE * int(p) < s.edge and not (cfg.whole_pages and SIZE * (int(p) + 1) > s.edge):
            put(s, p)
    s.chunk = 1


@action(prefill, fair="weak")
def send_last(s):
    """The last chunk is sent: the pages that it touches."""
    require(s.chunk == 1)
    for p in Page:
        if SIZE * (int(p) + 1) > s.edge:
            put(s, p)
    s.chunk = 2


@invariant("every page arrives where it belongs")
def pages_in_place(s):
    """Decode attends to the wrong positions."""
    return s.chunk < 2 or (not s.crashed and all(s.content[p] == p for p in Page))


@eventually("everything is sent")
def all_sent(s):
    """What a chunk keeps back the next one has to send."""
    return s.chunk == 2


model = Model(
    "patterns.partial_page",
    "a page that two chunks share is sent twice",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "every page that a chunk touches", expect={"pages_in_place": 2}),
        Preset("fixed", "whole pages, and the rest at the end", expect={}, whole_pages=True),
    ],
    scopes=[Scope("small", "3 pages", Page=3)],
    reports=[Report("sgl-project/sglang#5588", "SGLang", Mechanism.MISALIGNED)],
)
