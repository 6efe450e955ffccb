"""Explanations of a trace: backward slice, what happened to pages and writes, sentences made from both."""

from kvproto.explain.edges import domain_edges
from kvproto.explain.events import Domain, Flight, Kind, Page, PageEvent, PageRead
from kvproto.explain.slice import START, Edge, Slice, backward_slice
from kvproto.explain.why import why

__all__ = [
    "START",
    "Domain",
    "Edge",
    "Flight",
    "Kind",
    "Page",
    "PageEvent",
    "PageRead",
    "Slice",
    "backward_slice",
    "domain_edges",
    "why",
]
