"""Safety."""

from __future__ import annotations

from kvproto.lang import invariant

from ...models.sglang.config import cfg
from ...models.sglang.rooms import peers, waits_in_vain
from ...models.sglang.state import Client, Decode, Down, DPage, DRank, DRow, Pos, PPage, PRank, Prefill, PRow, Req, Room, Up, Worker


@invariant("no page is read before its own request has written it")
def reads_own_writes(s):
    """S1. Integrity.  A page that its own request did not write holds whatever was there: nothing, or somebody else's KV.

    The client sees HTTP 200 and fluent text that does not belong to the prompt.
    """
    return not any(s.req[r].saw_blank or s.req[r].saw_foreign for r in Req)


@invariant("no request reads what another request wrote")
def reads_no_foreign_data(s):
    """Confidentiality, the weaker half of S1: it is what clearing pages would buy.

    The client sees HTTP 200 and text made of another client's prompt and answer.
    """
    return not any(s.req[r].saw_foreign for r in Req)


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


@invariant("after a commit all pages of the prompt came from its own request")
def committed_pages_are_own(s):
    """S5. Decode goes by this from the commit on; what it then reads is this."""
    return all(
        s.d_content[d][p][s.receiver[d][r].target[k]] == r
        for d in DRank
        for p in PRank
        for r in Req
        for k in Pos
        if s.req[r].decode in (Decode.READY, Decode.RUNNING)
        if peers(p, d) and s.receiver[d][r].target[k] is not None
    )


@invariant("a request that prefill rejected is never answered with success")
def rejected_never_succeeds(s):
    """S6. HTTP 200 for a prompt that was never computed is wrong whatever the text says; 400 is right."""
    return not any((s.req[r].stub or s.req[r].refused) and s.req[r].client == Client.OK_200 for r in Req)


@invariant("an acknowledged rank writes nothing more")
def acknowledged_is_quiet(s):
    """S7. Decode frees the pages for others on the strength of the acknowledgements."""
    return not any(
        (s.sender[p][r].flying[d] or s.sender[p][r].orphans[d])
        and (Down.ACK in s.sender[p][r].down[d] or p in s.receiver[d][r].acks)
        for p in PRank
        for d in DRank
        for r in Req
    )


@invariant("pages and rows have an owner exactly while that request holds them")
def pages_conserved(s):
    """S8. What stays owned by a finished request is lost; what is held without being owned is used twice."""
    decode_side = all(
        (s.d_owner[d][w] == r)
        == (s.receiver[d][r].holding and any(s.receiver[d][r].target[k] == w for k in Pos))
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


@invariant("a failed room stays failed")
def failed_stays_failed(s):
    """S9. A success after a failure lets decode commit what prefill has given up."""
    return not s.revived


@invariant("the ranks of decode agree on what they hold")
def ranks_agree(s):
    """S10. Ranks admit by the pages that are free; ranks that differ in these run different batches and hang."""
    return all(
        s.receiver[d][r].holding == s.receiver[e][r].holding for d in DRank for e in DRank for r in Req if d != e
    )


@invariant("what enters the prefix tree was written by its request")
def tree_holds_own_pages(s):
    """S11. A prefix tree hands a page on to every later request with the same beginning."""
    return not s.shared_unwritten


@invariant("nothing of a room's first life reaches into its second")
def lives_are_separate(s):
    """S12. A request that is computed again uses its room again: late writes and messages would count for the new one."""
    return not s.mixed_lives


@invariant("a waiting decode has something to wait for")
def nobody_waits_in_vain(s):
    """L4. A prefill failure reaches decode by a message, not by the 300 s time-out; until then its pages are idle."""
    return not any(waits_in_vain(s, r) for r in Req)
