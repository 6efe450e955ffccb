"""The prefill scheduler: admission, bootstrap, forward passes, the in-flight queue, aborts."""

from __future__ import annotations

from kvproto.lang import action, require

from .config import cfg
from .rooms import (
    answer,
    chunks,
    clear,
    drained,
    enqueue,
    failed_room,
    forget,
    impatient,
    in_chunk,
    limit,
    prefill_error,
    release_source,
    source_in_use,
    update_status,
)
from .state import Client, Decode, Pos, PPage, PRank, Prefill, PRow, Req, Room, prefill


def open_room(s, r):
    """The request enters the bootstrap queue: its sender makes the room's entry."""
    s.req[r].prefill = Prefill.BOOTSTRAP
    for p in PRank:
        update_status(s, s.sender[p][r], Room.BOOTSTRAPPING)


@action(
    prefill,
    cites=(
        "srt/managers/scheduler.py:Scheduler.handle_generate_request",
        "srt/managers/schedule_batch.py:Req.set_finish_with_abort",
        "srt/disaggregation/prefill.py:PrefillBootstrapQueue.add",
        "0.5.21+ srt/managers/scheduler.py:Scheduler.retire_unadmitted_request",
        "srt/disaggregation/common/conn.py:CommonKVSender.__init__",
    ),
    fair="weak",
)
def admit(s, r: Req):
    """Prefill takes request {r} in; a prompt longer than its pool is refused, or swapped for one token."""
    q = s.req[r]
    require(q.client != Client.IDLE and q.prefill == Prefill.IDLE and not s.prefill_dead)
    if q.need <= limit():
        q.sent = q.need
        open_room(s, r)
    elif cfg.unequal_lengths:
        q.sent = limit()
        open_room(s, r)
    elif cfg.reject_at_admission:
        q.refused = True
        if cfg.gateway:
            answer(q, Client.REJECTED_400)
        prefill_error(s, r)
    else:
        q.stub = True
        q.sent = 1
        open_room(s, r)


@action(
    prefill,
    cites=(
        "srt/disaggregation/prefill.py:PrefillBootstrapQueue.pop_bootstrapped",
        "srt/disaggregation/prefill.py:PrefillBootstrapQueue.finalize_bootstrap",
    ),
    fair="weak",
)
def finalize(s, r: Req):
    """Every rank has decode's page numbers for request {r}: it gets a metadata row and waits for its forward pass."""
    q = s.req[r]
    require(q.prefill == Prefill.BOOTSTRAP and not q.doomed)
    require(all(s.sender[p][r].room == Room.WAITING for p in PRank))
    require(any(s.p_row_owner[w] is None for w in PRow))
    row = next((w for w in PRow if s.p_row_owner[w] is None), None)
    s.p_row_owner[row] = r
    q.p_row = row
    q.prefill = Prefill.WAITING


@action(
    prefill,
    cites="srt/disaggregation/common/conn.py:CommonKVSender._check_bootstrap_timeout",
    fair="weak",
)
def bootstrap_timeout(s, r: Req):
    """Decode's page numbers for request {r} have not come in time."""
    q = s.req[r]
    require(cfg.timeouts and q.prefill == Prefill.BOOTSTRAP and not q.doomed)
    require(any(s.sender[p][r].room == Room.BOOTSTRAPPING for p in PRank))
    require(impatient() or q.decode in (Decode.HELD, Decode.OVER))
    for p in PRank:
        if s.sender[p][r].room == Room.BOOTSTRAPPING:
            update_status(s, s.sender[p][r], Room.FAILED)


@action(
    prefill,
    cites="srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.handle_bootstrap_failure",
    fair="weak",
)
def bootstrap_failure(s, r: Req):
    """Request {r} failed before its forward pass; prefill clears the room and answers its leg with an error."""
    q = s.req[r]
    require(q.prefill in (Prefill.BOOTSTRAP, Prefill.WAITING))
    require(any(failed_room(q, s.sender[p][r]) for p in PRank))
    clear(s, r)
    release_source(s, r)
    prefill_error(s, r)


def fill(s, r, chunk):
    """Allocate source pages for a chunk."""
    q = s.req[r]
    for k in Pos:
        if in_chunk(q, chunk, k):
            page = next((w for w in PPage if s.p_owner[w] is None), None)
            s.p_owner[page] = r
            q.source[k] = page


def compute(s, r, chunk):
    """The forward pass writes the chunk's pages."""
    q = s.req[r]
    for k in Pos:
        if in_chunk(q, chunk, k) and q.source[k] is not None:
            s.p_content[q.source[k]] = r


def chunked_free(s):
    """No other request is between its chunks: the scheduler has one `chunked_req`."""
    return not any(s.req[o].prefill in (Prefill.LAUNCHED, Prefill.CHUNKED) for o in Req)


def room_for(s, q, chunk):
    """The prefill pool has the pages that the chunk needs."""
    used = sum(s.p_owner[w] is not None for w in PPage)
    return used + sum(in_chunk(q, chunk, k) for k in Pos) <= limit()


@action(
    prefill,
    cites=(
        "srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.get_next_disagg_prefill_batch_to_run",
        "srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.process_prefill_chunk",
    ),
    fair="weak",
)
def forward_chunk(s, r: Req):
    """Prefill computes the first chunk of request {r} and hands it to the transfer workers."""
    q = s.req[r]
    require(cfg.two_chunks and not cfg.early_send and chunked_free(s))
    require(q.prefill == Prefill.WAITING and chunks(q) == 2 and not q.doomed and room_for(s, q, 0))
    fill(s, r, 0)
    compute(s, r, 0)
    q.computed = True
    enqueue(s, r)
    q.prefill = Prefill.CHUNKED


