"""The engine's state in the variables of the model `sglang`, as far as it can be seen."""

from __future__ import annotations

from typing import Any

from kvproto.engines.inside import places
from kvproto.engines.inside.pair import Pair, Request

NOT_COMPARED = {
    "req.computed": "a note of the model; the engine has no such flag",
    "req.retracted": "retraction is not driven",
    "receiver.successes": "the engine drops the set as soon as a transfer fails, the model when pages are released",
    "sender.posted": "counts bounded batches, an option that is not driven",
    "sender.stale": "belongs to bounded batches",
    "sender.abort": "the engine handles an abort in one go; the model has three steps",
    "sender.aborter": "as sender.abort",
    "prefill_dead": "one process",
    "faults": "a budget of the model",
    "split_verdict": "one rank",
    "mixed_lives": "retraction is not driven",
    "shared_unwritten": "the prefix tree is off",
}
"""Variables of the model that are left out, by the name without indices, and why."""

STATUS = {200: "OK_200", 400: "REJECTED_400"}


def look(pair: Pair) -> dict[str, Any]:
    """The variables, by the model's names."""
    for request in pair.requests.values():
        forget(pair, request)
    state: dict[str, Any] = {}
    for label, request in pair.requests.items():
        _put(state, f"req[{label}]", _request(pair, request))
    for label, request in pair.requests.items():
        _put(state, f"sender[0][{label}]", _sender(pair, request))
    for label, request in pair.requests.items():
        _put(state, f"receiver[0][{label}]", _receiver(pair, request))
    state |= _prefill_memory(pair)
    state |= _decode_memory(pair)
    state["blacklist[0]"] = [0] if pair.prefill.kv_manager.failed_sessions else []
    state["stray"] = pair.seen.stray
    state["overwrote"] = pair.seen.overwrote
    state["wrong_source"] = pair.seen.wrong_source
    state["revived"] = pair.prefill.kv_manager.request_status.revived
    return state


