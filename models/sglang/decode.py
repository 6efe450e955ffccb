"""The decode scheduler and its thread: reservation, transfer, reading, answering, every way to give pages back."""

from __future__ import annotations

from kvproto.lang import action, require

from .config import cfg
from .rooms import answer, forget, idle, impatient, pages_are_own, peers, quiet_engine, refuses, waits_in_vain
from .state import Client, Decode, Down, DPage, DRank, DRow, Pos, PRank, Prefill, Req, Room, Up, Worker, decode

POP_TRANSFERRED = "srt/disaggregation/decode.py:DecodeTransferQueue.pop_transferred"


def release_rank(s, d, r):
    """One rank gives the pages and the row of `r` back.  Content stays, unless pages are cleared on release."""
    y = s.receiver[d][r]
    y.holding = False
    y.room = Room.ABSENT
    y.successes.clear()
    y.acks.clear()
    for page in DPage:
        if s.d_owner[d][page] == r:
            s.d_owner[d][page] = None
            if cfg.zero_on_release:
                for p in PRank:
                    s.d_content[d][p][page] = None
    for row in DRow:
        if s.d_row_owner[d][row] == r:
            s.d_row_owner[d][row] = None
            s.d_row_content[d][row] = None


def leave(s, r):
    """Every rank gives everything back; decode is through with the request."""
    for d in DRank:
        release_rank(s, d, r)
    s.req[r].decode = Decode.OVER
    s.req[r].cancel_decode = False
    forget(s, r)


def send_up(s, p, d, r, message):
    """A control message to one prefill rank; nobody takes it on a node that is down."""
    if not s.prefill_dead:
        s.sender[p][r].up[d].add(message)


def notify_abort(s, d, r):
    """`ensure_abort_notified` of one rank: an ABORT to each prefill rank, once."""
    if not s.receiver[d][r].notified:
        s.receiver[d][r].notified = True
        for p in PRank:
            if peers(p, d):
                send_up(s, p, d, r, Up.ABORT)


def publish_to_tree(s, r):
    """The pages of `r` become a prefix that later requests share; afterwards they are evictable."""
    if cfg.decode_tree and not pages_are_own(s, r):
        s.shared_unwritten = True


@action(
    decode,
    cites=(
        "srt/disaggregation/decode.py:DecodePreallocQueue.add",
        "srt/disaggregation/decode.py:DecodePreallocQueue._check_if_req_exceed_kv_capacity",
        "srt/disaggregation/common/conn.py:CommonKVReceiver.__init__",
        "srt/disaggregation/common/conn.py:CommonKVReceiver.init",
    ),
    fair="weak",
)
def enter(s, r: Req):
    """Decode takes request {r} in and shakes hands with prefill's ranks; nothing is reserved yet."""
    q = s.req[r]
    require(q.client != Client.IDLE and q.decode == Decode.IDLE)
    if q.need > len(DPage):
        answer(q, Client.REJECTED_400)
        q.decode = Decode.OVER
        q.cancel_decode = False
        forget(s, r)
    else:
        q.decode = Decode.PREALLOC
        for d in DRank:
            s.receiver[d][r].room = Room.WAITING


@action(
    decode,
    cites=(
        "srt/disaggregation/decode.py:DecodePreallocQueue.pop_preallocated",
        "srt/disaggregation/decode.py:DecodePreallocQueue._pre_alloc",
        "srt/disaggregation/common/conn.py:CommonKVReceiver.send_metadata",
    ),
    fair="weak",
)
def prealloc(s, r: Req):
    """Decode reserves a page for every page of request {r}'s prompt and a metadata row, and publishes their numbers."""
    q = s.req[r]
    require(q.decode == Decode.PREALLOC and all(s.receiver[d][r].room == Room.WAITING for d in DRank))
    require(all(sum(s.d_owner[d][w] is None for w in DPage) >= q.need for d in DRank))
    require(all(any(s.d_row_owner[d][w] is None for w in DRow) for d in DRank))
    q.decode = Decode.TRANSFER
    for d in DRank:
        y = s.receiver[d][r]
        y.holding = True
        for k in Pos:
            if int(k) < q.need:
                page = next((w for w in DPage if s.d_owner[d][w] is None), None)
                s.d_owner[d][page] = r
                y.target[k] = page
        row = next((w for w in DRow if s.d_row_owner[d][w] is None), None)
        s.d_row_owner[d][row] = r
        y.row = row
        for p in PRank:
            if peers(p, d):
                send_up(s, p, d, r, Up.METADATA)


