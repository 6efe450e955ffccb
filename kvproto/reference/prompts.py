"""What the clients send: prompts in which every page says whose it is.

A token is a character.  Every page of a prompt spells its client, a word that only this client uses (its canary) and
the number of the page, so that a page is recognised wherever it turns up, also in somebody else's answer.
"""

from __future__ import annotations

LABELS = "ABCDEFGH"
"""Clients by number; the room of client i is i + 1, because room 0 means no room."""

CANARIES = ("lynx", "kiwi", "moss", "opal", "fern", "wren", "dune", "iris")
"""One word a client, four letters each."""

STUBS = "ⒶⒷⒸⒹⒺⒻⒼⒽ"
"""The one-token placeholder of each client's rejected prompt.

The engine uses the same token for all of them; here they differ, so that a page computed from one is recognised too.
"""

PAD = "_"
"""Fills the last page of a prompt up to its end when it is computed."""

PAGE_SIZE = 16
"""Tokens a page: just enough for the text of a page with a number of two digits."""

MOST_PAGES = 99
"""The longest prompt, in pages: its page numbers have two digits."""


def label(room: int) -> str:
    """The letter of the client whose request has this room."""
    return LABELS[room - 1]


def holder(room: int | None) -> str:
    """Who owns something: a client, or nobody."""
    return "nobody" if room is None else label(room)


def page_text(room: int, page: int) -> str:
    """The text of page number `page` (from 0) of a client's prompt, `PAGE_SIZE` tokens long."""
    return f"[{label(room)}:{CANARIES[room - 1]} page {page}]".ljust(PAGE_SIZE)


def prompt(room: int, pages: int) -> str:
    """A client's prompt of `pages` full pages."""
    return "".join(page_text(room, page) for page in range(pages))


def page_count(tokens: int) -> int:
    """Pages that hold `tokens` tokens, rounded up."""
    return -(-tokens // PAGE_SIZE)


def split(text: str) -> list[str]:
    """The text by pages; the last may be shorter."""
    return [text[at : at + PAGE_SIZE] for at in range(0, len(text), PAGE_SIZE)]
