"""One side allocates a page more than the other, and the lists are paired from the end.

With speculation prefill reserves room for one more token.  Where the prompt fills its last page that takes another
page; decode has none for it.  Paired from the end every page is shifted by one.
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
    require,
)

from ..kit import lists
from ..kit.lists import SIZE, Page, Placed, pages, place


class Config(Params):
    """What is paired."""

    prompt_only: bool = flag(False, "only pages of the prompt are paired", kind="mitigation")


cfg = Config()


class State(Placed):
    """Prefill has a page more than the prompt needs."""

    length: Int(1, SIZE * (Page - 1))  # tokens of the prompt
    sent: Bool


prefill = Machine("prefill", "pairs and sends")


@init
def prompt(s, length: Int(1, SIZE * (Page - 1))):
    """Any length; the page that speculation may need exists."""
    s.length = length


@action(prefill, fair="weak")
def send(s):
    """All pages are sent, the last of one list to the last of the other."""
    require(not s.sent)
    mine = pages(s.length + (0 if cfg.prompt_only else 1))
    theirs = pages(s.length)
    for p in Page:
        if int(p) < mine:
            place(s, p, theirs - mine + int(p))
    s.sent = True


@eventually("decode has every page of the prompt")
def complete(s):
    """What is not paired must not be needed."""
    return s.sent and all(s.content[p] is not None for p in Page if int(p) < pages(s.length))


model = Model(
    "patterns.extra_page",
    "prefill's list is a page longer than decode's",
    state=State,
    parts=[__name__],
    properties=[lists],
    params=Config,
    presets=[
        Preset("bug", "all that is reserved", expect={"pages_in_place": 1}),
        Preset("fixed", "the prompt", expect={}, prompt_only=True),
    ],
    scopes=[Scope("small", "3 pages", Page=3)],
    reports=[Report("vllm-project/vllm-ascend#8908", "vLLM-Ascend", Mechanism.MISALIGNED)],
)