@action(
    decode,
    cites="0.5.20+ srt/disaggregation/common/conn.py:CommonKVManager.apply_prefill_status",
    fair="weak",
)
def receive_success(s, p: PRank, d: DRank, r: Req):
    """Rank {p} of prefill has sent all of request {r}; rank {d} counts it once all its ranks have."""
    y = s.receiver[d][r]
    require(Down.SUCCESS in s.sender[p][r].down[d])
    s.sender[p][r].down[d].discard(Down.SUCCESS)
    if y.room != Room.ABSENT:
        y.successes.add(p)
        if all(e in y.successes for e in PRank if peers(e, d)) and y.room != Room.FAILED:
            y.room = Room.SUCCESS
    forget(s, r)


@action(
    decode,
    cites="0.5.20+ srt/disaggregation/common/conn.py:CommonKVManager.apply_prefill_status",
    fair="weak",
)
def receive_failure(s, p: PRank, d: DRank, r: Req):
    """Rank {p} of prefill reports to rank {d} that request {r} failed."""
    y = s.receiver[d][r]
    require(Down.FAILED in s.sender[p][r].down[d])
    s.sender[p][r].down[d].discard(Down.FAILED)
    if y.room != Room.ABSENT:
        y.room = Room.FAILED
    forget(s, r)


@action(decode, cites="srt/disaggregation/common/conn.py:CommonKVManager.note_abort_ack", fair="weak")
def receive_ack(s, p: PRank, d: DRank, r: Req):
    """Rank {p} of prefill acknowledges that request {r} has drained there."""
    y = s.receiver[d][r]
    require(cfg.deferred_release and Down.ACK in s.sender[p][r].down[d])
    s.sender[p][r].down[d].discard(Down.ACK)
    if y.holding and y.notified:
        y.acks.add(p)
    forget(s, r)


@action(decode, cites="srt/disaggregation/common/conn.py:CommonKVReceiver._check_waiting_timeout", fair="weak")
def waiting_timeout(s, d: DRank, r: Req):
    """Rank {d} has waited too long for request {r}."""
    y = s.receiver[d][r]
    require(cfg.timeouts and s.req[r].decode == Decode.TRANSFER and y.room == Room.WAITING)
    # `nobody_waits_in_vain` and `answered` check that there is nothing else to wait for in vain.
    require(impatient() or (refuses() and waits_in_vain(s, r)))
    y.room = Room.FAILED
    notify_abort(s, d, r)


@action(decode, cites="srt/managers/scheduler.py:Scheduler.abort_request", fair="weak")
def abort_on_decode(s, r: Req):
    """The abort of request {r} reaches decode; what that means depends on the queue it is in."""
    q = s.req[r]
    require(q.cancel_decode and q.decode != Decode.IDLE)
    q.cancel_decode = False
    if q.decode in (Decode.PREALLOC, Decode.TRANSFER):
        for d in DRank:
            s.receiver[d][r].room = Room.FAILED
            notify_abort(s, d, r)
    elif q.decode in (Decode.READY, Decode.RUNNING):
        if q.decode == Decode.READY:
            publish_to_tree(s, r)
        answer(q, Client.FAILED_500)
        leave(s, r)


@action(decode, cites="srt/disaggregation/decode.py:DecodePreallocQueue._update_handshake_waiters", fair="weak")
def prealloc_failure(s, r: Req):
    """Request {r} failed before decode reserved anything."""
    q = s.req[r]
    require(q.decode == Decode.PREALLOC and any(s.receiver[d][r].room == Room.FAILED for d in DRank))
    answer(q, Client.FAILED_500)
    leave(s, r)


