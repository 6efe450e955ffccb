"""A trace as a log for ShiViz: two lines an event, the host with its vector clock and the event's text.

ShiViz asks for a regular expression that takes the log apart; by custom it is the first line of the file, and the
second one is empty (it would divide several runs).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from kvproto.formats.happens import clocks
from kvproto.report.report import Report
from kvproto.trace.printable import printable

PARSER = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"
"""The regular expression at the head of the file."""


def shiviz(report: Report) -> str:
    """The text of the log, steps in their order."""
    hosts = _hosts(step.lane for step in report.trace.steps)
    lines = [PARSER, ""]
    for row, clock in zip(report.rows, clocks(report), strict=True):
        named = {hosts[lane]: count for lane, count in sorted(clock.items(), key=lambda item: hosts[item[0]])}
        marks = "".join(f" [{printable(note.text)}]" for note in row.notes)
        lines += [
            f"{hosts[row.lane]} {json.dumps(named, ensure_ascii=False)}",
            f"{row.number} {printable(row.full)}{marks}",
        ]
    return "\n".join(lines) + "\n"


def _hosts(lanes: Iterable[str]) -> dict[str, str]:
    """Lanes as words without spaces, each its own."""
    found: dict[str, str] = {}
    for lane in dict.fromkeys(lanes):
        word = "".join("_" if char.isspace() else char for char in printable(lane)) or "_"
        while word in found.values():
            word += "_"
        found[lane] = word
    return found