@action(
    prefill,
    cites="srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.maybe_send_cached_prefix_chunk",
    fair="weak",
)
def launch_chunk(s, r: Req):
    """The first chunk of request {r} is handed to the transfer workers while the pass that fills its pages runs."""
    q = s.req[r]
    require(cfg.two_chunks and cfg.early_send and chunked_free(s))
    require(q.prefill == Prefill.WAITING and chunks(q) == 2 and not q.doomed and room_for(s, q, 0))
    fill(s, r, 0)
    enqueue(s, r)
    q.prefill = Prefill.LAUNCHED


@action(
    prefill,
    cites="srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.event_loop_overlap_disagg_prefill",
    fair="weak",
)
def compute_chunk(s, r: Req):
    """The pass that fills the pages of the first chunk of request {r} is through."""
    q = s.req[r]
    require(cfg.two_chunks and cfg.early_send and q.prefill == Prefill.LAUNCHED)
    compute(s, r, 0)
    q.computed = True
    q.prefill = Prefill.CHUNKED


@action(
    prefill,
    cites="srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.get_next_disagg_prefill_batch_to_run",
    fair="weak",
)
def forward(s, r: Req):
    """Prefill computes the last chunk of request {r} into source pages."""
    q = s.req[r]
    last = chunks(q) - 1
    require((q.prefill == Prefill.WAITING and last == 0) or q.prefill == Prefill.CHUNKED)
    require(not q.doomed and room_for(s, q, last))
    fill(s, r, last)
    compute(s, r, last)
    q.computed = True
    q.prefill = Prefill.FORWARD


@action(
    prefill,
    cites=(
        "srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.process_batch_result_disagg_prefill",
        "srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.send_kv_chunk",
        "0.5.20+ srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin._retire_aborted_prefill_result",
    ),
    fair="weak",
)
def process_result(s, r: Req):
    """The result of the last pass of request {r}: its last chunk is handed over, or it is retired if it was aborted."""
    q = s.req[r]
    require(q.prefill == Prefill.FORWARD)
    retired = cfg.retire_after_forward and (q.stub or q.doomed)
    require(not (cfg.source_hold and retired and source_in_use(s, r)))
    if retired:
        for p in PRank:
            update_status(s, s.sender[p][r], Room.FAILED)
        q.refused = q.stub
        release_source(s, r)
        prefill_error(s, r)
    else:
        q.doomed = False
        s.p_row_content[q.p_row] = r
        enqueue(s, r)
        q.prefill = Prefill.INFLIGHT


@action(
    prefill,
    cites="srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.process_disagg_prefill_inflight_queue",
    fair="weak",
)
def inflight_success(s, r: Req):
    """Every rank reports success for request {r}; prefill frees source pages and row."""
    q = s.req[r]
    require(q.prefill == Prefill.INFLIGHT and not q.doomed)
    require(all(s.sender[p][r].room == Room.SUCCESS and drained(s.sender[p][r]) for p in PRank))
    release_source(s, r)
    clear(s, r)
    q.prefill = Prefill.OVER
    q.cancel_prefill = False
    forget(s, r)


@action(
    prefill,
    cites="srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.handle_inflight_transfer_failure",
    fair="weak",
)
def inflight_failure(s, r: Req):
    """A rank reports a failure for request {r}; prefill frees source pages and row at once."""
    q = s.req[r]
    require(q.prefill == Prefill.INFLIGHT and any(failed_room(q, s.sender[p][r]) for p in PRank))
    if cfg.pipeline:
        # Stages agree on which rooms are through, and each then goes by what it has seen itself.
        require(all(failed_room(q, s.sender[p][r]) or s.sender[p][r].room == Room.SUCCESS for p in PRank))
        if not all(failed_room(q, s.sender[p][r]) for p in PRank):
            s.split_verdict = True
    require(not (cfg.source_hold and source_in_use(s, r)))
    clear(s, r)
    release_source(s, r)
    prefill_error(s, r)


@action(
    prefill,
    cites=(
        "srt/managers/scheduler.py:Scheduler.abort_request",
        "srt/managers/scheduler.py:Scheduler.process_pending_chunked_abort",
        "srt/disaggregation/common/conn.py:CommonKVSender.abort",
    ),
    fair="weak",
)
def abort_on_prefill(s, r: Req):
    """The abort of request {r} reaches prefill; what that means depends on the queue it is in."""
    q = s.req[r]
    require(q.cancel_prefill and q.prefill not in (Prefill.IDLE, Prefill.LAUNCHED))
    require(not (cfg.source_hold and q.prefill == Prefill.CHUNKED and source_in_use(s, r)))
    q.cancel_prefill = False
    if q.prefill != Prefill.OVER:
        if q.prefill != Prefill.FORWARD and (q.prefill != Prefill.WAITING or cfg.abort_waiting_sender):
            for p in PRank:
                update_status(s, s.sender[p][r], Room.FAILED)
        if q.prefill in (Prefill.WAITING, Prefill.CHUNKED):
            release_source(s, r)
            prefill_error(s, r)
        else:
            q.doomed = True
