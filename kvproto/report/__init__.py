"""A trace with everything that viewers draw: one computation, many pictures."""

from kvproto.report.build import report
from kvproto.report.report import (
    Cell,
    Change,
    Excerpt,
    Link,
    Message,
    Note,
    Pool,
    Replayed,
    Report,
    Row,
    Seen,
    Sentence,
    Span,
)

__all__ = [
    "Cell",
    "Change",
    "Excerpt",
    "Link",
    "Message",
    "Note",
    "Pool",
    "Replayed",
    "Report",
    "Row",
    "Seen",
    "Sentence",
    "Span",
    "report",
]
