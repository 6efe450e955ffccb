"""The cluster of SGLang + Mooncake in small: schedulers, rooms, transfer workers, messages, metadata rows, ranks."""

from kvproto.reference.sglang.cluster import Cluster
from kvproto.reference.sglang.router import Answer
from kvproto.reference.sglang.settings import Sizes, Switches

__all__ = ["Answer", "Cluster", "Sizes", "Switches"]
