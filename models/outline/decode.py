"""Decode: reservation, waiting for the transfer, reading, answering, and every way to give pages back."""

from __future__ import annotations

from kvproto.lang import action, require

from .state import (
    Client,
    Decode,
    DPage,
    Report,
    Req,
    Slot,
    abort_prefill,
    answer,
    cfg,
    decode,
    forget,
    prefill_over,
    sent_pages,
)


def free_pages(s, r):
    """Give the pages of `r` back.  Their content stays, unless pages are cleared on release."""
    for p in DPage:
        if s.d_owner[p] == r:
            s.d_owner[p] = None
            if cfg.zero_on_release:
                s.d_content[p] = None


def stop(s, r):
    """End a request before its answer: tell prefill, and free its pages or hold them back."""
    q = s.req[r]
    q.cancel_decode = False
    abort_prefill(q)
    if cfg.deferred_release and q.decode == Decode.TRANSFER:
        q.decode = Decode.HELD
    else:
        q.decode = Decode.ABORTED
        free_pages(s, r)
    forget(q)


@action(decode, cites="srt/disaggregation/decode.py:pop_preallocated")
def prealloc(s, r: Req):
    """Decode reserves a page for every page of request {r}'s prompt and publishes their numbers."""
    q = s.req[r]
    require(q.client != Client.IDLE and q.decode == Decode.IDLE)
    if q.need > len(DPage):
        answer(q, Client.REJECTED_400)
        stop(s, r)
    else:
        require(sum(s.d_owner[p] is None for p in DPage) >= q.need)
        q.decode = Decode.TRANSFER
        for k in Slot:
            if sum(q.target[j] is not None for j in Slot) < q.need:
                page = next((p for p in DPage if s.d_owner[p] is None), None)
                s.d_owner[page] = r
                q.target[k] = page


@action(decode, cites="srt/disaggregation/decode.py:_commit_transfer_to_req")
def commit(s, r: Req):
    """Decode takes the reported success to mean that request {r}'s pages hold its prompt."""
    q = s.req[r]
    require(q.decode == Decode.TRANSFER and q.report == Report.SUCCESS)
    if cfg.token_count_check and sent_pages(q) != q.need:
        answer(q, Client.FAILED_500)
        stop(s, r)
    else:
        q.decode = Decode.READY


def refused_by_check(s, r):
    """One of the checks before a read fails."""
    q = s.req[r]
    wrong_content = any(s.d_content[q.target[k]] != r for k in Slot if q.target[k] is not None)
    wrong_owner = any(s.d_owner[q.target[k]] != r for k in Slot if q.target[k] is not None)
    return (
        (cfg.checksum and q.decode == Decode.READY and wrong_content)
        or (cfg.carried_tags and wrong_content)
        or (cfg.page_tags and wrong_owner)
    )


@action(decode, cites="srt/disaggregation/decode_schedule_batch_mixin.py:process_prebuilt")
def attend(s, r: Req):
    """Decode reads all reserved pages of request {r} for the next token."""
    q = s.req[r]
    require(q.decode in (Decode.READY, Decode.RUNNING))
    if refused_by_check(s, r):
        answer(q, Client.FAILED_500)
        stop(s, r)
    else:
        q.decode = Decode.RUNNING
        for k in Slot:
            if q.target[k] is not None:
                if s.d_content[q.target[k]] is None:
                    q.saw_blank = True
                elif s.d_content[q.target[k]] != r:
                    q.saw_foreign = True


@action(decode, cites="srt/mem_cache/common.py:release_kv_cache")
def finish(s, r: Req):
    """Request {r} has all its tokens; the client gets its answer, the pages go back to the pool."""
    q = s.req[r]
    require(q.decode == Decode.RUNNING)
    q.decode = Decode.DONE
    q.cancel_decode = False
    answer(q, Client.OK_200)
    free_pages(s, r)
    forget(q)


@action(decode, cites="srt/managers/scheduler.py:abort_request")
def abort_on_decode(s, r: Req):
    """The abort of request {r} reaches decode."""
    require(s.req[r].cancel_decode)
    stop(s, r)


@action(decode, cites="0.5.20+ srt/disaggregation/common/conn.py:apply_prefill_status")
def fail_transfer(s, r: Req):
    """Decode gives request {r} up while it waits: a failed status, a time-out or a lost node."""
    q = s.req[r]
    require(cfg.transfer_failures and q.decode == Decode.TRANSFER)
    answer(q, Client.FAILED_500)
    stop(s, r)


@action(decode, cites="srt/disaggregation/decode.py:resolve_deferred_releases")
def release_drained(s, r: Req):
    """Prefill has acknowledged that nothing more is coming for request {r}; decode frees the held pages."""
    q = s.req[r]
    require(cfg.deferred_release and q.decode == Decode.HELD and prefill_over(q))
    q.decode = Decode.ABORTED
    free_pages(s, r)
    forget(q)


@action(decode, cites="srt/disaggregation/decode.py:resolve_deferred_releases")
def release_timeout(s, r: Req):
    """The time limit of request {r}'s deferred release is over; decode frees the held pages anyway."""
    q = s.req[r]
    require(cfg.deferred_release and cfg.release_timeout and q.decode == Decode.HELD)
    require(not (cfg.bounded_batch and q.flying))
    require(not (cfg.prompt_abort and q.cancel_prefill))
    q.decode = Decode.ABORTED
    free_pages(s, r)
    forget(q)
