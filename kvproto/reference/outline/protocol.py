"""What the parts of a cluster share: status, and the links between them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvproto.reference.outline.decode import Decode
    from kvproto.reference.outline.prefill import Prefill
    from kvproto.reference.outline.router import Router
    from kvproto.reference.outline.transport import Transport


class Status(Enum):
    """What prefill tells decode about a room when it is through with it."""

    SUCCESS = "success"
    FAILED = "failed"


class Links:
    """Who talks to whom.  Filled once by the cluster; stands for sockets and registered memory."""

    router: Router
    prefill: Prefill
    decode: Decode
    transport: Transport