@action(
    decode,
    cites=(POP_TRANSFERRED, "srt/disaggregation/decode.py:DecodeTransferQueue._defer_release"),
    fair="weak",
)
def transfer_failure(s, r: Req):
    """A rank reports that the transfer of request {r} failed: the client hears of it, the pages are freed or held."""
    q = s.req[r]
    require(q.decode == Decode.TRANSFER and any(s.receiver[d][r].room == Room.FAILED for d in DRank))
    answer(q, Client.FAILED_500)
    if cfg.deferred_release and cfg.defer_all_failures:
        for d in DRank:
            notify_abort(s, d, r)
    if cfg.deferred_release and any(s.receiver[d][r].notified for d in DRank):
        q.decode = Decode.HELD
        q.cancel_decode = False
        for p in PRank:
            s.sender[p][r].stale = cfg.bounded_batch and not quiet_engine(s.sender[p][r])
        if not cfg.rank_agreement:
            for d in DRank:
                if not s.receiver[d][r].notified:
                    release_rank(s, d, r)
    else:
        leave(s, r)


@action(
    decode,
    cites=(POP_TRANSFERRED, "srt/disaggregation/decode.py:DecodeTransferQueue._commit_transfer_to_req"),
    fair="weak",
)
def commit(s, r: Req):
    """Every rank has success and a metadata row: decode takes the pages of request {r} for its prompt."""
    q = s.req[r]
    require(q.decode == Decode.TRANSFER)
    require(all(s.receiver[d][r].room == Room.SUCCESS for d in DRank))
    require(all(s.receiver[d][r].row is not None for d in DRank))
    require(all(s.d_row_content[d][s.receiver[d][r].row] is not None for d in DRank))
    wrong_room = any(s.d_row_content[d][s.receiver[d][r].row] != r for d in DRank)
    if wrong_room or (cfg.token_count_check and q.sent != q.need):
        answer(q, Client.FAILED_500)
        leave(s, r)
    else:
        q.decode = Decode.READY
        for d in DRank:
            s.receiver[d][r].room = Room.ABSENT
            s.receiver[d][r].successes.clear()
            s.d_row_owner[d][s.receiver[d][r].row] = None
            s.d_row_content[d][s.receiver[d][r].row] = None


def refused_by_check(s, r):
    """One of the checks before a read fails."""
    q = s.req[r]
    wrong_content = not pages_are_own(s, r)
    wrong_owner = any(
        s.d_owner[d][s.receiver[d][r].target[k]] != r
        for d in DRank
        for k in Pos
        if s.receiver[d][r].target[k] is not None
    )
    return (
        (cfg.checksum and q.decode == Decode.READY and wrong_content)
        or (cfg.carried_tags and wrong_content)
        or (cfg.page_tags and wrong_owner)
    )


@action(
    decode,
    cites=(
        "srt/disaggregation/decode.py:SchedulerDisaggregationDecodeMixin.get_new_prebuilt_batch",
        "0.5.21+ srt/disaggregation/decode.py:SchedulerDisaggregationDecodeMixin._verify_kv_checksums",
    ),
    fair="weak",
)
def attend(s, r: Req):
    """Decode reads all reserved pages of request {r} for the next token."""
    q = s.req[r]
    require(q.decode in (Decode.READY, Decode.RUNNING))
    if refused_by_check(s, r):
        answer(q, Client.FAILED_500)
        leave(s, r)
    else:
        if q.decode == Decode.READY:
            publish_to_tree(s, r)
        q.decode = Decode.RUNNING
        for d in DRank:
            for p in PRank:
                for k in Pos:
                    target = s.receiver[d][r].target[k]
                    if peers(p, d) and target is not None:
                        if s.d_content[d][p][target] is None:
                            q.saw_blank = True
                        elif s.d_content[d][p][target] != r:
                            q.saw_foreign = True


