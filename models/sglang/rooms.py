"""What both sides do with rooms: status entries, chunks, messages, answers, forgetting."""

from __future__ import annotations

from kvproto.lang import require

from .config import cfg
from .state import (
    Abort,
    Client,
    Decode,
    Down,
    DRank,
    Pos,
    PPage,
    PRank,
    Prefill,
    PRow,
    Req,
    Room,
    Worker,
)

# -------------------------------------------------------------------------------------------- topology


def peers(p, d):
    """The ranks exchange pages: one to one where both sides have as many, all with all otherwise."""
    return len(PRank) != len(DRank) or int(p) == int(d)


def limit():
    """Pages in the prefill pool, which is also the longest prompt that prefill accepts."""
    return len(PPage) if cfg.larger_pool else min(cfg.prefill_pool, len(PPage))


# ---------------------------------------------------------------------------------------------- chunks


def chunks(q):
    """In how many chunks the prompt is computed and sent."""
    return 2 if cfg.two_chunks and q.sent > 1 else 1


def in_chunk(q, chunk, k):
    """Position `k` belongs to the chunk."""
    if chunks(q) == 1:
        return int(k) < q.sent
    if chunk == 0:
        return int(k) == 0
    return 0 < int(k) < q.sent


def quiet_engine(x):
    """The transfer engine has nothing for this room on its way."""
    return not any(x.flying[d] or x.orphans[d] for d in DRank)


def drained(x):
    """No chunk of the room is dequeued and not finished (`_staging_outstanding`)."""
    return x.worker in (Worker.IDLE, Worker.DEAD)


# ---------------------------------------------------------------------------------------- prefill's rooms


def update_status(s, x, status):
    """`CommonKVManager.update_status` of one rank."""
    if x.room == Room.ABSENT:
        if status in (Room.BOOTSTRAPPING, Room.WAITING) or (status == Room.SUCCESS and not cfg.failed_is_terminal):
            x.room = status
            if cfg.generations:
                x.targets.clear()
                x.poisoned = False
    elif status == Room.FAILED:
        x.room = Room.FAILED
    elif x.room == Room.FAILED:
        if not cfg.failed_is_terminal:
            x.room = status
            s.revived = True
    elif x.room == Room.BOOTSTRAPPING or status == Room.SUCCESS:
        x.room = status


def failed_room(q, x):
    """What the sender of this rank polls is a failure."""
    return q.doomed or x.room in (Room.FAILED, Room.ABSENT)


def acknowledge(s, p, r):
    """`_maybe_ack_drained_abort`: tell the decode ranks that wait for it that this room has drained."""
    x = s.sender[p][r]
    if x.worker == Worker.IDLE:
        if not x.poisoned:
            for d in DRank:
                # Without generations there is one target, and the acknowledgement goes to all peers of the room.
                if d in x.targets or (not cfg.generations and x.targets and peers(p, d)):
                    x.down[d].add(Down.ACK)
        x.targets.clear()


def clear(s, r):
    """`CommonKVSender.clear` on every rank: the entry goes, a chunk under way goes on."""
    for p in PRank:
        x = s.sender[p][r]
        x.room = Room.ABSENT
        x.infos.clear()
        if cfg.deferred_release:
            if cfg.keep_ack_target:
                acknowledge(s, p, r)
            else:
                x.targets.clear()


def enqueue(s, r):
    """`add_transfer_request`: the next chunk goes into the queue of every rank whose room is alive."""
    for p in PRank:
        x = s.sender[p][r]
        if x.room not in (Room.ABSENT, Room.FAILED) and x.infos:
            x.queued += 1


def release_source(s, r):
    """Give source pages and metadata row of `r` back; writes under way still read them."""
    for page in PPage:
        if s.p_owner[page] == r:
            s.p_owner[page] = None
    for row in PRow:
        if s.p_row_owner[row] == r:
            s.p_row_owner[row] = None


# -------------------------------------------------------------------------------------------- the client


def answer(q, status):
    """The client gets its answer, if it still waits for one."""
    if q.client == Client.WAITING:
        q.client = status


