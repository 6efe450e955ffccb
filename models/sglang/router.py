"""The router: sends both legs, and turns a client's disconnect into aborts."""

from __future__ import annotations

from kvproto.lang import Bool, action, require

from .config import cfg
from .rooms import fault
from .state import Client, Decode, Pos, Req, router


@action(router, cites="note:mini_lb and model gateway send the same body to both sides", fair="weak")
def submit(s, r: Req, long: Bool):
    """A client sends request {r}; the router gives it to prefill and to decode, with a bootstrap room."""
    q = s.req[r]
    require(q.client == Client.IDLE)
    q.need = len(Pos) if long else cfg.short_prompt
    q.client = Client.WAITING


@action(router, cites="srt/managers/scheduler.py:Scheduler.abort_request")
def disconnect(s, r: Req):
    """The client of request {r} goes away; the router aborts both legs."""
    q = s.req[r]
    require(cfg.client_disconnects and q.client == Client.WAITING)
    fault(s)
    q.client = Client.GONE
    if not (cfg.patient_balancer and q.decode in (Decode.TRANSFER, Decode.READY)):
        q.cancel_prefill = True
        q.cancel_decode = True
