"""The reference implementation: disaggregated serving in small, with real KV tensors in real paged pools.

It is written from the description of the protocol and knows nothing of the model, the language or the engines of
kvproto.  Prefill computes the KV of a prompt into pages of its pool, a scripted one-sided transport copies pages into
decode's pool, decode attends over the pages it reserved and writes out what it read.  Nothing in here remembers whose
bytes a page holds; whoever wants to know must read the tensors.
"""

from kvproto.reference.cluster import Cluster
from kvproto.reference.mitigations import Sizes, Switches
from kvproto.reference.protocol import Refused
from kvproto.reference.router import Answer

__all__ = ["Answer", "Cluster", "Refused", "Sizes", "Switches"]
