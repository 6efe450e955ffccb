"""Prefill's threads: the transfer workers, and the bootstrap thread that takes metadata and aborts."""

from __future__ import annotations

from kvproto.lang import action, require

from .config import cfg
from .rooms import acknowledge, chunks, fault, forget, in_chunk, limit, peers, quiet_engine, update_status
from .state import Abort, Decode, Down, DRank, Pos, PRank, Req, Room, Up, Worker, worker

TRANSFER_WORKER = "srt/disaggregation/mooncake/conn.py:MooncakeKVManager.transfer_worker"
BOOTSTRAP_THREAD = "srt/disaggregation/mooncake/conn.py:MooncakeKVManager.start_prefill_thread"


def thread_free(s, p):
    """The bootstrap thread of this rank is not in the middle of an abort."""
    return all(s.sender[p][r].abort == Abort.NONE for r in Req)


@action(worker, cites=BOOTSTRAP_THREAD, fair="weak")
def receive_metadata(s, p: PRank, d: DRank, r: Req):
    """Rank {p} of prefill learns which pages of rank {d} of decode request {r} will have."""
    x = s.sender[p][r]
    require(peers(p, d) and Up.METADATA in x.up[d] and thread_free(s, p) and not s.prefill_dead)
    x.up[d].discard(Up.METADATA)
    x.infos.add(d)
    if all(e in x.infos for e in DRank if peers(p, e)):
        update_status(s, x, Room.WAITING)
    forget(s, r)


@action(worker, cites=BOOTSTRAP_THREAD, fair="weak")
def receive_abort(s, p: PRank, d: DRank, r: Req):
    """Decode's abort of request {r} reaches rank {p}: first the room is marked as failed."""
    x = s.sender[p][r]
    require(peers(p, d) and Up.ABORT in x.up[d] and Up.METADATA not in x.up[d] and thread_free(s, p))
    require(not s.prefill_dead)
    x.up[d].discard(Up.ABORT)
    if x.room not in (Room.ABSENT, Room.SUCCESS):
        update_status(s, x, Room.FAILED)
    if cfg.deferred_release:
        x.abort = Abort.MARKED
        x.aborter = d
    forget(s, r)


@action(worker, cites="srt/disaggregation/common/conn.py:CommonKVManager.register_deferred_ack_target", fair="weak")
def register_target(s, p: PRank, r: Req):
    """Second step: the rank that waits for the acknowledgement of request {r} is remembered."""
    x = s.sender[p][r]
    require(cfg.deferred_release and x.abort == Abort.MARKED)
    x.abort = Abort.REGISTERED
    if not x.poisoned:
        if not cfg.generations:
            x.targets.clear()
        x.targets.add(x.aborter)


@action(worker, cites="srt/disaggregation/common/conn.py:CommonKVManager._maybe_ack_drained_abort", fair="weak")
def try_acknowledge(s, p: PRank, r: Req):
    """Third step: if nothing of request {r} is outstanding, the acknowledgement goes out at once."""
    x = s.sender[p][r]
    require(cfg.deferred_release and x.abort == Abort.REGISTERED)
    x.abort = Abort.NONE
    x.aborter = None
    acknowledge(s, p, r)
    forget(s, r)


@action(worker, cites=TRANSFER_WORKER, fair="weak")
def dequeue(s, p: PRank, r: Req):
    """The transfer worker of rank {p} takes a chunk of request {r}; from now on it counts as outstanding."""
    x = s.sender[p][r]
    require(x.queued > 0 and x.worker == Worker.IDLE)
    x.queued -= 1
    x.worker = Worker.DEQUEUED


