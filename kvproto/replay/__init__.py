"""Replaying a trace of a model on the reference implementation, and comparing the two after every step."""

from kvproto.replay.driver import replay
from kvproto.replay.report import report_lines
from kvproto.replay.result import Blocked, CanaryFound, ClientView, Divergence, PageTexts, ReplayResult

__all__ = [
    "Blocked",
    "CanaryFound",
    "ClientView",
    "Divergence",
    "PageTexts",
    "ReplayResult",
    "replay",
    "report_lines",
]
