"""The protocol in outline: 17 actions that show both classes of leaks, as `kvproto replay` performs them."""

from __future__ import annotations

from kvproto.lang import Flights, Model, Pool, Preset, Scope

from ...properties.outline import client, conservation, isolation, ownership
from . import decode, network, prefill, router
from .state import Client, Config, DPage, PPage, Req, State, decode_over, prefill_over


def quiet(s):
    """Every client has its answer or is gone, both sides are through, nothing is in flight."""
    return all(
        s.req[r].client not in (Client.IDLE, Client.WAITING)
        and prefill_over(s.req[r])
        and decode_over(s.req[r])
        and not s.req[r].flying
        for r in Req
    )


PRESETS = [
    Preset("0.5.19", "the release of the incident: rejects by placeholder, frees pages at once"),
    Preset(
        "0.5.20",
        "rejected requests are retired before anything is sent; a failed room stays failed",
        base="0.5.19",
        retire_after_forward=True,
        failed_is_terminal=True,
    ),
    Preset(
        "0.5.21",
        "rejects at the door; release deferred until drained or for 30 s",
        base="0.5.20",
        reject_at_admission=True,
        deferred_release=True,
    ),
    Preset(
        "incident",
        "0.5.19 in the incident's proportions: 8 pages reserved, 1 written; nobody aborts, nothing fails",
        base="0.5.19",
        scope="incident",
        client_disconnects=False,
        transfer_failures=False,
    ),
    Preset(
        "patched",
        "0.5.19 with the operator's measures, except the larger pool",
        base="0.5.19",
        reject_at_admission=True,
        token_count_check=True,
        failed_is_terminal=True,
        deferred_release=True,
        bounded_batch=True,
        prompt_abort=True,
        deferred_source_release=True,
        patient_balancer=True,
    ),
]

SCOPES = [
    Scope(
        "small",
        "2 requests, prompts of 2 or 5 pages, prefill pool of 4, decode pool of 5",
        Req=2,
        Slot=5,
        PPage=5,
        DPage=5,
        short_prompt=2,
        prefill_pool=4,
    ),
    Scope(
        "medium",
        "3 requests, prompts of 1 or 3 pages, prefill pool of 2, decode pool of 3",
        Req=3,
        Slot=3,
        PPage=3,
        DPage=3,
        prefill_pool=2,
    ),
    Scope(
        "incident",
        "2 requests, prompts of 3 or 8 pages, prefill pool of 5",
        Req=2,
        Slot=8,
        PPage=8,
        DPage=8,
        short_prompt=3,
        prefill_pool=5,
    ),
]

model = Model(
    "outline",
    "KV-cache transfer between prefill and decode in outline, as replayed on tensors",
    state=State,
    parts=[router, prefill, network, decode],
    properties=[isolation, ownership, client, conservation],
    params=Config,
    presets=PRESETS,
    scopes=SCOPES,
    terminal=quiet,
    pools=[
        Pool("prefill", PPage, owner="p_owner", content="p_content"),
        Pool("decode", DPage, owner="d_owner", content="d_content"),
    ],
    flights=[Flights("req.flying", target="req.target", source="req.source")],
)
