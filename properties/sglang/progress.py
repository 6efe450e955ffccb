"""Progress: nothing is kept or waited for longer than it should (L2 to L6)."""

from __future__ import annotations

from kvproto.lang import always_eventually, eventually_always, invariant, leads_to

from ...models.sglang.rooms import waits_in_vain
from ...models.sglang.state import Client, Decode, Down, DPage, DRank, DRow, PPage, PRank, PRow, Req, Room, Up, Worker


@leads_to("pages and rows come back after an abort")
def resources_return(s, r: Req):
    """L2. What an aborted request keeps is missing for everyone else."""
    gone = s.req[r].client in (Client.GONE, Client.FAILED_500, Client.REJECTED_400)
    back = (
        all(s.d_owner[d][w] != r for d in DRank for w in DPage)
        and all(s.p_owner[w] != r for w in PPage)
        and all(s.d_row_owner[d][w] != r for d in DRank for w in DRow)
        and all(s.p_row_owner[w] != r for w in PRow)
    )
    return gone, gone and back


@leads_to("an abort is acknowledged by every live rank")
def aborts_are_acknowledged(s, r: Req, p: PRank, d: DRank):
    """L3. Decode frees the pages when it may, and not when a time limit is over; a failed call is excused."""
    x = s.sender[p][r]
    waits = s.req[r].decode == Decode.HELD and Up.ABORT in x.up[d]
    return waits, Down.ACK in x.down[d] or x.poisoned or x.worker == Worker.DEAD


@invariant("a waiting decode has something to wait for")
def nobody_waits_in_vain(s):
    """L4. A prefill failure reaches decode by a message, not by the 300 s time-out; until then its pages are idle."""
    return not any(waits_in_vain(s, r) for r in Req)


@eventually_always("no room outlives its request")
def rooms_are_cleared(s, r: Req):
    """L5. An entry without an owner is never removed, and meets any later request of that room."""
    return all(s.sender[p][r].room == Room.ABSENT and not s.sender[p][r].infos for p in PRank)


@always_eventually("a live session is taken back after a failure")
def sessions_recover(s, p: PRank, d: DRank):
    """L6. One failed call makes every later request between the two ranks fail."""
    return d not in s.blacklist[p]
