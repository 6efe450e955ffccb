"""The router: sends both legs, and turns a client's disconnect into aborts."""

from __future__ import annotations

from kvproto.lang import Bool, action, require

from .state import Client, Decode, Req, Slot, abort_decode, abort_prefill, cfg, router


@action(router, cites="note: mini_lb sends the same body to both sides")
def submit(s, r: Req, long: Bool):
    """A client sends request {r}; the router gives it to prefill and to decode."""
    require(s.req[r].client == Client.IDLE)
    s.req[r].need = len(Slot) if long else cfg.short_prompt
    s.req[r].client = Client.WAITING


@action(router, cites="srt/managers/scheduler.py:abort_request")
def disconnect(s, r: Req):
    """The client of request {r} goes away; the router aborts both legs."""
    q = s.req[r]
    require(cfg.client_disconnects and q.client == Client.WAITING)
    q.client = Client.GONE
    if not (cfg.patient_balancer and q.decode in (Decode.TRANSFER, Decode.READY)):
        abort_prefill(q)
        abort_decode(q)