@action(decode, cites="srt/disaggregation/common/conn.py:CommonKVManager._handle_node_failure", fair="weak")
def heartbeat_failure(s, r: Req):
    """Prefill has missed its heartbeats: every rank marks the room of request {r} as failed."""
    require(cfg.node_failure and s.prefill_dead and s.req[r].decode in (Decode.PREALLOC, Decode.TRANSFER))
    require(any(s.receiver[d][r].room == Room.WAITING for d in DRank))
    for d in DRank:
        if s.receiver[d][r].room != Room.SUCCESS:
            s.receiver[d][r].room = Room.FAILED


@action(
    decode,
    cites=(
        "srt/disaggregation/decode.py:DecodePreallocQueue.hold_rebootstrap",
        "0.5.22+ srt/disaggregation/decode.py:DecodePreallocQueue._submit_prefill_recompute",
        "srt/disaggregation/common/conn.py:CommonKVManager.submit_prefill_recompute",
    ),
)
def retract(s, r: Req):
    """Decode takes the pages of running request {r} away; it is computed and sent again, in the same room."""
    q = s.req[r]
    require(cfg.retraction and q.decode == Decode.RUNNING and not q.retracted and not s.prefill_dead)
    require(q.prefill == Prefill.OVER)
    q.retracted = True
    if not all(idle(s.sender[p][r]) for p in PRank):
        s.mixed_lives = True
    for d in DRank:
        release_rank(s, d, r)
        s.receiver[d][r].room = Room.WAITING
        s.receiver[d][r].notified = False
        s.receiver[d][r].row = None
        for k in Pos:
            s.receiver[d][r].target[k] = None
    q.decode = Decode.PREALLOC
    q.prefill = Prefill.IDLE
    q.computed = False
    q.doomed = False
    q.stub = False
    q.refused = False
    q.sent = 0
    q.p_row = None
    for k in Pos:
        q.source[k] = None
    for p in PRank:
        s.sender[p][r].chunk = 0
        for d in DRank:
            s.sender[p][r].orphans[d].clear()


@action(decode, cites="srt/mem_cache/common.py:release_kv_cache", fair="weak")
def finish(s, r: Req):
    """Request {r} has all its tokens; the client gets its answer, the pages go back to the pool."""
    q = s.req[r]
    require(q.decode == Decode.RUNNING)
    answer(q, Client.OK_200)
    leave(s, r)


def may_release(s, d, r):
    """All prefill ranks that could still write to this rank have acknowledged."""
    return all(p in s.receiver[d][r].acks for p in PRank if peers(p, d))


def release(s, d, r):
    """One rank gives up what it held, or all of them where they agree; after the last one decode is through."""
    if not cfg.rank_agreement:
        release_rank(s, d, r)
    if cfg.rank_agreement or not any(s.receiver[e][r].holding for e in DRank):
        leave(s, r)


@action(decode, cites="srt/disaggregation/decode.py:DecodeTransferQueue.resolve_deferred_releases", fair="weak")
def release_drained(s, d: DRank, r: Req):
    """Prefill has acknowledged that nothing more is coming for request {r}; rank {d} frees the held pages."""
    q = s.req[r]
    require(cfg.deferred_release and q.decode == Decode.HELD and s.receiver[d][r].holding)
    if cfg.rank_agreement:
        require(all(may_release(s, e, r) or not s.receiver[e][r].notified for e in DRank))
    else:
        require(may_release(s, d, r))
    release(s, d, r)


@action(decode, cites="srt/disaggregation/decode.py:DecodeTransferQueue.resolve_deferred_releases", fair="weak")
def release_timeout(s, d: DRank, r: Req):
    """The time limit of request {r}'s deferred release is over; rank {d} frees the held pages anyway."""
    q = s.req[r]
    require(cfg.deferred_release and not cfg.no_release_timeout and q.decode == Decode.HELD)
    require(s.receiver[d][r].holding and not may_release(s, d, r))
    if cfg.bounded_batch:
        require(not any(s.sender[p][r].stale or s.sender[p][r].worker == Worker.CHECKED for p in PRank))
    if cfg.prompt_abort:
        require(not any(Up.ABORT in s.sender[p][r].up[d] for p in PRank))
    release(s, d, r)
