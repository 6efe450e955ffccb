"""From the implementation's state to the variables of the model `sglang`.

The writer of a page is read from its tensors, what a request has seen from the texts that attention gave, and strays
from what the transfer engine observed: nothing here trusts bookkeeping for what bytes can tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kvproto.reference import prompts
from kvproto.reference.pages import Image
from kvproto.reference.sglang import Cluster, decode, prefill
from kvproto.reference.sglang.memory import Row
from kvproto.reference.sglang.messages import NAMES, Socket
from kvproto.reference.sglang.rooms import Status
from kvproto.reference.sglang.worker import Stage
from kvproto.replay.canaries import UNKNOWN, Reader, writer
from kvproto.replay.result import PageTexts
from kvproto.trace.trace import State, Value

PREFILL = {
    None: "IDLE",
    prefill.INTAKE: "IDLE",
    prefill.BOOTSTRAP: "BOOTSTRAP",
    prefill.WAITING: "WAITING",
    prefill.LAUNCHED: "LAUNCHED",
    prefill.CHUNKED: "CHUNKED",
    prefill.FORWARDED: "FORWARD",
    prefill.INFLIGHT: "INFLIGHT",
    prefill.OVER: "OVER",
}
"""Prefill's queues in the model's words."""

DECODE = {
    None: "IDLE",
    decode.INTAKE: "IDLE",
    decode.PREALLOC: "PREALLOC",
    decode.TRANSFER: "TRANSFER",
    decode.WAITING: "READY",
    decode.RUNNING: "RUNNING",
    decode.DEFERRED: "HELD",
    decode.OVER: "OVER",
}
"""Decode's queues in the model's words."""

ROOM = {
    None: "ABSENT",
    Status.BOOTSTRAPPING: "BOOTSTRAPPING",
    Status.WAITING: "WAITING",
    Status.FAILED: "FAILED",
    Status.SUCCESS: "SUCCESS",
}
WORKER = {Stage.DEQUEUED: "DEQUEUED", Stage.CHECKED: "CHECKED", Stage.CALLING: "CALLING", Stage.AUX: "AUX"}
ANSWERED = {200: "OK_200", 400: "REJECTED_400", 500: "FAILED_500"}


def page_texts(cluster: Cluster, reader: Reader) -> PageTexts:
    """The text in every page: prefill rank after prefill rank; decode rank after decode rank, slice after slice."""
    return PageTexts(
        tuple(text for rank in cluster.prefill.ranks for text in reader.texts(rank.memory)),
        tuple(
            text for rank in cluster.decode.ranks for memory in rank.slices.values() for text in reader.texts(memory)
        ),
    )


@dataclass(slots=True)
class Faded:
    """Prefill's pages and rows whose content the model has forgotten, with the room that wrote it.

    The model forgets what a room wrote once it forgets the room, but for what another room refers to: a write of that
    one, or its row, may still be read from there.  Here the bytes stay; the room never writes again.
    """

    pages: set[tuple[int, Value]] = field(default_factory=set)
    rows: set[tuple[int, Value]] = field(default_factory=set)

    def fade(self, cluster: Cluster, room: int) -> None:
        """A room is about to be forgotten."""
        others = [request for other, request in cluster.prefill.requests.items() if other != room]
        pages = {page for request in others for page in request.pages.values()}
        rows = {request.row for request in others}
        name = prompts.label(room)
        if not cluster.switches.early_send:
            self.pages |= {(page, name) for page in range(len(cluster.prefill.pages)) if page not in pages}
        self.rows |= {(row, name) for row in range(len(cluster.prefill.rows)) if row not in rows}


def abstract(cluster: Cluster, reader: Reader, texts: PageTexts, faded: Faded) -> State:
    """The model's state, in the order in which the model declares it; `texts` is what the pages hold now."""
    state: State = {}
    for room in cluster.rooms:
        state |= _prefixed(f"req[{prompts.label(room)}]", _request(cluster, room))
    for p in range(cluster.sizes.prefill_ranks):
        for room in cluster.rooms:
            state |= _prefixed(f"sender[{p}][{prompts.label(room)}]", _sender(cluster, p, room))
    for d in range(cluster.sizes.decode_ranks):
        for room in cluster.rooms:
            state |= _prefixed(f"receiver[{d}][{prompts.label(room)}]", _receiver(cluster, d, room))
    state |= _prefill_memory(cluster, texts, faded)
    state |= _decode_memory(cluster, texts)
    for p, rank in enumerate(cluster.prefill.ranks):
        state[f"blacklist[{p}]"] = _numbers(rank.manager.failed_sessions)
    return state | _observed(cluster, reader)