@action(worker, cites=TRANSFER_WORKER, fair="weak")
def check(s, p: PRank, r: Req):
    """The worker of rank {p} looks at the room of request {r}: a failed or cleared one is skipped."""
    x = s.sender[p][r]
    q = s.req[r]
    alive = x.room not in (Room.ABSENT, Room.FAILED)
    require(x.worker == Worker.DEQUEUED and (not cfg.early_send_wait or q.computed or not alive))
    if not alive:
        x.worker = Worker.IDLE
        x.chunk += 1
        if cfg.deferred_release:
            acknowledge(s, p, r)
        forget(s, r)
    elif any(d in s.blacklist[p] for d in DRank if d in x.infos):
        update_status(s, x, Room.FAILED)
        for d in DRank:
            if d in x.infos and (d in s.blacklist[p] or cfg.failure_to_all):
                x.down[d].add(Down.FAILED)
        finish_chunk(s, p, r)
    else:
        x.worker = Worker.CHECKED
        x.serving = set(x.infos)


def finish_chunk(s, p, r):
    """The worker is through with a chunk: it counts no more, and a drained room acknowledges its abort."""
    x = s.sender[p][r]
    last = x.chunk == chunks(s.req[r]) - 1
    x.worker = Worker.IDLE
    x.serving.clear()
    x.chunk += 1
    x.posted = 0
    if cfg.deferred_release:
        acknowledge(s, p, r)
    if x.room in (Room.ABSENT, Room.SUCCESS) or (last and x.room == Room.FAILED):
        x.infos.clear()
    forget(s, r)


def many_batches():
    """A chunk may have more than one page, and so more than one batch of one page."""
    return limit() > (2 if cfg.two_chunks else 1)


def post(s, p, r):
    """Post the next batch of the chunk: all of it, or one page where batches are bounded."""
    x = s.sender[p][r]
    q = s.req[r]
    for d in DRank:
        if d in x.serving:
            for k in Pos:
                if in_chunk(q, x.chunk, k) and (not cfg.bounded_batch or int(k) == x.posted):
                    if s.receiver[d][r].target[k] is not None and q.source[k] is not None:
                        x.flying[d].add(k)
    x.posted += 1


@action(
    worker,
    cites=(TRANSFER_WORKER, "srt/disaggregation/mooncake/conn.py:MooncakeKVManager._send_kvcache_generic"),
    fair="weak",
)
def begin(s, p: PRank, r: Req):
    """The worker of rank {p} posts the writes of a chunk of request {r}."""
    x = s.sender[p][r]
    require(x.worker == Worker.CHECKED)
    x.posted = 0 if x.chunk == 0 else 1
    x.worker = Worker.CALLING
    post(s, p, r)
    x.stale = cfg.bounded_batch and s.req[r].decode == Decode.HELD and not quiet_engine(x)


@action(
    worker,
    cites="srt/disaggregation/mooncake/conn.py:MooncakeKVManager._send_kvcache_generic",
    fair="weak",
)
def next_batch(s, p: PRank, r: Req):
    """A batch of a chunk of request {r} is through; the worker of rank {p} posts the next one."""
    x = s.sender[p][r]
    require(cfg.bounded_batch and many_batches())
    require(x.worker == Worker.CALLING and not any(x.flying[d] for d in DRank))
    require(any(in_chunk(s.req[r], x.chunk, k) and int(k) >= x.posted for k in Pos))
    if cfg.batch_recheck and x.room in (Room.ABSENT, Room.FAILED):
        finish_chunk(s, p, r)
    else:
        # With a look at the room before each batch, the last one began before the abort arrived; without, many follow.
        post(s, p, r)
        x.stale = cfg.batch_recheck and s.req[r].decode == Decode.HELD and not quiet_engine(x)


@action(worker, cites=TRANSFER_WORKER, fair="weak")
def call_succeeds(s, p: PRank, r: Req):
    """All writes of the call for request {r} have landed, and it returns 0."""
    x = s.sender[p][r]
    q = s.req[r]
    require(x.worker == Worker.CALLING and not any(x.flying[d] for d in DRank))
    require(not cfg.bounded_batch or not any(in_chunk(q, x.chunk, k) and int(k) >= x.posted for k in Pos))
    if x.chunk == chunks(q) - 1 and x.serving:
        x.worker = Worker.AUX
    else:
        finish_chunk(s, p, r)


