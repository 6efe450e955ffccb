"""One component's pages are listed over a length that already counts the token just sampled.

Decode registers targets for the prompt.  Prefill lists the pages of the KV cache over the prompt as well, those of
an auxiliary state over all tokens, the first new one included.  Where the prompt ends on the edge of a page the
lists differ by one.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Int,
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Record,
    Report,
    Scope,
    action,
    eventually,
    flag,
    init,
    invariant,
    require,
)

from ..kit.lists import SIZE, Page, pages


class Config(Params):
    """Over which length pages are listed."""

    clamped: bool = flag(False, "the state's pages are listed over the prompt, as the KV cache's", kind="mitigation")


cfg = Config()


class Part(Enum):
    """What a request consists of."""

    KV = auto()
    STATE = auto()


class State(Record):
    """A prompt of any length that fits, and the two lists of its pages."""

    length: Int(1, SIZE * Page - 1)
    sampled: Bool
    sent: Array(Part, Bool)
    crashed: Bool


prefill = Machine("prefill", "samples the first token, and sends both parts")


@init
def prompt(s, length: Int(1, SIZE * Page - 1)):
    """Any length, so that one token more still fits."""
    s.length = length


@action(prefill, fair="weak")
def sample(s):
    """The first token is sampled and counts from now on."""
    require(not s.sampled)
    s.sampled = True


@action(prefill, fair="weak")
def send(s, part: Part):
    """The last chunk of {part} is sent: prefill's list against decode's."""
    require(s.sampled and not s.sent[part])
    longer = part == Part.STATE and not cfg.clamped
    if pages(s.length + (1 if longer else 0)) != pages(s.length):
        s.crashed = True
    s.sent[part] = True


@invariant("both sides list the same pages")
def lists_agree(s):
    """The worker crashes, or pairs pages wrongly."""
    return not s.crashed


@eventually("both parts are sent")
def all_sent(s):
    """None is left out to make the lists agree."""
    return all(s.sent[part] for part in Part)


model = Model(
    "patterns.state_length",
    "the pages of an auxiliary state are listed over one token too many",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "over all tokens", expect={"lists_agree": 2}),
        Preset("fixed", "over the prompt", expect={}, clamped=True),
    ],
    scopes=[Scope("small", "3 pages", Page=3)],
    reports=[Report("sgl-project/sglang#27004", "SGLang", Mechanism.MISALIGNED)],
)