def _prefixed(prefix: str, values: State) -> State:
    return {f"{prefix}.{name}": value for name, value in values.items()}


def _numbers(numbers: Iterable[int]) -> Value:
    return list[bool | int | str](sorted(set(numbers)))


def _request(cluster: Cluster, room: int) -> State:
    call = cluster.router.calls.get(room)
    source = cluster.prefill.requests.get(room)
    target = cluster.decode.requests.get(room)
    where = cluster.prefill.queues.of(room)
    texts = [text for read in (target.passes if target else []) for text in read.values()]
    seen = {writer(page) for text in texts for page in prompts.split(text)}
    own = prompts.label(room)
    return {
        "client": _client(cluster, room),
        "need": prompts.page_count(len(call.prompt)) if call else 0,
        "sent": prompts.page_count(source.tokens) if source and where != prefill.INTAKE else 0,
        "stub": bool(source and source.to_finish is not None),
        "refused": bool(source and source.refused),
        "prefill": "OVER" if cluster.prefill.dead else PREFILL[where],
        "doomed": bool(source and source.aborted),
        "decode": DECODE[cluster.decode.queues.of(room)],
        "cancel_prefill": room in cluster.prefill.aborts,
        "cancel_decode": room in cluster.decode.aborts,
        "retracted": bool(target and target.retracted),
        **{f"source[{k}]": source.pages.get(k) if source else None for k in range(cluster.sizes.context)},
        "p_row": source.row if source else None,
        "computed": bool(source and source.first_pass.done),
        "saw_blank": None in seen,
        "saw_foreign": any(found is not None and found[0] != own for found in seen),
    }


def _client(cluster: Cluster, room: int) -> str:
    call = cluster.router.calls.get(room)
    if call is None:
        return "IDLE"
    if call.answer is not None:
        return ANSWERED[call.answer.status]
    return "GONE" if call.disconnected else "WAITING"


def _sender(cluster: Cluster, p: int, room: int) -> State:
    rank = cluster.prefill.ranks[p]
    manager, pending = rank.manager, rank.thread.pending
    here = pending if pending is not None and pending.room == room else None
    ranks = range(cluster.sizes.decode_ranks)
    writes = cluster.engine.of(room, p)
    return {
        "room": ROOM[manager.status(room)],
        "infos": _numbers(manager.infos(room)),
        "serving": _numbers(rank.worker.jobs[room].infos if room in rank.worker.jobs else ()),
        "queued": rank.worker.queued(room),
        "chunk": rank.worker.through.get(room, 0),
        "worker": _worker(cluster, p, room),
        "posted": _posted(cluster, p, room),
        **{f"flying[{d}]": _numbers(w.position for w in writes if w.d == d and w.awaited) for d in ranks},
        **{f"orphans[{d}]": _numbers(w.position for w in writes if w.d == d and not w.awaited) for d in ranks},
        "stale": any(write.bounded for write in writes),
        "poisoned": room in manager.poisoned,
        "targets": _numbers(manager.ack_targets.get(room, ())),
        "abort": "NONE" if here is None else "REGISTERED" if here.registered else "MARKED",
        "aborter": None if here is None else here.d,
        **{f"up[{d}]": _unread(cluster.network.up, p, d, room) for d in ranks},
        **{f"down[{d}]": _unread(cluster.network.down, p, d, room) for d in ranks},
    }


def _unread(sockets: dict[tuple[int, int], Socket], p: int, d: int, room: int) -> Value:
    """Kinds of unread messages; ranks that exchange nothing have no socket."""
    kinds = {type(message) for message in sockets[p, d].of(room)} if (p, d) in sockets else set()
    return [name for name, kind in NAMES.items() if kind in kinds]


def _worker(cluster: Cluster, p: int, room: int) -> str:
    worker = cluster.prefill.ranks[p].worker
    if room in worker.dead:
        return "DEAD"
    return WORKER[worker.jobs[room].stage] if room in worker.jobs else "IDLE"


