"""Time limits whose order matters: how long pages are held, how long a call runs, how long a request waits.

Time passes in ticks.  Nothing is acknowledged here: decode has only its clock, and that may run ahead of prefill's.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Bool,
    Int,
    Machine,
    Model,
    Params,
    Preset,
    Record,
    Scope,
    action,
    flag,
    init,
    invariant,
    leads_to,
    number,
    require,
)

CALL = "mooncake:mooncake-integration/transfer_engine/transfer_engine_py.cpp:batchTransferSync"
HOLD = "srt/environ.py:SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE_TIMEOUT"
WAIT = "srt/environ.py:SGLANG_DISAGGREGATION_WAITING_TIMEOUT"
BATCH = "0.5.20+ srt/environ.py:SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES"


class Config(Params):
    """Limits in ticks, and what makes them sufficient."""

    batches: int = number(2, "batches of a transfer", least=1)
    call_limit: int = number(2, "ticks that a call of one batch takes at most", least=1, cites=CALL)
    notice: int = number(1, "ticks until prefill knows of an abort, at most", least=0)
    drift: int = number(1, "ticks that the clock of decode may be ahead", least=0)
    hold_limit: int = number(5, "ticks for which decode holds the pages of an aborted transfer", least=1, cites=HOLD)
    patience: int = number(6, "ticks for which decode waits for a transfer", least=1, cites=WAIT)
    bounded: bool = flag(
        True,
        "a call sends one batch; else all of them, and may take as much longer",
        cites=BATCH,
        kind="mitigation",
    )
    rechecks: bool = flag(
        True,
        "prefill looks for an abort before each call, not only before the first",
        kind="mitigation",
    )
    expires: bool = flag(True, "a hold has a limit at all", kind="mitigation")
    gives_up: bool = flag(True, "a wait has a limit at all", kind="mitigation")


cfg = Config()


class Pages(Enum):
    """The pages, as decode sees them."""

    SHARED = auto()
    HELD = auto()
    FREE = auto()
    KEPT = auto()  # the transfer is complete


class State(Record):
    """One transfer, and the clocks of both sides."""

    pages: Pages
    left: Int(0, Config.batches)  # batches that have not been sent
    running: Bool
    stuck: Bool  # prefill begins no call any more, and says nothing
    told: Bool  # prefill knows of the abort
    call_time: Int(0, Config.call_limit * Config.batches)
    notice_time: Int(0, Config.notice)
    hold_time: Int(0, Config.hold_limit)
    wait_time: Int(0, Config.patience)
    ahead: Int(0, Config.drift)
    freed_early: Bool
    impatient: Bool


clock = Machine("clock", "lets time pass")
decode = Machine("decode", "waits, gives up, holds and frees")
prefill = Machine("prefill", "sends one batch a call")


@init
def all_to_send(s):
    """Nothing has been sent."""
    s.left = cfg.batches


def longest():
    """Ticks that the running call takes at most."""
    return cfg.call_limit if cfg.bounded else cfg.call_limit * cfg.batches


def will_begin(s):
    """Whether prefill is about to begin a call."""
    first = s.left == cfg.batches
    return s.left > 0 and not s.running and not s.stuck and (not s.told or not (cfg.rechecks or first))


def decode_tick(s):
    """The clock of decode goes on; it is read only up to the limits."""
    if s.pages == Pages.HELD:
        s.hold_time = min(s.hold_time + 1, cfg.hold_limit)
    if s.pages == Pages.SHARED:
        s.wait_time = min(s.wait_time + 1, cfg.patience)


@action(clock, fair="weak")
def tick(s):
    """Time passes; what has to happen before has happened."""
    require(s.pages in (Pages.SHARED, Pages.HELD) and not will_begin(s))
    require(s.running or s.left > 0 or s.pages == Pages.HELD)
    require(not s.running or s.call_time < longest())
    require(s.pages != Pages.HELD or s.told or s.notice_time < cfg.notice)
    if s.running:
        s.call_time += 1
    if s.pages == Pages.HELD and not s.told:
        s.notice_time += 1
    decode_tick(s)


@action(clock)
def run_ahead(s):
    """The clock of decode gains a tick on that of prefill."""
    require(cfg.drift > 0 and s.ahead < cfg.drift and s.pages in (Pages.SHARED, Pages.HELD))
    s.ahead += 1
    decode_tick(s)


@action(prefill, fair="weak")
def begin(s):
    """A call begins."""
    require(will_begin(s))
    s.running = True
    s.call_time = 0


@action(prefill)
def get_stuck(s):
    """Prefill stops between two calls, for good."""
    require(will_begin(s))
    s.stuck = True


@action(prefill, cites=CALL, fair="weak")
def end(s):
    """The call ends, sooner or later, but within its limit."""
    require(s.running)
    s.running = False
    s.left = s.left - 1 if cfg.bounded else 0


@action(prefill, fair="weak")
def hear(s):
    """Prefill hears of the abort."""
    require(s.pages == Pages.HELD and not s.told)
    s.told = True


@action(decode, fair="weak")
def complete(s):
    """Everything has been sent, and decode goes on."""
    require(s.pages == Pages.SHARED and s.left == 0)
    s.pages = Pages.KEPT


@action(decode)
def abort(s):
    """The client is gone, and decode holds the pages."""
    require(s.pages == Pages.SHARED)
    s.pages = Pages.HELD


@action(decode, cites=WAIT, fair="weak")
def lose_patience(s):
    """Decode has waited long enough, and holds the pages."""
    require(cfg.gives_up and s.pages == Pages.SHARED and s.wait_time >= cfg.patience)
    s.pages = Pages.HELD
    if s.left > 0 and not s.stuck:
        s.impatient = True


@action(decode, cites=HOLD, fair="weak")
def expire(s):
    """The hold is over its limit, and decode frees the pages."""
    require(cfg.expires and s.pages == Pages.HELD and s.hold_time >= cfg.hold_limit)
    s.pages = Pages.FREE
    if s.running or will_begin(s):
        s.freed_early = True


@invariant("no page is freed while a call writes to it, or before one that will")
def freed_after_the_last_write(s):
    """A limit that outlasts the notice, one whole call and the drift is as good as an acknowledgement."""
    return not s.freed_early


@invariant("a transfer whose calls keep their limit is not given up")
def patience_outlasts_calls(s):
    """Small batches make each call short, not the transfer."""
    return not s.impatient


@leads_to("held pages are free in the end")
def holds_end(s):
    """Without acknowledgement and without a limit nobody ever frees them."""
    return s.pages == Pages.HELD, s.pages != Pages.HELD


@leads_to("a wait ends")
def waits_end(s):
    """Prefill may be gone, and then it says nothing."""
    return s.pages == Pages.SHARED, s.pages != Pages.SHARED


model = Model(
    "blocks.timers",
    "three time limits, two clocks, and what the limits have to outlast",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "every property holds"),
        Preset("short-hold", "the hold is over before a call has to be: freed_after_the_last_write", hold_limit=2),
        Preset(
            "no-margin",
            "the hold outlasts notice and call, but not the drift: freed_after_the_last_write",
            hold_limit=4,
        ),
        Preset("no-drift", "the same hold is enough if the clocks agree: all hold", base="no-margin", drift=0),
        Preset("unbounded", "one call for all batches: freed_after_the_last_write", bounded=False),
        Preset(
            "not-rechecked",
            "a call begins although the abort is known: freed_after_the_last_write",
            rechecks=False,
        ),
        Preset("late-notice", "prefill hears of the abort late: freed_after_the_last_write", notice=3),
        Preset(
            "short-patience",
            "the request waits for less than all its calls may take: patience_outlasts_calls",
            patience=4,
        ),
        Preset("no-limit", "a hold without limit: holds_end", expires=False),
        Preset("no-patience", "a wait without limit: waits_end", gives_up=False),
    ],
    scopes=[
        Scope("two-batches", "2 batches", batches=2),
        Scope("three-batches", "3 batches, and as much more patience", batches=3, patience=8),
    ],
)
