"""Decode's time limit starts before prefill has begun.

The router sends both legs at once.  Decode asks the producer for blocks that do not exist yet, which starts a fixed
limit; under load prefill is later than that, and decode computes everything again.  Which order is right depends on
the connector: where prefill pushes, decode has to be there first.
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
    action,
    eventually_always,
    flag,
    init,
    invariant,
    number,
    require,
)


class Config(Params):
    """When the decode leg is sent, and how long things take."""

    after_prefill: bool = flag(False, "the decode leg is sent when prefill is done", kind="mitigation")
    limit: int = number(2, "ticks that decode waits for blocks", least=1, most=3)
    load: int = number(3, "ticks at most until prefill has computed", least=1, most=4)


cfg = Config()


class Decode(Enum):
    """The decode leg."""

    NOT_SENT = auto()
    WAITS = auto()
    FETCHED = auto()
    RECOMPUTES = auto()


class State(Record):
    """One request; the clock ticks while something is awaited."""

    prefill_left: Int(0, Config.load)
    decode: Decode
    waited: Int(0, Config.limit)


router = Machine("router", "sends the decode leg")
prefill = Machine("prefill", "computes within its time")
decode = Machine("decode", "waits within its limit")
clock = Machine("clock", "ticks")


@init
def queued(s, left: Int(0, Config.load)):
    """Prefill may be under any load."""
    s.prefill_left = left


@action(clock, fair="weak")
def tick(s):
    """A tick: prefill is nearer to its end, decode to its limit."""
    require(s.prefill_left > 0 and not (s.decode == Decode.WAITS and s.waited >= cfg.limit))
    s.prefill_left -= 1
    if s.decode == Decode.WAITS:
        s.waited += 1


@action(router, fair="weak")
def send_leg(s):
    """The decode leg is sent, and its fetch starts the limit."""
    require(s.decode == Decode.NOT_SENT and not (cfg.after_prefill and s.prefill_left > 0))
    s.decode = Decode.WAITS


@action(decode, fair="weak")
def fetch(s):
    """The blocks are there, and decode fetches them."""
    require(s.decode == Decode.WAITS and s.prefill_left == 0)
    s.decode = Decode.FETCHED


@action(decode, fair="weak")
def give_up(s):
    """The limit has come: decode computes the prompt by itself."""
    require(not cfg.after_prefill and s.decode == Decode.WAITS and s.waited >= cfg.limit and s.prefill_left > 0)
    s.decode = Decode.RECOMPUTES


@invariant("no prompt is computed twice")
def computed_once(s):
    """All that separate prefill is for is lost."""
    return s.decode != Decode.RECOMPUTES


@eventually_always("decode has the prompt, and asks no more")
def has_prompt(s):
    """One way or the other."""
    return s.decode in (Decode.FETCHED, Decode.RECOMPUTES)


model = Model(
    "patterns.deadline_from_dispatch",
    "a time limit is measured from the wrong event",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "both legs at once", expect={"computed_once": 4}),
        Preset("fixed", "one after the other", expect={}, after_prefill=True),
    ],
    reports=[Report("llm-d/llm-d-router#2451", "llm-d", Mechanism.HANG)],
)
