"""Conservation: pages are neither lost nor handed out twice."""

from __future__ import annotations

from kvproto.lang import invariant

from ...models.outline.state import Decode, DPage, PPage, Prefill, Req, Slot


def holds_pages(q):
    """Decode keeps pages for this request."""
    return q.decode in (Decode.TRANSFER, Decode.READY, Decode.RUNNING, Decode.HELD)


@invariant("a page has an owner exactly while that request holds it")
def pages_conserved(s):
    """A page that stays owned by a finished request is lost; one that is held without being owned is used twice."""
    decode_side = all(
        (s.d_owner[p] == r) == (holds_pages(s.req[r]) and any(s.req[r].target[k] == p for k in Slot))
        for r in Req
        for p in DPage
    )
    prefill_side = not any(
        s.p_owner[p] == r
        for r in Req
        for p in PPage
        if s.req[r].prefill in (Prefill.IDLE, Prefill.BOOTSTRAP, Prefill.DONE, Prefill.REJECTED, Prefill.ABORTED)
    )
    return decode_side and prefill_side
