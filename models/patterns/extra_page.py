"""One side allocates a page more than the other, and the lists are paired from the end.

With speculation prefill reserves room for one more token.  Where the prompt fills its last page that takes another
page; decode has none for it.  Paired from the end every page is shifted by one.
"""

from __future__ import annotations

from kvproto.lang import (
    Array,
    Bool,
    Int,
    Machine,
    Mechanism,
    Model,
    Opt,
    Params,
    Preset,
    Record,
    Report,
    Scope,
    Sort,
    action,
    eventually,
    flag,
    init,
    invariant,
    require,
)

Page = Sort("Page", doc="pages of two tokens")


class Config(Params):
    """What is paired."""

    prompt_only: bool = flag(False, "only pages of the prompt are paired", kind="mitigation")


cfg = Config()
SIZE = 2


class State(Record):
    """`content[p]` is the page of prefill's list that stands where decode looks for page p."""

    length: Int(1, SIZE * (Page - 1))  # tokens of the prompt
    content: Array(Page, Opt(Page))
    sent: Bool


prefill = Machine("prefill", "pairs and sends")


@init
def prompt(s, length: Int(1, SIZE * (Page - 1))):
    """Any length; the page that speculation may need exists."""
    s.length = length


def pages(length):
    """How many pages that many tokens take."""
    return (length + SIZE - 1) // SIZE


@action(prefill, fair="weak")
def send(s):
    """All pages are sent, the last of one list to the last of the other."""
    require(not s.sent)
    mine = pages(s.length + (0 if cfg.prompt_only else 1))
    theirs = pages(s.length)
    for p in Page:
        for t in Page:
            if int(p) < mine and int(t) < theirs and mine - int(p) == theirs - int(t):
                s.content[t] = p
    s.sent = True


@invariant("every page is where decode looks for it")
def pages_in_place(s):
    """Decode attends to the wrong positions, without an error."""
    return all(s.content[p] in (None, p) for p in Page)


@eventually("decode has every page of the prompt")
def complete(s):
    """What is not paired must not be needed."""
    return s.sent and all(s.content[p] is not None for p in Page if int(p) < pages(s.length))


model = Model(
    "patterns.extra_page",
    "prefill's list is a page longer than decode's",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "all that is reserved", expect={"pages_in_place": 1}),
        Preset("fixed", "the prompt", expect={}, prompt_only=True),
    ],
    scopes=[Scope("small", "3 pages", Page=3)],
    reports=[Report("vllm-project/vllm-ascend#8908", "vLLM-Ascend", Mechanism.MISALIGNED)],
)
