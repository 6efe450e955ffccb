"""Agreement: what one side or rank says of a room is true of it, and stays true (S7, S9, S10, S12)."""

from __future__ import annotations

from kvproto.lang import invariant

from ...models.sglang.state import Down, DRank, PRank, Req


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


@invariant("a failed room stays failed")
def failed_stays_failed(s):
    """S9. A success after a failure lets decode commit what prefill has given up."""
    return not s.revived


@invariant("the ranks of a side agree on every request")
def ranks_agree(s):
    """S10. Ranks admit by the pages that are free; ranks that differ in these run different batches and hang."""
    return not s.split_verdict and all(
        s.receiver[d][r].holding == s.receiver[e][r].holding for d in DRank for e in DRank for r in Req if d != e
    )


@invariant("nothing of a room's first life reaches into its second")
def lives_are_separate(s):
    """S12. A request that is computed again uses its room again: what comes late would count for the new one."""
    return not s.mixed_lives