def prefill_error(s, r):
    """The prefill leg ends with an error, of which decode hears nothing by itself."""
    q = s.req[r]
    q.prefill = Prefill.OVER
    q.cancel_prefill = False
    if cfg.gateway:
        q.cancel_decode = True
    if cfg.prefill_notifies:
        for p in PRank:
            for d in DRank:
                if peers(p, d) and q.decode in (Decode.IDLE, Decode.PREALLOC, Decode.TRANSFER):
                    s.sender[p][r].down[d].add(Down.FAILED)
    forget(s, r)


def source_in_use(s, r):
    """Chunks of the room are queued, worked on or on their way: they read its source pages."""
    return any(
        (s.sender[p][r].queued > 0 and s.sender[p][r].worker != Worker.DEAD)
        or not drained(s.sender[p][r])
        or not quiet_engine(s.sender[p][r])
        for p in PRank
    )


def pages_are_own(s, r):
    """Every page that decode has published for `r` holds what `r` itself wrote, in all its slices."""
    return all(
        s.d_content[d][p][s.receiver[d][r].target[k]] == r
        for d in DRank
        for p in PRank
        for k in Pos
        if peers(p, d) and s.receiver[d][r].target[k] is not None
    )


def waits_in_vain(s, r):
    """Decode waits for a transfer of which nothing is left on its way."""
    q = s.req[r]
    return (
        q.decode == Decode.TRANSFER
        and q.prefill == Prefill.OVER
        and not q.cancel_decode
        and all(
            s.receiver[d][r].room == Room.WAITING
            and s.sender[p][r].queued == 0
            and drained(s.sender[p][r])
            and Down.SUCCESS not in s.sender[p][r].down[d]
            and Down.FAILED not in s.sender[p][r].down[d]
            for p in PRank
            for d in DRank
            if peers(p, d)
        )
    )


def fault(s):
    """One of the faults that a run may have; the step cannot happen if it has had them all."""
    if cfg.faults > 0:
        require(s.faults < cfg.faults)
        s.faults += 1


def refuses():
    """Prefill may refuse a prompt without decode being told: for a patient decode the only thing not to come."""
    silent = (cfg.reject_at_admission or cfg.retire_after_forward) and not cfg.gateway
    return silent and limit() < len(Pos)


def impatient():
    """Time-outs may fire although what they wait for is on its way, or lost without a trace."""
    return cfg.hasty_timeouts or cfg.message_loss or cfg.worker_crash


def idle(x):
    """Nothing of this room is queued, worked on, or on its way on this rank; nobody takes what a dead worker left."""
    return (
        (x.queued == 0 or x.worker == Worker.DEAD)
        and drained(x)
        and quiet_engine(x)
        and x.abort == Abort.NONE
        and not any(x.up[d] or x.down[d] for d in DRank)
    )


def settled(s, r):
    """Nothing of this room moves any more."""
    q = s.req[r]
    return q.prefill == Prefill.OVER and q.decode == Decode.OVER and all(idle(s.sender[p][r]) for p in PRank)


def forget(s, r):
    """Once both sides are through and nothing is on its way, nobody remembers numbers of pages and rows.

    What source pages and rows held is forgotten with them, unless another room's writes may still read it.
    """
    if settled(s, r):
        q = s.req[r]
        for k in Pos:
            q.source[k] = None
        q.p_row = None
        q.sent = 0
        if q.client not in (Client.WAITING, Client.OK_200):
            q.stub = False
            q.refused = False
        if not cfg.early_send:
            for w in PPage:
                if s.p_content[w] == r and not any(s.req[o].source[k] == w for o in Req for k in Pos if o != r):
                    s.p_content[w] = None
        for w in PRow:
            if s.p_row_content[w] == r and not any(s.req[o].p_row == w for o in Req if o != r):
                s.p_row_content[w] = None
        q.doomed = False
        q.computed = False
        q.cancel_prefill = False
        q.cancel_decode = False
        for p in PRank:
            s.sender[p][r].chunk = 0
            s.sender[p][r].posted = 0
            s.sender[p][r].serving.clear()
        for d in DRank:
            s.receiver[d][r].successes.clear()
            s.receiver[d][r].acks.clear()
            s.receiver[d][r].notified = False
            s.receiver[d][r].row = None
            for k in Pos:
                s.receiver[d][r].target[k] = None
