"""A prompt's pages in a list on either side, which have to be paired.

class State(Placed): ...
model = Model(..., properties=[lists])
"""

from __future__ import annotations

from kvproto.lang import Array, Opt, Record, Sort, invariant

SIZE = 2
"""Tokens of a page, where they count."""

Page = Sort("Page", doc="pages, by their place in the prompt")


class Placed(Record):
    """Nobody notes which page was meant for which place."""

    content: Array(Page, Opt(Page))  # the page of the prompt that stands where decode looks for this one


def pages(length):
    """How many pages that many tokens take."""
    return (length + SIZE - 1) // SIZE


def place(s, p, at):
    """Page p of the prompt arrives at place number `at` of decode's list; nowhere if it has no such place."""
    for t in Page:
        if int(t) == at:
            s.content[t] = p


@invariant("every page is where decode looks for it")
def pages_in_place(s):
    """Decode attends to the wrong positions, without an error."""
    return all(s.content[p] in (None, p) for p in Page)
