"""What a model of the corpus is expected to give: published figures, stated in the header of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """The published result for one setting of a model: its name in the file, preset, scope and further settings.

    `states` are distinct states inside the constraint; `depth` are levels of the breadth-first search, where initial
    states are level 1, and None where nobody says.  `verdicts` names every property with its verdict; `steps` the
    length of shortest counterexamples and witnesses.  `generated` is what the source prints, and only for reading: it
    counts initial states and successors, and one successor several times where a guard is a disjunction;
    `transitions` are the successors here.  `orbits` are the states that remain when all symmetric states are one.
    """

    states: int
    depth: int | None
    verdicts: Mapping[str, str]
    steps: Mapping[str, int] = field(default_factory=dict)
    generated: int | None = None
    transitions: int | None = None
    orbits: int | None = None
    model: str = "model"
    preset: str | None = None
    scope: str | None = None
    sets: Mapping[str, int] = field(default_factory=dict)
    slow: bool = False

    def __str__(self) -> str:
        """The setting as a part of a test's name."""
        named = [self.model if self.model != "model" else "", self.preset or "", self.scope or ""]
        return "-".join(filter(None, [*named, *(f"{name}={value}" for name, value in self.sets.items())]))
