"""Where requests, chunks and messages are, in the model's words."""

from __future__ import annotations

from typing import Any

from kvproto.engines.inside.pair import Pair, Request, uncounted

ROOMS = {
    "Bootstrapping": "BOOTSTRAPPING",
    "WaitingForInput": "WAITING",
    "Transferring": "TRANSFERRING",
    "Success": "SUCCESS",
    "Failed": "FAILED",
}
MESSAGES = {"lose_up": ("METADATA", "ABORT"), "lose_down": ("SUCCESS", "FAILED", "ACK")}
WORKER = {"status": "DEQUEUED", "posting": "CHECKED", "calling": "CALLING", "aux": "AUX"}


def room(side: Any, number: int) -> str:
    """The room's status on a side."""
    from sglang.srt.disaggregation.base import KVPoll

    status = side.kv_manager.request_status.get(number)
    names = {getattr(KVPoll, name): word for name, word in ROOMS.items() if hasattr(KVPoll, name)}
    return "ABSENT" if status is None else names[status]


def received(pair: Pair, request: Request) -> str:
    """The room's status on decode, as its receiver reports it: once that has concluded a failure, it stays one."""
    found = room(pair.decode, request.room)
    if request.receiver is None or found == "ABSENT":
        return found
    return "FAILED" if request.timed_out or request.receiver.conclude_state == pair.failed else found


def prefill(pair: Pair, request: Request) -> str:
    """Where a request is on prefill."""
    side = pair.prefill
    if request.source is None:
        return "IDLE"
    if request.source in side.disagg_prefill_bootstrap_queue.queue:
        return "BOOTSTRAP"
    if request.source in side.waiting_queue:
        return "WAITING"
    if request.batch is not None:
        return "FORWARD"
    return "INFLIGHT" if request.source in side.disagg_prefill_inflight_queue else "OVER"


def decode(pair: Pair, request: Request) -> str:
    """Where a request is on decode."""
    side = pair.decode
    if request.target is None:
        return "IDLE"
    if any(entry.req is request.target for entry in side.disagg_decode_prealloc_queue.queue):
        return "PREALLOC"
    if any(entry.req is request.target for entry in side.disagg_decode_transfer_queue.queue):
        return "TRANSFER"
    if any(entry[0].req is request.target for entry in side.disagg_decode_transfer_queue._deferred_releases):
        return "HELD"
    if request.target in side.waiting_queue:
        return "READY"
    return "RUNNING" if request.label in pair.running else "OVER"


def working(pair: Pair, request: Request) -> str:
    """Where the transfer worker is with a request's chunk."""
    taken = pair.chunks.taken
    mine = taken is not None and taken.room == request.room
    if mine and pair.worker.dead is not None:
        return "DEAD"
    return WORKER.get(pair.worker.place, "IDLE") if mine else "IDLE"


def queued(pair: Pair, request: Request) -> int:
    """Chunks of a request that the worker has not taken."""
    return sum(chunk.room == request.room for chunk in pair.chunks.waiting)


def up(message: list[bytes]) -> tuple[str, int] | None:
    """Kind and room of a message to prefill."""
    if message[0] == b"ABORT":
        return "ABORT", int(message[1])
    return ("METADATA", int(message[0])) if message[0].isdigit() else None


def down(message: list[bytes]) -> tuple[str, int] | None:
    """Kind and room of a message to decode."""
    from sglang.srt.disaggregation.base import KVPoll

    if message[0] == b"ABORT_ACK":
        return None if uncounted(message) else ("ACK", int(message[1]))
    kinds = {int(KVPoll.Success): "SUCCESS", int(KVPoll.Failed): "FAILED"}
    first = 0 if message[0].isdigit() else 1
    return kinds[int(message[first + 1])], int(message[first])


def mail(pair: Pair, request: Request) -> tuple[list[str], list[str]]:
    """Kinds of unread messages of a room, to prefill and to decode."""
    found = []
    for side, kind, names in (
        ("prefill", up, MESSAGES["lose_up"]),
        ("decode", down, MESSAGES["lose_down"]),
    ):
        there = {entry for entry in map(kind, pair.wires.mail[side]) if entry is not None}
        found.append([name for name in names if (name, request.room) in there])
    return found[0], found[1]


def settled(pair: Pair, request: Request) -> bool:
    """Both sides are through with a request, and nothing of it is on its way."""
    return (
        (prefill(pair, request), decode(pair, request)) == ("OVER", "OVER")
        and (working(pair, request) == "DEAD" or (working(pair, request) == "IDLE" and queued(pair, request) == 0))
        and not any(write.room == request.room for write in pair.landing.writes)
        and mail(pair, request) == ([], [])
    )


def told(side: Any, request: Request) -> Any:
    """What a side told its client about the end of a request: a finish reason, or None."""
    return next((reason for label, reason in side.told if label == request.label), None)


def status(reason: Any) -> int:
    """The HTTP status that a finish reason stands for."""
    code = getattr(reason, "status_code", None)
    if code is not None:
        return int(getattr(code, "value", code))
    return 200 if type(reason).__name__ in ("FINISH_LENGTH", "FINISH_MATCHED_TOKEN", "FINISH_MATCHED_STR") else 500


def words(reason: Any) -> str:
    """The text that comes with it."""
    return str(getattr(reason, "message", None) or type(reason).__name__)
