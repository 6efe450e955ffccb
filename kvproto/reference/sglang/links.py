"""Who talks to whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvproto.reference.sglang.messages import Network
from kvproto.reference.sglang.settings import Faults, Sizes, Switches

if TYPE_CHECKING:
    from kvproto.reference.sglang.decode import Decode
    from kvproto.reference.sglang.prefill import Prefill
    from kvproto.reference.sglang.router import Router
    from kvproto.reference.sglang.transport import Engine


@dataclass(init=False)
class Links:
    """What every part can reach.  The cluster fills in the parts; stands for sockets and registered memory."""

    sizes: Sizes
    switches: Switches
    faults: Faults
    network: Network
    router: Router
    prefill: Prefill
    decode: Decode
    engine: Engine

    def __init__(self, sizes: Sizes, switches: Switches) -> None:
        self.sizes = sizes
        self.switches = switches
        self.faults = Faults(sizes.faults)
        self.network = Network(sizes.prefill_ranks, sizes.decode_ranks)
