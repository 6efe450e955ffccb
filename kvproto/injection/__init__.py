"""Fault injection: a trace as a script for an engine's own test bench.

A trace is one order of events.  An engine that runs by itself takes another, unless events are held back and let go;
which ones, and when, follows from the model: in every state of the trace the events that could happen and do not.
"""

from kvproto.injection.schedule import Event, Order, Schedule, schedule
from kvproto.injection.script import script

__all__ = ["Event", "Order", "Schedule", "schedule", "script"]
