"""What an exploration has found, each thing once and with the shortest path to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kvproto.exploring.target import Happening, Path

AT_REST = "pages_free_at_rest"
"""A claim of the exploration's own: where nothing can happen any more, no request owns a page."""

DEFAULT = (
    "reads_own_writes",
    "reads_no_foreign_data",
    "writes_spare_other_requests",
    "pages_conserved",
    AT_REST,
)
"""Claims that are asked for unless others are named."""

Way = Literal["bounded", "sampled"]


@dataclass(frozen=True, slots=True)
class Violation:
    """A claim that the code breaks at the end of a path; `expected` says that the model breaks it there as well."""

    claim: str
    path: Path
    way: Way
    expected: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that the code does and the model does not.

    `kind` is "step" if the model refuses the last step of the path, "state" if they differ after it, and "raised" if
    the code raised there; `about` tells gaps of one kind apart, `detail` says what it is.
    """

    kind: Literal["step", "state", "raised"]
    about: str
    detail: str
    path: Path
    way: Way


@dataclass(slots=True)
class Surplus:
    """Steps of one action that the model allows and the code refuses: how often, and the first of them."""

    step: Happening
    path: Path
    reason: str
    times: int = 1


@dataclass(slots=True)
class Findings:
    """All that was found."""

    violations: dict[str, Violation] = field(default_factory=dict)
    gaps: dict[tuple[str, str], Gap] = field(default_factory=dict)
    surplus: dict[str, Surplus] = field(default_factory=dict)

    def violation(self, found: Violation) -> None:
        """Keep it, unless a path as short is known."""
        known = self.violations.get(found.claim)
        if known is None or len(found.path) < len(known.path):
            self.violations[found.claim] = found

    def gap(self, found: Gap) -> None:
        """Keep it, unless a path as short is known."""
        key = (found.kind, found.about)
        if key not in self.gaps or len(found.path) < len(self.gaps[key].path):
            self.gaps[key] = found

    @property
    def wrong(self) -> bool:
        """Whether the code breaks a claim, or goes beyond the model."""
        return bool(self.violations or self.gaps)
