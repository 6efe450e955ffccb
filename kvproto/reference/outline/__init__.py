"""The cluster in outline: one rank a side, the transfer of a request as one event for each page."""

from kvproto.reference.outline.cluster import Cluster
from kvproto.reference.outline.mitigations import Sizes, Switches
from kvproto.reference.outline.router import Answer

__all__ = ["Answer", "Cluster", "Sizes", "Switches"]
