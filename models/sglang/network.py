"""The transfer engine: one-sided page writes that land in any order, whatever became of their request."""

from __future__ import annotations

from kvproto.lang import action, require

from .config import cfg
from .rooms import fault, forget, quiet_engine, release_source
from .state import Abort, Down, DRank, Pos, PRank, Prefill, Req, Room, Up, Worker, network

MULTI_TRANSPORT = "mooncake:mooncake-transfer-engine/src/multi_transport.cpp:getBatchTransferStatus"


def write(s, p, d, r, k):
    """A page write takes effect: it reads the source page now and replaces the target page."""
    q = s.req[r]
    target = s.receiver[d][r].target[k]
    s.d_content[d][p][target] = s.p_content[q.source[k]]
    if s.p_content[q.source[k]] != r:
        s.wrong_source = True
    if s.d_owner[d][target] != r:
        s.stray = True
        if s.d_owner[d][target] is not None:
            s.overwrote = True


@action(network, cites=MULTI_TRANSPORT, fair="weak")
def land(s, p: PRank, d: DRank, r: Req, k: Pos):
    """The write of page {k} of request {r} lands on rank {d}."""
    x = s.sender[p][r]
    require(k in x.flying[d])
    write(s, p, d, r, k)
    x.flying[d].discard(k)
    if quiet_engine(x):
        x.stale = False


@action(network, cites=MULTI_TRANSPORT, fair="weak")
def land_late(s, p: PRank, d: DRank, r: Req, k: Pos):
    """The write of page {k} of request {r} lands on rank {d}, after the call that posted it has returned."""
    x = s.sender[p][r]
    require((cfg.transfer_failures or cfg.resubmission or cfg.worker_crash or cfg.node_failure) and k in x.orphans[d])
    write(s, p, d, r, k)
    x.orphans[d].discard(k)
    if quiet_engine(x):
        x.stale = False
    forget(s, r)


@action(network, cites=MULTI_TRANSPORT)
def vanish(s, p: PRank, d: DRank, r: Req, k: Pos):
    """The write of page {k} of request {r} never lands; its call has returned long since."""
    x = s.sender[p][r]
    require((cfg.transfer_failures or cfg.resubmission or cfg.worker_crash or cfg.node_failure) and k in x.orphans[d])
    x.orphans[d].discard(k)
    if quiet_engine(x):
        x.stale = False
    forget(s, r)


@action(network, cites="note:a node of the cluster stops")
def prefill_dies(s):
    """The prefill node stops; what its network card has posted may still land."""
    require(cfg.node_failure and not s.prefill_dead)
    fault(s)
    s.prefill_dead = True
    for r in Req:
        q = s.req[r]
        release_source(s, r)
        q.prefill = Prefill.OVER
        q.cancel_prefill = False
        for p in PRank:
            x = s.sender[p][r]
            x.room = Room.ABSENT
            x.infos.clear()
            x.serving.clear()
            x.queued = 0
            x.worker = Worker.DEAD
            x.abort = Abort.NONE
            x.aborter = None
            x.targets.clear()
            for d in DRank:
                x.orphans[d] |= x.flying[d]
                x.flying[d].clear()
                x.up[d].clear()
        forget(s, r)


@action(network, cites="note:ZMQ PUSH with LINGER 0 and a send time-out")
def lose_up(s, p: PRank, d: DRank, r: Req, m: Up):
    """The message {m} about request {r} never reaches rank {p} of prefill."""
    require(cfg.message_loss and m in s.sender[p][r].up[d])
    require(m == Up.METADATA or Up.METADATA not in s.sender[p][r].up[d])
    fault(s)
    s.sender[p][r].up[d].discard(m)
    forget(s, r)


@action(network, cites="note:ZMQ PUSH with LINGER 0 and a send time-out")
def lose_down(s, p: PRank, d: DRank, r: Req, m: Down):
    """The message {m} about request {r} never reaches rank {d} of decode."""
    require(cfg.message_loss and m in s.sender[p][r].down[d])
    fault(s)
    s.sender[p][r].down[d].discard(m)
    forget(s, r)
