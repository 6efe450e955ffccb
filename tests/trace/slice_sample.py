"""A trace made by hand: pages of two slices, each written by a rank of its own; one of the ranks never writes."""

from __future__ import annotations

from typing import Any

from kvproto.trace.trace import FlightView, PoolView, SliceView, Step, Trace, Value, Vocabulary


def step(action: str, reads: tuple[str, ...], **delta: tuple[Value, Value]) -> Step:
    """A step of request A; `content_p` stands for `page[7].content[p]`, and so on."""
    paths = {"owner": "page[7].owner", "content_p": "page[7].content[p]", "content_q": "page[7].content[q]"}
    paths |= {"fly_p": "fly[p][A]", "aside_p": "aside[p][A]", "fly_q": "fly[q][A]", "read": "read"}
    changes = {paths[name]: change for name, change in delta.items()}
    return Step(action, {"r": "A"}, "m", "m.py:1", "", reads, tuple(changes), changes)


def half_written() -> Trace:
    """A gets page 7, rank p writes its slice after its call has failed, A reads both slices."""
    init: dict[str, Any] = {"page[7].owner": None, "page[7].content[p]": None, "page[7].content[q]": "B", "read": False}
    init |= {f"{field}[{rank}][A]": [] for field in ("fly", "aside") for rank in "pq"}
    steps = (
        step("reserve", ("page[7].owner",), owner=(None, "A")),
        step("post", ("page[7].owner",), fly_p=([], ["7"])),
        step("fail", ("fly[p][A]",), fly_p=(["7"], []), aside_p=([], ["7"])),
        step("land", ("aside[p][A]",), aside_p=(["7"], []), content_p=(None, "A")),
        step("attend", ("page[7].owner", "page[7].content[p]", "page[7].content[q]"), read=(False, True)),
    )
    slices = (SliceView("rank=p", "page[{w}].content[p]"), SliceView("rank=q", "page[{w}].content[q]"))
    pool = PoolView("pool", ("7",), "page[{w}].owner", slices[0].content, slices)
    flights = tuple(
        FlightView(("A",), f"fly[{rank}][{{r}}]", "", "", (f"aside[{rank}][{{r}}]",), "pool", f"rank={rank}")
        for rank in "pq"
    )
    names = ("halves", "", "one", {"Req": 1}, "reads_own", "A reads what A wrote", "violated", "0" * 16)
    return Trace(*names, init, steps, blame=("read",), vocabulary=Vocabulary(("m",), (pool,), flights))
