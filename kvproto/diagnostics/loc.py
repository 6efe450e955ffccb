"""Places in source text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loc:
    """A stretch of one source line.

    `file` is the name shown to people (relative, the same on every machine); `line` counts from 1, `col` and
    `end_col` are 0-based character offsets, `end_col` exclusive.
    """

    file: str
    line: int
    col: int = 0
    end_col: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"
