"""The cached part of a prompt is sent while the pass that writes it still runs.

With overlapped scheduling a pass is launched and its pages count as computed; a second request with the same prefix
sends them at once.  The network card takes no part in the order of the GPU's streams.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Bool,
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
    invariant,
    require,
)


class Config(Params):
    """What orders the send behind the pass."""

    waits_event: bool = flag(False, "a send waits for the event of the pass that writes its page", kind="mitigation")


cfg = Config()


class Page(Enum):
    """The page of the prefix that both requests share."""

    EMPTY = auto()
    LAUNCHED = auto()
    WRITTEN = auto()


class Second(Enum):
    """The request that finds the prefix."""

    WAITS = auto()
    HIT = auto()
    SENT = auto()


class State(Record):
    """The pass belongs to one request, the send to another."""

    page: Page
    second: Second
    unwritten_sent: Bool


scheduler = Machine("scheduler", "launches passes, finds prefixes")
gpu = Machine("gpu", "runs passes, one after the other")
network = Machine("network", "reads pages when it comes to it")


@action(scheduler, fair="weak")
def launch(s):
    """The pass that writes the page of the prefix is launched."""
    require(s.page == Page.EMPTY)
    s.page = Page.LAUNCHED


@action(gpu, fair="weak")
def complete(s):
    """The pass is done."""
    require(s.page == Page.LAUNCHED)
    s.page = Page.WRITTEN


@action(scheduler, fair="weak")
def hit(s):
    """A second request finds the prefix, which counts as computed."""
    require(s.second == Second.WAITS and s.page != Page.EMPTY)
    s.second = Second.HIT


@action(network, fair="weak")
def send(s):
    """The page of the prefix is read and sent for the second request."""
    require(s.second == Second.HIT and not (cfg.waits_event and s.page == Page.LAUNCHED))
    if s.page != Page.WRITTEN:
        s.unwritten_sent = True
    s.second = Second.SENT


@invariant("no page is sent before it is written")
def sends_written(s):
    """What arrives is torn, or what the page held before."""
    return not s.unwritten_sent


@eventually_always("the second request gets its prefix, and that once")
def prefix_arrives(s):
    """An event that nobody signals would hold the send for ever."""
    return s.second == Second.SENT


model = Model(
    "patterns.early_send",
    "a page is sent while the pass that writes it runs",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "sent at once", expect={"sends_written": 3}),
        Preset("fixed", "sent behind the pass", expect={}, waits_event=True),
    ],
    reports=[Report("sgl-project/sglang#31368", "SGLang", Mechanism.ORDER)],
)
