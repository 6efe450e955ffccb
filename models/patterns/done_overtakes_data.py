"""The word that a transfer is done overtakes the data.

The sender's write completes, and a message on another channel says so; in the receiver's memory the bytes are not
visible yet.  The report proves that the bytes differ when the message has come; that the order is the cause is what
its author proposes.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Report,
    Scope,
    action,
    eventually_always,
    flag,
    require,
)

from ..kit import pages, push
from ..kit.pages import POOL, Page, Pages, Req, read, release
from ..kit.push import FLIGHTS, Push, post, quiet


class Config(Params):
    """What the message waits for."""

    polls: bool = flag(
        False, "the receiver looks at the end of the data itself before it believes the message", kind="mitigation"
    )


cfg = Config()


class Phase(Enum):
    """The transfer of the only request."""

    NEW = auto()
    POSTED = auto()
    TOLD = auto()
    READ = auto()


class State(Pages, Push):
    """A write is complete at the sender once it is posted, and in the receiver's memory when it lands."""

    phase: Phase


sender = Machine("sender", "writes, and says that it is done")
receiver = Machine("receiver", "reads when it is told")


@action(sender, fair="weak")
def write(s):
    """The sender writes all pages; its engine says that they are complete."""
    require(s.phase == Phase.NEW)
    for p in Page:
        s.owner[p] = Req(0)
    post(s, Req(0))
    s.phase = Phase.POSTED


@action(sender, fair="weak")
def tell(s):
    """The message that all is done arrives, on a channel of its own."""
    require(s.phase == Phase.POSTED)
    s.phase = Phase.TOLD


@action(receiver, fair="weak")
def look(s):
    """The receiver reads its pages."""
    require(s.phase == Phase.TOLD and not (cfg.polls and not quiet(s, Req(0))))
    read(s, Req(0))
    release(s, Req(0))
    s.phase = Phase.READ


@eventually_always("the pages are read, and that once")
def gets_read(s):
    """What is waited for has to come."""
    return s.phase == Phase.READ


model = Model(
    "patterns.done_overtakes_data",
    "the message that all is done comes before the data is visible",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "the message is believed", expect={"reads_own": 3, "lands_in_own": 4}),
        Preset("fixed", "the receiver looks for itself", expect={}, polls=True),
    ],
    scopes=[Scope("small", "1 request, 2 pages", Req=1, Page=2)],
    pools=[POOL],
    flights=[FLIGHTS],
    reports=[Report("vllm-project/vllm#44238", "vLLM", Mechanism.ORDER, established=False)],
)
