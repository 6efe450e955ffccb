"""A trace in a notebook: the page in a frame that can run its own script and reach nothing."""

from __future__ import annotations

from markupsafe import escape

from kvproto.page.shell import page
from kvproto.report import report
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace

HEIGHT = 900
"""Of the frame, in pixels: a notebook does not know how high a page is."""


def framed(trace: Trace) -> str:
    """The frame as HTML.  No commands are offered: the trace may be in no file."""
    told = report(trace, verbs=(), sources=True)
    title = f"{printable(trace.property)}: {printable(trace.verdict)}"
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts" width="100%" height="{HEIGHT}" frameborder="0"'
        f' srcdoc="{escape(page([told]))}"></iframe>'
    )
