"""What can be explored: something that does named steps, says which are possible, and can begin again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kvproto.trace.trace import State, Value


@dataclass(frozen=True, slots=True)
class Happening:
    """A step by name.  Arguments are pairs, so that steps can be compared and collected."""

    action: str
    args: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        values = [str(value).lower() if isinstance(value, bool) else str(value) for _, value in self.args]
        return f"{self.action}({', '.join(values)})"


Path = tuple[Happening, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What can be observed: variables by the model's names, and claims that are broken by now."""

    state: State
    broken: frozenset[str]


@dataclass(frozen=True, slots=True)
class Did:
    """What became of a step: `refused` says why nothing was done, `raised` what the code raised instead."""

    look: Look
    refused: str = ""
    raised: str = ""


class Target(Protocol):
    """An implementation that is driven step by step.

    The same steps from the beginning lead to the same place.  `driven` are the actions that it has at all; `grouped`
    are steps of the model that it does in one go with another; `left_out` are parameters that it has no use for.
    """

    name: str
    driven: frozenset[str]
    grouped: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]

    def begin(self, steps: Sequence[Happening] = ()) -> Did:
        """Begin again and take these steps, up to the first that is refused."""

    def possible(self) -> list[Happening]:
        """Every step that is possible now."""

    def perform(self, step: Happening) -> Did:
        """Take a step; one that is refused changes nothing."""
