"""Colours of the terminal viewer: those of Okabe and Ito, which colour-blind people tell apart; never alone."""

from __future__ import annotations

from collections.abc import Sequence

REQUESTS = (
    "#000000 on #E69F00",
    "#000000 on #56B4E9",
    "#000000 on #009E73",
    "#000000 on #F0E442",
    "#ffffff on #0072B2",
    "#000000 on #D55E00",
    "#000000 on #CC79A7",
)
"""By the place of a request among those of the report; the letter stands in the cell as well."""

LINES = {
    "row": "",
    "more": "",
    "message": "#56B4E9",
    "note": "bold #D55E00",
    "rule": "bold #E69F00",
    "gap": "italic",
}
"""By the kind of a line of the lanes."""

BAD = "bold #D55E00"
DIM = "dim"
CURSOR = "reverse"
LINK = "underline #56B4E9"
CHANGED = "bold"
HIT = "bold underline"


def of_request(requests: Sequence[str], name: str | None) -> str:
    """The style of a cell whose content is a request's; "" for nobody's."""
    return REQUESTS[requests.index(name) % len(REQUESTS)] if name in requests else ""