def _posted(cluster: Cluster, p: int, room: int) -> int:
    """The model counts batches from the first position of the chunk on, also where all pages are one batch."""
    job = cluster.prefill.ranks[p].worker.jobs.get(room)
    return min(job.chunk.pages) + job.batches if job is not None and job.batches else 0


def _receiver(cluster: Cluster, d: int, room: int) -> State:
    receiver = cluster.decode.ranks[d].receivers[room]
    pages = receiver.pages
    return {
        "room": ROOM[receiver.status],
        "successes": _numbers(receiver.successes),
        "notified": receiver.notified,
        "acks": _numbers(receiver.acks),
        "holding": receiver.holding,
        **{f"target[{k}]": pages[k] if k < len(pages) else None for k in range(cluster.sizes.context)},
        "row": receiver.row,
    }


def _prefill_memory(cluster: Cluster, texts: PageTexts, faded: Faded) -> State:
    """Pages that the configured pool lacks exist in the model only, and are never used there."""
    sizes, node = cluster.sizes, cluster.prefill
    held = len(node.pages)
    state: State = {}
    for page in range(sizes.prefill_pages):
        state[f"p_owner[{page}]"] = _label(node.pages.owners[page]) if page < held else None
    for page in range(sizes.prefill_pages):
        slices = {_writer(texts.prefill[p * held + page]) for p in range(sizes.prefill_ranks) if page < held}
        found = slices.pop() if len(slices) == 1 else UNKNOWN if slices else None
        state[f"p_content[{page}]"] = None if (page, found) in faded.pages else found
    state |= {f"p_row_owner[{row}]": _label(owner) for row, owner in enumerate(node.row_owners.owners)}
    for number, row in enumerate(node.rows):
        state[f"p_row_content[{number}]"] = None if (number, _row(row)) in faded.rows else _row(row)
    return state


def _decode_memory(cluster: Cluster, texts: PageTexts) -> State:
    ranks, count = cluster.decode.ranks, cluster.sizes.decode_pages
    state: State = {}
    for d, rank in enumerate(ranks):
        state |= {f"d_owner[{d}][{page}]": _label(owner) for page, owner in enumerate(rank.pages.owners)}
    slices = [(rank.rank, p) for rank in ranks for p in rank.slices]
    for d in range(len(ranks)):
        for p in range(cluster.sizes.prefill_ranks):
            at = slices.index((d, p)) * count if (d, p) in slices else None
            for page in range(count):
                state[f"d_content[{d}][{p}][{page}]"] = None if at is None else _writer(texts.decode[at + page])
    for d, rank in enumerate(ranks):
        state |= {f"d_row_owner[{d}][{row}]": _label(owner) for row, owner in enumerate(rank.row_owners.owners)}
    for d, rank in enumerate(ranks):
        state |= {f"d_row_content[{d}][{number}]": _row(row) for number, row in enumerate(rank.rows)}
    return state


def _label(owner: int | None) -> Value:
    return None if owner is None else prompts.label(owner)


def _row(row: Row) -> Value:
    return prompts.label(row.room) if row.room else None


def _writer(text: str) -> str | None:
    found = writer(text)
    return None if found is None else found[0]


def _observed(cluster: Cluster, reader: Reader) -> State:
    """What only an onlooker knows."""
    landed = cluster.engine.landed
    strays = [landing.owner for landing in landed if landing.owner != landing.write.room]
    carried = [(landing.write.room, landing.image) for landing in landed]
    shared = [(entry.room, entry.image) for entry in cluster.decode.tree]

    def foreign(pages: Iterable[tuple[int, Image]]) -> bool:
        return any(_writer(reader.text(image.keys, image.values)) != prompts.label(room) for room, image in pages)

    return {
        "prefill_dead": cluster.prefill.dead,
        "faults": cluster.faults.happened,
        "stray": bool(strays),
        "overwrote": any(owner is not None for owner in strays),
        "wrong_source": foreign(carried),
        "revived": any(rank.manager.revivals for rank in cluster.prefill.ranks),
        "split_verdict": bool(cluster.prefill.split_verdicts),
        "mixed_lives": cluster.mixed_lives,
        "shared_unwritten": foreign(shared),
    }
