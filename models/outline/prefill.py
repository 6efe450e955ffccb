"""Prefill: admission, forward pass into source pages, posting of page writes, aborts."""

from __future__ import annotations

from kvproto.lang import action, require

from .state import (
    Client,
    Decode,
    PPage,
    Prefill,
    Report,
    Req,
    Slot,
    abort_decode,
    answer,
    cfg,
    forget,
    prefill,
    sent_pages,
)


def pool_pages():
    """Pages in the prefill pool, which is also the longest prompt that prefill accepts."""
    return len(PPage) if cfg.larger_pool else cfg.prefill_pool


def refuse(q):
    """Prefill's error becomes the client's answer, and the router stops the decode leg."""
    q.prefill = Prefill.REJECTED
    q.cancel_prefill = False
    answer(q, Client.REJECTED_400)
    abort_decode(q)


def free_source(s, r):
    """Give the source pages of `r` back; writes under way still read them."""
    for p in PPage:
        if s.p_owner[p] == r:
            s.p_owner[p] = None


@action(prefill, cites="srt/managers/schedule_batch.py:Req.set_finish_with_abort")
def admit(s, r: Req):
    """Prefill admits request {r}; a prompt longer than its pool is rejected, or swapped for one token."""
    q = s.req[r]
    require(q.client != Client.IDLE and q.prefill == Prefill.IDLE)
    if q.need <= pool_pages():
        q.prefill = Prefill.BOOTSTRAP
    elif cfg.reject_at_admission:
        refuse(q)
        forget(q)
    else:
        q.placeholder = True
        q.prefill = Prefill.BOOTSTRAP


@action(prefill, cites="srt/disaggregation/prefill.py:process_batch_result_disagg_prefill")
def forward(s, r: Req):
    """Prefill computes its prompt of request {r} into source pages."""
    q = s.req[r]
    require(q.prefill == Prefill.BOOTSTRAP and q.decode != Decode.IDLE)
    require(any(q.target[k] is not None for k in Slot))
    require(sum(s.p_owner[p] is not None for p in PPage) + sent_pages(q) <= pool_pages())
    q.prefill = Prefill.FORWARDED
    for k in Slot:
        if sum(q.source[j] is not None for j in Slot) < sent_pages(q):
            page = next((p for p in PPage if s.p_owner[p] is None), None)
            s.p_owner[page] = r
            s.p_content[page] = r
            q.source[k] = page
    if cfg.retire_after_forward and q.placeholder:
        free_source(s, r)
        refuse(q)
        forget(q)


@action(prefill, cites="srt/disaggregation/prefill.py:send_kv_chunk")
def post(s, r: Req):
    """Prefill posts one write for each source page of request {r}."""
    q = s.req[r]
    require(q.prefill == Prefill.FORWARDED)
    q.flying = {k for k in Slot if q.source[k] is not None}
    q.prefill = Prefill.SENDING


@action(prefill, cites="0.5.20+ srt/disaggregation/common/conn.py:conclude_transfer")
def complete(s, r: Req):
    """All writes of request {r} have landed: prefill reports success and frees the source pages."""
    q = s.req[r]
    require(q.prefill == Prefill.SENDING and not q.flying)
    q.report = Report.SUCCESS
    q.prefill = Prefill.DONE
    q.cancel_prefill = False
    free_source(s, r)
    forget(q)


@action(prefill, cites="srt/disaggregation/prefill.py:handle_inflight_transfer_failure")
def abort_on_prefill(s, r: Req):
    """The abort of request {r} reaches prefill; writes that are posted cannot be recalled."""
    q = s.req[r]
    require(q.cancel_prefill)
    q.cancel_prefill = False
    if q.prefill == Prefill.SENDING:
        q.prefill = Prefill.DRAINING
        if not cfg.deferred_source_release:
            free_source(s, r)
    else:
        q.prefill = Prefill.ABORTED
        free_source(s, r)
        forget(q)


@action(prefill, cites="0.5.20+ srt/disaggregation/common/conn.py:conclude_transfer")
def drain(s, r: Req):
    """The last posted write of aborted request {r} has landed; the transfer worker reports."""
    q = s.req[r]
    require(q.prefill == Prefill.DRAINING and not q.flying)
    q.report = Report.FAILED if cfg.failed_is_terminal else Report.SUCCESS
    q.prefill = Prefill.ABORTED
    free_source(s, r)
    forget(q)
