"""The network: one-sided page writes, landing one by one, in any order, whatever became of their request."""

from __future__ import annotations

from kvproto.lang import action, require

from .state import Req, Slot, forget, network


@action(network, cites="mooncake:mooncake-integration/transfer_engine/transfer_engine_py.cpp:batchTransferSync")
def land(s, r: Req, k: Slot):
    """The write of page {k} of request {r} lands: it reads the source page now and replaces the target page."""
    q = s.req[r]
    require(k in q.flying)
    s.d_content[q.target[k]] = s.p_content[q.source[k]]
    if s.d_owner[q.target[k]] != r:
        s.stray = True
        if s.d_owner[q.target[k]] is not None:
            s.overwrote = True
    q.flying.discard(k)
    forget(q)
