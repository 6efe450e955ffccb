"""Writes that one side posts and that land in the other side's pages when they like.

class State(Pages, Push): ...
model = Model(..., parts=[push, __name__], flights=[FLIGHTS])
"""

from __future__ import annotations

from kvproto.lang import Array, Flights, Machine, Record, Set, action, invariant, require

from .pages import Page, Req, write

FLIGHTS = Flights("flying")
network = Machine("network", "lands posted writes, in any order")


class Push(Record):
    """A write names its page when it is posted; whose page it is when it lands, nobody asks."""

    flying: Array(Req, Set(Page))


def post(s, r):
    """A write to every page of the request is on its way."""
    for p in Page:
        if s.owner[p] == r:
            s.flying[r].add(p)


def quiet(s, r):
    """Nothing of the request is on its way."""
    return not s.flying[r]


@action(network, fair="weak")
def land(s, r: Req, p: Page):
    """The write of request {r} to page {p} lands."""
    require(p in s.flying[r])
    s.flying[r].discard(p)
    write(s, r, p)


@invariant("a write lands in a page of its own request")
def lands_in_own(s):
    """Else it replaces the data of a request that did nothing wrong."""
    return not s.stray
