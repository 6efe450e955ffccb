"""From the implementation's state to the variables of the model `outline`.

The writer of a page is read from its tensors, what a request has seen from the text that attention gave, and strays
from what the transport observed: nothing here trusts bookkeeping for what bytes can tell.
"""

from __future__ import annotations

from kvproto.reference import prompts
from kvproto.reference.outline import Cluster, decode, prefill
from kvproto.reference.outline.protocol import Status
from kvproto.reference.pages import Pool
from kvproto.replay.canaries import Reader, foreign, writer
from kvproto.replay.result import PageTexts
from kvproto.trace.trace import State, Value

PREFILL = {
    None: "IDLE",
    prefill.INTAKE: "IDLE",
    prefill.BOOTSTRAP: "BOOTSTRAP",
    prefill.FORWARDED: "FORWARDED",
    prefill.INFLIGHT: "SENDING",
    prefill.DRAINING: "DRAINING",
    prefill.DONE: "DONE",
    prefill.REJECTED: "REJECTED",
    prefill.ABORTED: "ABORTED",
}
"""Prefill's queues in the model's words."""

DECODE = {
    None: "IDLE",
    decode.PREALLOC: "IDLE",
    decode.TRANSFER: "TRANSFER",
    decode.WAITING: "READY",
    decode.RUNNING: "RUNNING",
    decode.DEFERRED: "HELD",
    decode.FINISHED: "DONE",
    decode.ABORTED: "ABORTED",
}
"""Decode's queues in the model's words."""

REPORT = {None: "NONE", Status.SUCCESS: "SUCCESS", Status.FAILED: "FAILED"}
ANSWERED = {200: "OK_200", 400: "REJECTED_400", 500: "FAILED_500"}


def page_texts(cluster: Cluster, reader: Reader) -> PageTexts:
    """The text in every page of both pools."""
    return PageTexts(reader.texts(cluster.prefill.pool), reader.texts(cluster.decode.pool))


def abstract(cluster: Cluster, texts: PageTexts) -> State:
    """The model's state, in the order in which the model declares it; `texts` is what the pools hold now."""
    state: State = {}
    for room in cluster.rooms:
        for name, value in _request(cluster, room).items():
            state[f"req[{prompts.label(room)}].{name}"] = value
    # Pages that the configured prefill pool lacks exist in the model only, and are never used there.
    size = cluster.sizes.prefill_pages
    for name, pool, held, pages in (
        ("p", cluster.prefill.pool, texts.prefill, size),
        ("d", cluster.decode.pool, texts.decode, cluster.decode.pool.pages),
    ):
        state |= {f"{name}_owner[{page}]": _owner(pool, page) for page in range(pages)}
        state |= {f"{name}_content[{page}]": _content(held, page) for page in range(pages)}
    strays = [landing.owner for landing in cluster.transport.landed if landing.owner != landing.write.room]
    state["stray"] = bool(strays)
    state["overwrote"] = any(owner is not None for owner in strays)
    return state


def _owner(pool: Pool, page: int) -> Value:
    owner = pool.owners[page] if page < pool.pages else None
    return None if owner is None else prompts.label(owner)


def _content(held: tuple[str, ...], page: int) -> Value:
    found = writer(held[page]) if page < len(held) else None
    return None if found is None else found[0]


def _request(cluster: Cluster, room: int) -> dict[str, Value]:
    call = cluster.router.calls.get(room)
    source = cluster.prefill.requests.get(room)
    target = cluster.decode.requests.get(room)
    passes = target.passes if target else []
    return {
        "client": _client(cluster, room),
        "need": prompts.page_count(len(call.prompt)) if call else 0,
        "prefill": PREFILL[cluster.prefill.queues.of(room)],
        "placeholder": bool(source and source.to_finish is not None),
        "decode": DECODE[cluster.decode.queues.of(room)],
        "report": REPORT[target.status if target else None],
        "cancel_prefill": room in cluster.prefill.aborts,
        "cancel_decode": room in cluster.decode.aborts,
        **_positions("source", source.pages if source else (), cluster.sizes.context),
        **_positions("target", target.pages if target else (), cluster.sizes.context),
        "flying": list[bool | int | str](cluster.transport.in_flight(room)),
        "saw_blank": any(writer(page) is None for text in passes for page in prompts.split(text)),
        "saw_foreign": bool(foreign(prompts.label(room), passes)),
    }


def _positions(name: str, pages: tuple[int, ...], context: int) -> dict[str, Value]:
    return {f"{name}[{k}]": pages[k] if k < len(pages) else None for k in range(context)}


def _client(cluster: Cluster, room: int) -> str:
    call = cluster.router.calls.get(room)
    if call is None:
        return "IDLE"
    if call.answer is not None:
        return ANSWERED[call.answer.status]
    return "GONE" if call.disconnected else "WAITING"
