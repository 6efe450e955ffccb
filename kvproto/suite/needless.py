"""Why a guard may be left out of a pattern and no claim breaks: `models/patterns/needless.toml`, beside the models."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from kvproto import shipped

FILE = shipped.ROOT / "models" / "patterns" / "needless.toml"


@dataclass(frozen=True, slots=True)
class Reason:
    """A kind, which many have in common, and what it means for this guard."""

    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Needless:
    """`kinds` say what they mean; `reasons` are by model, and by guard (`finish: s.phase[r] == Phase.RUNS`)."""

    kinds: Mapping[str, str]
    reasons: Mapping[str, Mapping[str, Reason]]

    def reason(self, model: str, guard: str) -> Reason | None:
        """Why nothing needs the guard, if anybody has said so."""
        return self.reasons.get(model, {}).get(guard)


def needless() -> Needless:
    """What the file says."""
    with FILE.open("rb") as file:
        told = tomllib.load(file)
    kinds = told.pop("kinds")
    return Needless(
        kinds, {model: {guard: Reason(*pair) for guard, pair in some.items()} for model, some in told.items()}
    )
