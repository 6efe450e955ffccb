"""What moves pages: one interface, and the ways there are.

`base` is the interface.  `scripted` is the default: nothing moves unless it is told to, and whatever real engines do
can be told.  The others do the same on real machinery, for which they need more than NumPy.
"""

from kvproto.transports.base import Move, PageMemory, Told, Transport, UnknownWrite, verdict
from kvproto.transports.scripted import Scripted

__all__ = ["Move", "PageMemory", "Scripted", "Told", "Transport", "UnknownWrite", "verdict"]
