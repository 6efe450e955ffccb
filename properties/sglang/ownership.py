"""Ownership: writes reach only pages of their own request, and no page is lost or lent twice (S2, S3, S4, S8)."""

from __future__ import annotations

from kvproto.lang import invariant

from ...models.sglang.state import Decode, DPage, DRank, DRow, Pos, PPage, PRank, Prefill, PRow, Req


@invariant("no write lands in a page that its request does not own")
def writes_land_in_own_pages(s):
    """S2. A posted write cannot be recalled; where it lands after its request gave the page back, it corrupts."""
    return not s.stray


@invariant("no write lands in a page that belongs to another request")
def writes_spare_other_requests(s):
    """S2, the late write in full: abort, release, reuse, and then the write.  It silently replaces a bystander's KV."""
    return not s.overwrote


@invariant("no page is free while a write may land in it")
def no_free_under_write(s):
    """S3. A free page is given to the next request, and the late write then replaces that request's KV."""
    return all(
        s.d_owner[d][s.receiver[d][r].target[k]] is not None
        for p in PRank
        for d in DRank
        for r in Req
        for k in Pos
        if k in s.sender[p][r].flying[d] or k in s.sender[p][r].orphans[d]
    )


@invariant("a write under way reads what its own request computed")
def sources_are_stable(s):
    """S4. A source page that is freed or refilled under a write puts another prompt's KV into the answer's pages."""
    return not s.wrong_source


@invariant("pages and rows have an owner exactly while that request holds them")
def pages_conserved(s):
    """S8. What stays owned by a finished request is lost; what is held without being owned is used twice."""
    decode_side = all(
        (s.d_owner[d][w] == r) == (s.receiver[d][r].holding and any(s.receiver[d][r].target[k] == w for k in Pos))
        for d in DRank
        for r in Req
        for w in DPage
    )
    over = not any(s.receiver[d][r].holding for d in DRank for r in Req if s.req[r].decode == Decode.OVER)
    prefill_side = not any(
        s.p_owner[w] == r
        for r in Req
        for w in PPage
        if s.req[r].prefill in (Prefill.IDLE, Prefill.BOOTSTRAP, Prefill.OVER)
    )
    rows = not any(s.d_row_owner[d][w] == r for d in DRank for w in DRow for r in Req if s.req[r].decode == Decode.OVER)
    p_rows = not any(s.p_row_owner[w] == r for w in PRow for r in Req if s.req[r].prefill == Prefill.OVER)
    return decode_side and over and prefill_side and rows and p_rows
