"""What there is in the model of SGLang + Mooncake: sorts, requests, rooms on both sides, page pools, metadata rows."""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import Array, Bool, Int, Machine, Opt, Record, Set, Sort

from .config import Config

Req = Sort("Req", labels="ABCDEFGH", doc="requests of clients; each has one bootstrap room")
Pos = Sort("Pos", doc="page positions of a prompt; as many as the announced context has pages")
PRank = Sort("PRank", doc="ranks of the prefill node, each with a transfer worker of its own")
DRank = Sort("DRank", doc="ranks of the decode node, each with pages and metadata rows of its own")
PPage = Sort("PPage", doc="pages of the prefill pool (the larger one, if it is made larger)")
DPage = Sort("DPage", doc="pages of the decode pool")
PRow = Sort("PRow", doc="metadata rows of prefill")
DRow = Sort("DRow", doc="metadata rows of decode")

router = Machine("router", "sends each request to both sides and gives the client its answer")
prefill = Machine("prefill", "the prefill scheduler: computes prompts, hands chunks over, releases pages")
worker = Machine("worker", "prefill's transfer workers and its bootstrap thread")
network = Machine("network", "the transfer engine: lands posted writes in any order, never recalls one")
decode = Machine("decode", "the decode scheduler and its thread: reserves, waits, reads, answers, releases")


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
    BOOTSTRAP = auto()  # disagg_prefill_bootstrap_queue
    WAITING = auto()  # waiting_queue; holds a metadata row
    LAUNCHED = auto()  # its first chunk is handed over, the forward pass still runs
    CHUNKED = auto()  # chunked_req: first chunk computed and handed over, the last one still to come
    FORWARD = auto()  # the last forward pass has run, its result is not processed
    INFLIGHT = auto()  # disagg_prefill_inflight_queue
    OVER = auto()


class Decode(Enum):
    """Where a request is on decode."""

    IDLE = auto()
    PREALLOC = auto()  # disagg_decode_prealloc_queue
    TRANSFER = auto()  # disagg_decode_transfer_queue
    READY = auto()  # waiting_queue
    RUNNING = auto()
    HELD = auto()  # given up, its pages kept by a deferred release
    OVER = auto()


class Room(Enum):
    """`KVPoll` of one room in one rank's `request_status`; absent if there is no entry."""

    ABSENT = auto()
    BOOTSTRAPPING = auto()
    WAITING = auto()  # WaitingForInput
    FAILED = auto()
    SUCCESS = auto()


class Worker(Enum):
    """Where a transfer worker is with the chunk of a room; anything but IDLE counts as outstanding."""

    IDLE = auto()
    DEQUEUED = auto()
    CHECKED = auto()
    CALLING = auto()  # batch_transfer_sync has not returned
    AUX = auto()  # the KV of the last chunk is through; metadata row and report are next
    DEAD = auto()


class Abort(Enum):
    """How far the bootstrap thread is with an abort."""

    NONE = auto()
    MARKED = auto()
    REGISTERED = auto()


class Up(Enum):
    """Messages from decode to prefill; of one room the metadata comes first."""

    METADATA = auto()
    ABORT = auto()


class Down(Enum):
    """Messages from prefill to decode."""

    SUCCESS = auto()
    FAILED = auto()
    ACK = auto()


class Request(Record):
    """A request as both schedulers see it; all ranks of a side agree on these."""

    client: Client
    need: Int(0, Pos)  # pages of the client's prompt, as router and decode know it
    sent: Int(0, Pos)  # pages of the prompt that prefill computes and sends
    stub: Bool  # rejected: the prompt was swapped for one token, the verdict is not looked at
    refused: Bool  # rejected, and the router was told
    prefill: Prefill
    doomed: Bool  # aborted on prefill: what the sender reports from now on is a failure
    decode: Decode
    cancel_prefill: Bool  # an abort is on its way to prefill
    cancel_decode: Bool  # an abort is on its way to decode
    retracted: Bool
    source: Array(Pos, Opt(PPage))  # pages the writes read; known to the writes after prefill has freed them
    p_row: Opt(PRow)
    computed: Bool  # the forward pass has filled the first chunk's pages
    saw_blank: Bool  # decode has read a reserved page that nobody wrote since it was cleared
    saw_foreign: Bool  # decode has read a reserved page that another request wrote


class Sender(Record):
    """One room on one prefill rank: its entry, its chunks, what the transfer engine has for it."""

    room: Room
    infos: Set(DRank)  # transfer_infos: decode ranks whose metadata is here
    serving: Set(DRank)  # the ranks that the worker's chunk goes to, also once the room is cleared
    queued: Int(0, 2)  # chunks in the transfer queue
    chunk: Int(0, 2)  # chunks that the worker is through with
    worker: Worker
    posted: Int(0, Pos)  # with bounded batches: positions of this chunk posted so far
    flying: Array(DRank, Set(Pos))  # posted writes of the running call
    orphans: Array(DRank, Set(Pos))  # posted writes of calls that have returned
    stale: Bool  # with bounded batches: some of these writes were posted before decode began to hold
    poisoned: Bool
    targets: Set(DRank)  # decode ranks that are owed an acknowledgement
    abort: Abort
    aborter: Opt(DRank)
    up: Array(DRank, Set(Up))
    down: Array(DRank, Set(Down))


class Receiver(Record):
    """One room on one decode rank: its entry, its answers, its pages."""

    room: Room
    successes: Set(PRank)
    notified: Bool  # an abort has been sent
    acks: Set(PRank)
    holding: Bool  # this rank has not given its pages back
    target: Array(Pos, Opt(DPage))  # published pages; known to the writes after decode has freed them
    row: Opt(DRow)


class State(Record):
    """All rooms and pools.  `content` is the request that wrote last; it outlives ownership."""

    req: Array(Req, Request)
    sender: Array(PRank, Array(Req, Sender))
    receiver: Array(DRank, Array(Req, Receiver))
    p_owner: Array(PPage, Opt(Req))
    p_content: Array(PPage, Opt(Req))
    p_row_owner: Array(PRow, Opt(Req))
    p_row_content: Array(PRow, Opt(Req))
    d_owner: Array(DRank, Array(DPage, Opt(Req)))
    d_content: Array(DRank, Array(PRank, Array(DPage, Opt(Req))))  # a page has a slice for each prefill rank
    d_row_owner: Array(DRank, Array(DRow, Opt(Req)))
    d_row_content: Array(DRank, Array(DRow, Opt(Req)))  # whose room number the row holds; None: zero
    blacklist: Array(PRank, Set(DRank))  # failed_sessions
    prefill_dead: Bool
    faults: Int(0, Config.faults)
    stray: Bool  # a write has landed in a page that its request did not own
    overwrote: Bool  # ... and that another request owned
    wrong_source: Bool  # a landing write has read a source page that held something else
    revived: Bool  # a failed room has become anything else
    split_verdict: Bool  # stages of prefill have concluded one request differently
    mixed_lives: Bool  # a room has begun a second life while something of the first was on its way
    shared_unwritten: Bool  # a page went into the prefix tree that its request had not written