def _put(state: dict[str, Any], prefix: str, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        state[f"{prefix}.{name}"] = value


def forget(pair: Pair, request: Request) -> None:
    """The model drops the numbers of a request that is settled; what its pages held goes with them."""
    if request.forgotten or not places.settled(pair, request):
        return
    request.forgotten = True
    others = [other for other in pair.requests.values() if other is not request]
    read = {page for other in others for page in other.source_pages}
    rows = {other.source_row for other in others}
    for page in range(pair.sizes.prefill_pages):
        if page not in read:
            pair.seen.faded_pages.add((page, request.label))
    for row in range(pair.sizes.prefill_rows):
        if row not in rows:
            pair.seen.faded_rows.add((row, request.label))
    request.source_pages = []
    request.source_row = request.target_row = None
    request.target_pages = []
    request.doomed = request.cancel_prefill = request.cancel_decode = False
    request.chunk = 0


def client(pair: Pair, request: Request) -> str:
    """What the client has: the answer of its decode leg."""
    answer = places.told(pair.decode, request)
    if request.client != "WAITING" or answer is None:
        return request.client
    return STATUS.get(places.status(answer), "FAILED_500")


def refused(pair: Pair, request: Request) -> bool:
    """Whether the prefill leg ended with a rejection."""
    answer = places.told(pair.prefill, request)
    return answer is not None and places.status(answer) == 400


def _doomed(pair: Pair, request: Request) -> bool:
    where = places.prefill(pair, request)
    if where in ("BOOTSTRAP", "INFLIGHT"):
        # A sender that has timed out has concluded too, and its room says so.
        request.doomed = request.aborted and request.source.disagg_kv_sender.conclude_state == pair.failed
    elif where == "FORWARD":
        request.doomed = request.source.to_finish is not None and not request.stub
    return request.doomed


def _request(pair: Pair, request: Request) -> dict[str, Any]:
    answered = client(pair, request)
    known = answered in ("WAITING", "OK_200") or not request.forgotten
    sent = request.source is not None and not request.forgotten and places.prefill(pair, request) != "IDLE"
    tokens = len(request.source.origin_input_ids) if sent and not request.turned_away else 0
    return {
        "client": answered,
        "need": request.need,
        "sent": -(-tokens // pair.prefill.page_size),
        "stub": request.stub and known,
        "refused": refused(pair, request) and known,
        "prefill": places.prefill(pair, request),
        "doomed": _doomed(pair, request),
        "decode": places.decode(pair, request),
        "cancel_prefill": request.cancel_prefill,
        "cancel_decode": request.cancel_decode,
        **{f"source[{k}]": _at(request.source_pages, k) for k in range(pair.sizes.context)},
        "p_row": request.source_row,
        "saw_blank": request.saw_blank,
        "saw_foreign": request.saw_foreign,
    }


def _at(pages: list[int], position: int) -> int | None:
    return pages[position] if position < len(pages) else None


def _sender(pair: Pair, request: Request) -> dict[str, Any]:
    manager = pair.prefill.kv_manager
    where = places.working(pair, request)
    up, down = places.mail(pair, request)
    return {
        "room": places.room(pair.prefill, request.room),
        "infos": [0] if manager.transfer_infos.get(request.room) else [],
        "serving": [0] if where in ("CHECKED", "CALLING", "AUX", "DEAD") and not request.forgotten else [],
        "queued": places.queued(pair, request),
        "chunk": request.chunk,
        "worker": where,
        "flying[0]": sorted(write.position for write in pair.landing.of(request.room, awaited=True)),
        "orphans[0]": sorted({write.position for write in pair.landing.of(request.room, awaited=False)}),
        "poisoned": request.room in getattr(manager, "_deferred_ack_poisoned_rooms", ()),
        "targets": [0] if manager._deferred_ack_targets.get(request.room) else [],
        "up[0]": up,
        "down[0]": down,
    }


def _receiver(pair: Pair, request: Request) -> dict[str, Any]:
    manager = pair.decode.kv_manager
    kept = request.receiver is not None and not request.forgotten
    acks = manager._deferred_abort_ack_tracker.get(request.room)
    room = places.received(pair, request)
    if room == "ABSENT" and places.decode(pair, request) == "HELD":
        # The engine drops the entry of a failed room at once, the model when the pages are released; meanwhile
        # nothing depends on it on either side.
        room = "FAILED"
    return {
        "room": room,
        "notified": bool(kept and request.receiver.abort_notified),
        "acks": [0] if getattr(acks, "prefill_ranks", acks) else [],
        "holding": bool(pair.pages(pair.decode, request.target)),
        **{f"target[{k}]": _at(request.target_pages, k) for k in range(pair.sizes.context)},
        "row": request.target_row,
    }


def _prefill_memory(pair: Pair) -> dict[str, Any]:
    """Pages that the configured pool lacks are in the model only, and are never used there."""
    sizes, side, seen = pair.sizes, pair.prefill, pair.seen
    owners = pair.owners(side)
    state: dict[str, Any] = {}
    for page in range(sizes.prefill_pages):
        found = pair.writer(side, page) if page < sizes.limit else None
        state[f"p_owner[{page}]"] = owners.get(page)
        state[f"p_content[{page}]"] = None if found is None or (page, found) in seen.faded_pages else found
    holders = {
        request.source.metadata_buffer_index: label
        for label, request in pair.requests.items()
        if request.source is not None and request.source.metadata_buffer_index >= 0
    }
    rooms = side.disagg_metadata_buffers.bootstrap_room
    for row in range(sizes.prefill_rows):
        found = _label(pair, int(rooms[row][0]))
        state[f"p_row_owner[{row}]"] = holders.get(row)
        state[f"p_row_content[{row}]"] = None if (row, found) in seen.faded_rows else found
    return state


def _decode_memory(pair: Pair) -> dict[str, Any]:
    sizes, side = pair.sizes, pair.decode
    owners = pair.owners(side)
    state: dict[str, Any] = {}
    for page in range(sizes.decode_pages):
        state[f"d_owner[0][{page}]"] = owners.get(page)
        state[f"d_content[0][0][{page}]"] = pair.writer(side, page)
    holders = {
        request.held.metadata_buffer_index: label
        for label, request in pair.requests.items()
        if places.decode(pair, request) in ("TRANSFER", "HELD")
    }
    rooms = side.disagg_metadata_buffers.bootstrap_room
    for row in range(sizes.decode_rows):
        state[f"d_row_owner[0][{row}]"] = holders.get(row)
        state[f"d_row_content[0][{row}]"] = _label(pair, int(rooms[row][0]))
    return state


def _label(pair: Pair, room: int) -> str | None:
    return pair.of_room(room).label if room else None
