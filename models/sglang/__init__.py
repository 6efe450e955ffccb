"""SGLang + Mooncake, the KV-cache transfer of disaggregated prefill and decode: `kvproto check sglang@VERSION`."""

from __future__ import annotations

from kvproto.lang import Flights, Model, Pool, Preset, Scope

from . import decode, network, prefill, router, worker
from ...properties.sglang import progress, safety
from .config import Config
from .rooms import settled
from .state import Client, DPage, PPage, Req, State


def quiet(s):
    """Every client has its answer or is gone, both sides are through, nothing is on its way."""
    return all(s.req[r].client not in (Client.IDLE, Client.WAITING) and settled(s, r) for r in Req)


PRESETS = [
    Preset("0.5.19", "the release of the incident: rejects by placeholder, frees pages at once"),
    Preset(
        "0.5.20",
        "aborted and rejected requests are retired before anything is sent; a failed room stays failed",
        base="0.5.19",
        retire_after_forward=True,
        failed_is_terminal=True,
        conclude_rechecks=True,
        failure_to_all=True,
    ),
    Preset(
        "0.5.21",
        "rejects at the door; every failed transfer is held until drained or for 30 s",
        base="0.5.20",
        reject_at_admission=True,
        deferred_release=True,
        defer_all_failures=True,
        keep_ack_target=True,
        abort_waiting_sender=True,
    ),
    Preset(
        "0.5.22",
        "generations, poisoned rooms, the worker waits for the forward pass",
        base="0.5.21",
        generations=True,
        poison=True,
        early_send_wait=True,
    ),
    Preset(
        "0.5.23",
        "decode ranks hold and release together; failed sessions are probed",
        base="0.5.22",
        rank_agreement=True,
        probe=True,
    ),
    Preset(
        "incident",
        "0.5.19 in the incident's proportions: 8 pages reserved, 1 written; nobody aborts, nothing fails",
        base="0.5.19",
        scope="incident",
        client_disconnects=False,
        transfer_failures=False,
        timeouts=False,
    ),
    Preset(
        "incident-patched",
        "0.5.19 with the operator's first patch: reject at admission, and compare the counts",
        base="0.5.19",
        reject_at_admission=True,
        token_count_check=True,
    ),
    Preset(
        "patched",
        "0.5.19 with all the operator's measures, except the larger pool",
        base="incident-patched",
        failed_is_terminal=True,
        conclude_rechecks=True,
        deferred_release=True,
        defer_all_failures=True,
        keep_ack_target=True,
        poison=True,
        bounded_batch=True,
        batch_recheck=True,
        prompt_abort=True,
        source_hold=True,
        patient_balancer=True,
        gateway=True,
    ),
    Preset(
        "hardened",
        "0.5.23 with every optional protection on, behind a router that stops both legs",
        base="0.5.23",
        checksum=True,
        bounded_batch=True,
        gateway=True,
    ),
    Preset(
        "tagged",
        "0.5.23 with tags that come with each page and are checked at every read",
        base="0.5.23",
        carried_tags=True,
    ),
]

SCOPES = [
    Scope(
        "small",
        "2 requests of 1 page, or 2 where prefill has room for 1; at most one fault; patient time-outs",
        Req=2, Pos=2, PRank=1, DRank=1, PPage=2, DPage=2, PRow=2, DRow=2, faults=1,
    ),
    Scope(
        "medium",
        "2 requests of 2 pages in 2 chunks, or 3 pages where prefill has room for 2; hasty time-outs",
        Req=2, Pos=3, PRank=1, DRank=1, PPage=3, DPage=3, PRow=2, DRow=2,
        short_prompt=2, prefill_pool=2, two_chunks=True, hasty_timeouts=True,
    ),
    Scope(
        "large",
        "3 requests of 1 page, or 2 where prefill has room for 1; hasty time-outs",
        Req=3, Pos=2, PRank=1, DRank=1, PPage=2, DPage=2, PRow=2, DRow=2, hasty_timeouts=True,
    ),
    Scope(
        "chunks",
        "2 requests of 2 pages in 2 chunks; at most one fault; patient time-outs",
        Req=2, Pos=2, PRank=1, DRank=1, PPage=2, DPage=2, PRow=2, DRow=2,
        prefill_pool=2, two_chunks=True, faults=1,
    ),
    Scope(
        "fan-out",
        "1 request of 1 page, 1 prefill rank that serves 2 decode ranks; hasty time-outs",
        Req=1, Pos=1, PRank=1, DRank=2, PPage=1, DPage=1, PRow=1, DRow=1, hasty_timeouts=True,
    ),
    Scope(
        "fan-in",
        "1 request of 1 page, 2 prefill ranks that serve 1 decode rank; hasty time-outs",
        Req=1, Pos=1, PRank=2, DRank=1, PPage=1, DPage=1, PRow=1, DRow=1, hasty_timeouts=True,
    ),
    Scope(
        "incident",
        "2 requests of 3 pages, or 8 where prefill has room for 5",
        Req=2, Pos=8, PRank=1, DRank=1, PPage=8, DPage=8, PRow=2, DRow=2, short_prompt=3, prefill_pool=5,
    ),
]

model = Model(
    "sglang",
    "SGLang + Mooncake: KV-cache transfer between prefill and decode",
    state=State,
    parts=[router, prefill, worker, network, decode],
    properties=[safety, progress],
    params=Config,
    presets=PRESETS,
    scopes=SCOPES,
    terminal=quiet,
    pools=[
        Pool("prefill", PPage, owner="p_owner", content="p_content"),
        Pool("decode", DPage, owner="d_owner[d]", content="d_content[d][p]"),
    ],
    flights=[
        Flights(
            ("sender[p][r].flying[d]", "sender[p][r].orphans[d]"),
            target="receiver[d][r].target[k]",
            source="req[r].source[k]",
            into="decode",
            out_of="prefill",
        ),
    ],
)
