"""What a model says of public bug reports: which report it is of, and what is to be found in it.

A report belongs to one of twelve mechanisms; they are what reports of different engines have in common.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Mechanism(Enum):
    """In which of twelve ways it went wrong."""

    TARGET_FREED = "a write lands on a page that was freed under it"
    SOURCE_FREED = "a source page is freed or reused while it is read"
    ORDER = "a transfer is not ordered with compute, or complete before it is visible"
    IDENTITY = "a slot, room or id is reused, shared or mismatched"
    PUBLISHED_EARLY = "a prefix cache publishes unwritten or stale pages"
    MISALIGNED = "the wrong page range or pairing, or a component that is never sent"
    LEAK = "pages or slots are lost on abort or failure"
    DOUBLE_OWNER = "freed, owned or completed twice"
    RANKS = "ranks or pipeline stages disagree"
    HANG = "a deadlock, a lost notice, or a wait on the wrong clock"
    RESTART = "what is remembered of a peer that has restarted"
    STATUS = "a failure turned into success, or a request repeated"


@dataclass(frozen=True, slots=True)
class Report:
    """A public report: `where` is `owner/repository#number`.

    `established` is false where the report shows a symptom whose cause nobody has proved; the model is then of a
    candidate.
    """

    where: str
    engine: str
    mechanism: Mechanism
    established: bool = True

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.-]+/[\w.-]+#[0-9]+", self.where):
            raise TypeError(f"a report is owner/repository#number, not {self.where!r}")

    @property
    def url(self) -> str:
        """Where it can be read."""
        place, _, number = self.where.partition("#")
        return f"https://github.com/{place}/issues/{number}"
