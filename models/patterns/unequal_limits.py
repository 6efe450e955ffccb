"""Prefill refuses a prompt that decode accepts.

The limit on the length of a prompt is set on one side only.  A prompt between the limits is refused by prefill;
decode reserves pages and waits for bytes that nobody will send.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Int,
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Record,
    Report,
    Scope,
    Sort,
    action,
    flag,
    init,
    invariant,
    leads_to,
    number,
    require,
)

Page = Sort("Page", doc="pages that a prompt takes, at most")


class Config(Params):
    """Limits in pages; what a refusal does."""

    prefill_limit: int = number(1, "pages that prefill accepts", least=1, most=3)
    decode_limit: int = number(2, "pages that decode accepts", least=1, most=3)
    refusal_told: bool = flag(False, "a refusal by one side ends the request on the other", kind="mitigation")


cfg = Config()


class Side(Enum):
    """A request on either side."""

    NEW = auto()
    ACCEPTED = auto()
    REFUSED = auto()
    OVER = auto()


class State(Record):
    """One request of any length."""

    pages: Int(1, Page)
    prefill: Side
    decode: Side


prefill = Machine("prefill", "refuses or sends")
decode = Machine("decode", "refuses, or reserves and waits")


@init
def prompt(s, pages: Int(1, Page)):
    """A prompt of any length."""
    s.pages = pages


@action(prefill, fair="weak")
def admit_prefill(s):
    """Prefill takes the request or refuses it."""
    require(s.prefill == Side.NEW)
    s.prefill = Side.ACCEPTED if s.pages <= cfg.prefill_limit else Side.REFUSED


@action(decode, fair="weak")
def admit_decode(s):
    """Decode takes the request and reserves its pages, or refuses it."""
    require(s.decode == Side.NEW)
    s.decode = Side.ACCEPTED if s.pages <= cfg.decode_limit else Side.REFUSED


@action(prefill, fair="weak")
def transfer(s):
    """Both have the request: it is sent and served."""
    require(s.prefill == Side.ACCEPTED and s.decode == Side.ACCEPTED)
    s.prefill = Side.OVER
    s.decode = Side.OVER


@action(decode, fair="weak")
def hear(s):
    """One side hears that the other has refused, and ends the request."""
    require(cfg.refusal_told)
    require(
        (s.prefill == Side.REFUSED and s.decode == Side.ACCEPTED)
        or (s.decode == Side.REFUSED and s.prefill == Side.ACCEPTED)
    )
    s.prefill = Side.REFUSED
    s.decode = Side.REFUSED


@leads_to("a request that is accepted ends")
def accepted_ends(s):
    """It holds pages until the client's limit, half an hour."""
    accepted = Side.ACCEPTED in (s.prefill, s.decode)
    return accepted, not accepted


def fits(s):
    """Whether both sides have room for the prompt."""
    return s.pages <= min(cfg.prefill_limit, cfg.decode_limit)


@invariant("what fits on both sides is served, what does not is refused")
def served_if_it_fits(s):
    """Refusing everything would end every wait."""
    sides = (s.prefill, s.decode)
    return not (Side.OVER in sides and not fits(s)) and not (Side.REFUSED in sides and fits(s))


model = Model(
    "patterns.unequal_limits",
    "the two sides accept prompts of different lengths",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "prefill accepts less", expect={"accepted_ends": None}),
        Preset("equal", "both accept the same", expect={}, prefill_limit=2),
        Preset("fixed", "a refusal is told", expect={}, refusal_told=True),
    ],
    scopes=[Scope("small", "prompts of 1 to 3 pages", Page=3)],
    reports=[Report("SemiAnalysisAI/InferenceX#2257", "SGLang", Mechanism.HANG)],
)
