"""Why a guard may be left out of a model and no claim breaks: `needless.toml` beside the models, also beside one's own.

    [kinds]
    "at any time" = "The step may happen whenever it likes."

    ["my_model.py"]
    "finish: s.phase[r] == Phase.RUNS" = ["at any time", "what this means for this guard"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvproto import shipped
from kvproto.diagnostics import KvError

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


def needless(models: Iterable[str] = ()) -> Needless:
    """What the file beside the shipped models says, and those beside models that are files.  Raises KV047."""
    kinds: dict[str, str] = {}
    reasons: dict[str, dict[str, Reason]] = {}
    folders = dict.fromkeys(Path(model).parent for model in models if model.endswith(".py"))
    for file in (FILE, *(folder / FILE.name for folder in folders)):
        if file.is_file():
            told = _read(file)
            kinds |= told.kinds
            # A model is named as from its folder, and asked for as from here.
            reasons |= {str(file.parent / name) if file != FILE else name: dict(s) for name, s in told.reasons.items()}
    return Needless(kinds, reasons)


def _read(file: Path) -> Needless:
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        kinds = {str(kind): str(meaning) for kind, meaning in told.pop("kinds", {}).items()}
        reasons = {m: {guard: Reason(*map(str, pair)) for guard, pair in s.items()} for m, s in told.items()}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError, TypeError) as problem:
        raise KvError(
            "KV047",
            f"{file} cannot be read: {problem}",
            reason="it says for models and guards why no claim needs them",
            cure='write  ["my_model.py"]  and below it  "action: part of a guard" = ["kind", "why"]',
        ) from None
    return Needless(kinds, reasons)
