"""One prefill node, one decode node, a router and a transport, wired together."""

from __future__ import annotations

from typing import Any

from kvproto import transports
from kvproto.reference.array import namespace
from kvproto.reference.outline.decode import Decode
from kvproto.reference.outline.mitigations import Sizes, Switches
from kvproto.reference.outline.prefill import Prefill
from kvproto.reference.outline.protocol import Links
from kvproto.reference.outline.router import Router
from kvproto.reference.outline.transport import Transport
from kvproto.reference.pages import Pool


class Cluster:
    """The whole system.  Its events are methods of its parts; after each of them comes `collect`."""

    def __init__(
        self,
        sizes: Sizes,
        switches: Switches | None = None,
        *,
        xp: Any = "numpy",
        mover: transports.Transport | None = None,
    ) -> None:
        switches = Switches() if switches is None else switches
        arrays = namespace(xp)
        self.sizes = sizes
        self.switches = switches
        longest = sizes.prefill_pages if switches.larger_pool else sizes.prefill_pool
        prefill_pool = Pool("prefill", min(longest, sizes.prefill_pages), arrays)
        decode_pool = Pool("decode", sizes.decode_pages, arrays, zero_on_release=switches.zero_on_release)
        links = Links()
        self.router = links.router = Router(links, sizes, switches)
        self.prefill = links.prefill = Prefill(links, prefill_pool, longest, switches)
        self.decode = links.decode = Decode(links, decode_pool, switches)
        self.transport = links.transport = Transport(prefill_pool, decode_pool, mover)

    @property
    def rooms(self) -> range:
        """The rooms of all clients, whether they have sent their request or not."""
        return range(1, self.sizes.requests + 1)

    def collect(self) -> None:
        """Drop what is known of rooms that both sides are through with and for which nothing is in flight."""
        for room in self.router.calls:
            through = self.prefill.concluded(room) and self.decode.concluded(room)
            if through and not self.transport.in_flight(room):
                self.prefill.forget(room)
                self.decode.forget(room)
