"""What there is in the SGLang + Mooncake model: sorts, switches, request records, page pools.

A thin model: one prefill node, one decode node, one transfer a request, pages as the unit of everything.
Section numbers in comments refer to no document; `cites` on actions name the released code (`srt/...`).
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import Array, Bool, Int, Machine, Opt, Params, Record, Set, Sort, flag, number

Req = Sort("Req", labels="ABCDEFGH", doc="requests of clients; each is sent once")
Slot = Sort("Slot", doc="page positions of a prompt; as many as the announced context has pages")
PPage = Sort("PPage", doc="physical pages of the prefill pool (the larger one, if it is made larger)")
DPage = Sort("DPage", doc="physical pages of the decode pool")


class Config(Params):
    """Sizes and switches.  Every switch is one mitigation or one change of a release."""

    short_prompt: int = number(1, "pages of a short prompt; a long one has as many as the context", least=1)
    prefill_pool: int = number(1, "pages in the prefill pool unless larger_pool is on", least=1)

    client_disconnects: bool = flag(True, "clients may go away while they wait", kind="environment")
    transfer_failures: bool = flag(True, "decode may give a transfer up: time-outs, lost nodes", kind="environment")

    larger_pool: bool = flag(False, "the prefill pool holds any prompt that the context allows", kind="mitigation")
    reject_at_admission: bool = flag(
        False,
        "a prompt that does not fit is refused before bootstrap, allocation or transfer",
        cites="0.5.21+ srt/disaggregation/utils.py:is_unadmitted_reject",
        kind="mitigation",
    )
    retire_after_forward: bool = flag(
        False,
        "a rejected request is retired after its forward pass, before anything is sent",
        cites="0.5.20+ srt/disaggregation/prefill.py:_retire_aborted_prefill_result",
        kind="mitigation",
    )
    failed_is_terminal: bool = flag(
        False,
        "a room that failed on prefill never reports success",
        cites="0.5.20+ srt/disaggregation/common/conn.py:conclude_transfer",
        kind="mitigation",
    )
    token_count_check: bool = flag(False, "decode compares what was sent with what it reserved", kind="mitigation")
    deferred_release: bool = flag(
        False,
        "decode keeps the pages of a failed or aborted transfer until prefill has drained",
        cites="0.5.21+ srt/environ.py:SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE",
        kind="mitigation",
    )
    release_timeout: bool = flag(
        True,
        "a deferred release ends after a time limit, drained or not",
        cites="srt/disaggregation/decode.py:resolve_deferred_releases",
    )
    bounded_batch: bool = flag(
        False, "no posted write outlives the time limit of a deferred release", kind="mitigation"
    )
    prompt_abort: bool = flag(
        False, "an abort reaches prefill before the time limit of a deferred release", kind="mitigation"
    )
    deferred_source_release: bool = flag(
        False, "prefill keeps source pages until its writes have drained", kind="mitigation"
    )
    patient_balancer: bool = flag(
        False, "a client's disconnect does not abort a request in transfer", kind="mitigation"
    )
    checksum: bool = flag(
        False,
        "decode verifies the transferred KV once, before the first read",
        cites="0.5.21+ srt/server_args.py:--disaggregation-enable-kv-checksum",
        kind="mitigation",
    )
    page_tags: bool = flag(False, "a tag that changes on reallocation is checked before every read", kind="mitigation")
    carried_tags: bool = flag(False, "a tag written together with the page is checked at every read", kind="mitigation")
    zero_on_release: bool = flag(False, "decode clears pages when it frees them", kind="mitigation")


cfg = Config()


class Client(Enum):
    """What the client of a request sees."""

    IDLE = auto()
    WAITING = auto()
    OK_200 = auto()
    REJECTED_400 = auto()
    FAILED_500 = auto()
    GONE = auto()


class Prefill(Enum):
    """Where a request is on prefill."""

    IDLE = auto()
    BOOTSTRAP = auto()
    FORWARDED = auto()
    SENDING = auto()
    DRAINING = auto()  # aborted, its posted writes go on
    DONE = auto()
    REJECTED = auto()
    ABORTED = auto()


class Decode(Enum):
    """Where a request is on decode."""

    IDLE = auto()
    TRANSFER = auto()
    READY = auto()
    RUNNING = auto()
    HELD = auto()  # given up, its pages kept by deferred release
    DONE = auto()
    ABORTED = auto()


class Report(Enum):
    """What prefill has told decode about a room."""

    NONE = auto()
    SUCCESS = auto()
    FAILED = auto()


class Request(Record):
    """One request on both sides."""

    client: Client
    need: Int(0, Slot)  # pages of the client's prompt, as router and decode know it
    prefill: Prefill
    placeholder: Bool  # rejected: the prompt was swapped for one token, the verdict is not looked at
    decode: Decode
    report: Report
    cancel_prefill: Bool  # an abort is on its way to prefill
    cancel_decode: Bool  # an abort is on its way to decode
    source: Array(Slot, Opt(PPage))  # pages the writes read; known to the writes after prefill freed them
    target: Array(Slot, Opt(DPage))  # pages decode published; known to the writes after decode freed them
    flying: Set(Slot)  # writes posted and not yet landed
    saw_blank: Bool  # decode has read a reserved page that nobody wrote since it was cleared
    saw_foreign: Bool  # decode has read a reserved page that another request wrote


class State(Record):
    """All requests and both page pools.  `content` is the last writer, and outlives ownership."""

    req: Array(Req, Request)
    p_owner: Array(PPage, Opt(Req))
    p_content: Array(PPage, Opt(Req))
    d_owner: Array(DPage, Opt(Req))
    d_content: Array(DPage, Opt(Req))
    stray: Bool  # a write has landed in a page that its request did not own
    overwrote: Bool  # ... and that another request owned


router = Machine("router", "sends each request to both sides and gives the client its answer")
prefill = Machine("prefill", "computes the prompt's KV and posts its pages")
network = Machine("network", "the transfer engine: lands posted writes in any order, never recalls one")
decode = Machine("decode", "reserves pages, waits for the transfer, reads, answers")


def sent_pages(q):
    """How many pages prefill transfers for a request: those of its own idea of the prompt."""
    return 1 if q.placeholder else q.need


def prefill_over(q):
    """Prefill has nothing left to do, and to send, for this request."""
    return q.prefill in (Prefill.DONE, Prefill.REJECTED, Prefill.ABORTED)


def decode_over(q):
    """Decode has nothing left to do for this request and holds none of its pages."""
    return q.decode in (Decode.DONE, Decode.ABORTED)


def answer(q, status):
    """The client gets its answer, if it still waits for one."""
    if q.client == Client.WAITING:
        q.client = status


def abort_prefill(q):
    """Send prefill an abort, if it still works on the request."""
    if q.prefill in (Prefill.IDLE, Prefill.BOOTSTRAP, Prefill.FORWARDED, Prefill.SENDING):
        q.cancel_prefill = True


def abort_decode(q):
    """Send decode an abort, if it still works on the request."""
    if q.decode in (Decode.IDLE, Decode.TRANSFER, Decode.READY, Decode.RUNNING):
        q.cancel_decode = True


def forget(q):
    """Once both sides are through and nothing is in flight, nobody remembers the page numbers."""
    if prefill_over(q) and decode_over(q) and not q.flying:
        for k in Slot:
            q.source[k] = None
            q.target[k] = None
