"""Which traces can be driven on an engine, and how the model's steps are grouped into the engine's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from kvproto.diagnostics import KvError
from kvproto.engines.protocol import Sizes
from kvproto.trace.trace import Step, Trace

MOST_REQUESTS = 8
MOST_PAGES = 64

UNDRIVEN = {
    "forward_chunk": "chunked prefill is off in the harness",
    "launch_chunk": "chunks are sent early only under the overlap scheduler, which is off in the harness",
    "compute_chunk": "chunks are sent early only under the overlap scheduler, which is off in the harness",
    "resubmit": "the transfer engine is scripted, and does not post a batch again by itself",
    "probe_session": "the probe belongs to the transfer engine, which is scripted",
    "prefill_dies": "both sides run in one process",
    "heartbeat_failure": "both sides run in one process",
    "retract": "retraction needs a running decode batch",
}
"""Actions that cannot be driven, and why."""

GROUPED = ("receive_abort", "register_target", "try_acknowledge")
"""The bootstrap thread handles an abort in one go where releases are deferred; the model has these three steps."""

OUTSIDE = {
    "checksum": "checksums are off by default",
    "gateway": "there is no router in the harness",
    "patient_balancer": "there is no router in the harness",
    "decode_tree": "the prefix tree of decode is off by default",
    "larger_pool": "the trace has another pool than it says",
    "token_count_check": "a proposal that is in no release",
    "source_hold": "a proposal that is in no release",
    "batch_recheck": "a proposal that is in no release",
    "no_release_timeout": "a proposal that is in no release",
    "prefill_notifies": "a proposal that is in no release",
    "carried_tags": "a proposal that is in no release",
    "page_tags": "a proposal that is in no release",
    "zero_on_release": "a proposal that is in no release",
}
"""Switches that no release has on as it is installed."""


def sizes(trace: Trace) -> Sizes:
    """The sizes of an engine for a trace; raises KV057 for a trace that cannot be driven."""
    if trace.model != "sglang":
        _refuse(f"it is one of {ascii(trace.model)[:60]}", "an engine is driven by traces of the model sglang")
    found = trace.parameters
    for rank in ("PRank", "DRank"):
        if found.get(rank) != 1:
            _refuse(f"it has {found.get(rank)} ranks in {rank}", "there is one rank on either side of the harness")
    for name, why in OUTSIDE.items():
        if found.get(name) is True:
            _refuse(f"it has {name} on", why)
    for number, step in enumerate(trace.steps, 1):
        if step.action in UNDRIVEN:
            _refuse(f"step {number} is {step.action}", UNDRIVEN[step.action])
    if found.get("two_chunks") is True:
        _refuse("it has two_chunks on", "chunked prefill is off in the harness")
    pool = _number(found, "PPage")
    return Sizes(
        requests=_number(found, "Req", MOST_REQUESTS),
        context=_number(found, "Pos"),
        short=_number(found, "short_prompt"),
        prefill_pages=pool,
        limit=min(_number(found, "prefill_pool", 1 << 20), pool),
        decode_pages=_number(found, "DPage"),
        prefill_rows=_number(found, "PRow"),
        decode_rows=_number(found, "DRow"),
        truncates=found.get("unequal_lengths") is True,
        bounded=found.get("bounded_batch") is True,
        loses_rows=found.get("aux_loss") is True,
        loses_messages=found.get("message_loss") is True,
        crashes=found.get("worker_crash") is True,
    )


def arguments(step: Step) -> dict[str, object]:
    """The arguments of a step without ranks."""
    return {name: value for name, value in step.args.items() if name not in ("p", "d")}


def _number(found: Mapping[str, object], name: str, most: int = MOST_PAGES) -> int:
    value = found.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        _refuse(f"{name} is {ascii(value)[:40]}", f"the harness takes 1 to {most}")
    return value


def _refuse(what: str, why: str) -> NoReturn:
    raise KvError(
        "KV057",
        f"the trace cannot be driven on an engine: {what}",
        reason=why,
        cure="replay it on the reference implementation, which has all of the model: kvproto replay TRACE",
    )
