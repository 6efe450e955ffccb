"""Pictures of a trace as text: functions from a trace to a string, which the command line prints."""

from kvproto.trace.printable import printable
from kvproto.view.lanes import render_lanes
from kvproto.view.pagemap import render_page_changes, render_page_map
from kvproto.view.steps import render_steps
from kvproto.view.terminal import render_trace

__all__ = [
    "printable",
    "render_lanes",
    "render_page_changes",
    "render_page_map",
    "render_steps",
    "render_trace",
]