def poison(x):
    """`poison_deferred_ack_room`: whether the room has drained cannot be known any more."""
    if cfg.poison:
        x.poisoned = True
        x.targets.clear()


def orphan(x):
    """Writes of the running call go on without it."""
    for d in DRank:
        x.orphans[d] |= x.flying[d]
        x.flying[d].clear()


@action(
    worker,
    cites=(
        TRANSFER_WORKER,
        "mooncake:mooncake-integration/transfer_engine/transfer_engine_py.cpp:batchTransferSync",
    ),
)
def call_fails(s, p: PRank, r: Req, d: DRank):
    """The call for request {r} to rank {d} returns an error or runs out of time; its writes stay on their way."""
    x = s.sender[p][r]
    require(cfg.transfer_failures and x.worker == Worker.CALLING and d in x.serving)
    fault(s)
    orphan(x)
    s.blacklist[p].add(d)
    poison(x)
    if x.room != Room.ABSENT or not cfg.conclude_rechecks:
        update_status(s, x, Room.FAILED)
        for e in DRank:
            if e in x.serving and (e == d or cfg.failure_to_all):
                x.down[e].add(Down.FAILED)
    finish_chunk(s, p, r)


@action(
    worker,
    cites="mooncake:mooncake-integration/transfer_engine/transfer_engine_py.cpp:batchTransferSync",
)
def resubmit(s, p: PRank, r: Req):
    """A write of the call for request {r} failed: the engine posts the whole batch again, the rest still on its way."""
    x = s.sender[p][r]
    require(cfg.resubmission and x.worker == Worker.CALLING and any(x.flying[d] for d in DRank))
    require(not any(x.orphans[d] for d in DRank))
    fault(s)
    for d in DRank:
        x.orphans[d] |= x.flying[d]


@action(
    worker,
    cites=(
        TRANSFER_WORKER,
        "srt/disaggregation/mooncake/conn.py:MooncakeKVManager.send_aux",
        "0.5.20+ srt/disaggregation/common/conn.py:CommonKVManager.conclude_transfer",
        "..0.5.19 srt/disaggregation/mooncake/conn.py:MooncakeKVManager.sync_status_to_decode_endpoint",
    ),
    fair="weak",
)
def conclude(s, p: PRank, r: Req):
    """All of request {r} is sent: the worker of rank {p} writes the metadata row, read now, and reports to decode."""
    x = s.sender[p][r]
    q = s.req[r]
    require(x.worker == Worker.AUX)
    for d in DRank:
        if d in x.serving and s.receiver[d][r].row is not None and q.p_row is not None and not cfg.aux_loss:
            s.d_row_content[d][s.receiver[d][r].row] = s.p_row_content[q.p_row]
    if not (x.room == Room.ABSENT and cfg.conclude_rechecks):
        good = x.room != Room.FAILED or not cfg.conclude_rechecks
        if good:
            update_status(s, x, Room.SUCCESS)
        for d in DRank:
            if d in x.serving:
                x.down[d].add(Down.SUCCESS if good else Down.FAILED)
    finish_chunk(s, p, r)


@action(worker, cites="srt/disaggregation/mooncake/conn.py:MooncakeKVManager._failed_session_probe_loop", fair="weak")
def probe_session(s, p: PRank, d: DRank):
    """A probe to rank {d} of decode gets through: rank {p} takes the session back."""
    require(cfg.probe and d in s.blacklist[p])
    s.blacklist[p].discard(d)


@action(worker, cites=TRANSFER_WORKER)
def crash_worker(s, p: PRank, r: Req):
    """The worker of rank {p} dies of an exception in a chunk of request {r}."""
    x = s.sender[p][r]
    require(cfg.worker_crash and x.worker in (Worker.CHECKED, Worker.CALLING, Worker.AUX))
    fault(s)
    orphan(x)
    x.worker = Worker.DEAD
    poison(x)
    forget(s, r)
