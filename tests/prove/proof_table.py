"""What docs/proofs.md says of the shipped proofs, made from their presets: `python tests/prove/proof_table.py`."""

from __future__ import annotations

import re
from pathlib import Path

from kvproto.lang.load import find, proofs
from kvproto.lang.model import Model, Preset
from kvproto.lang.properties import ClaimMark

PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"
BEGIN, END = "<!-- table of presets: tests/prove/proof_table.py -->", "<!-- end of the table -->"


def claims_of(model: Model) -> list[str]:
    """Invariants: what a proof is about."""
    return [fn.__name__ for fn, mark in model.marked(ClaimMark) if mark.kind == "invariant"]


def table() -> str:
    """A section a model, a row a preset."""
    return "\n\n".join(_section(name) for name in proofs())


def _section(name: str) -> str:
    model = find(name).model
    rows = [_row(name, model, preset) for preset in model.presets]
    doc = model.doc[:1].upper() + model.doc[1:]
    return "\n".join(
        [f"**`{name}`.** {doc}.", "", "| preset | what it is | proved | refuted |", "|---|---|---|---|", *rows]
    )


def _row(name: str, model: Model, preset: Preset) -> str:
    broken = preset.expect or {}
    proved = ", ".join(f"`{claim}`" for claim in claims_of(model) if claim not in broken)
    refuted = ", ".join(f"`{claim}` {steps}" for claim, steps in broken.items())
    return f"| `{preset.name}` | {preset.doc} | {proved} | {refuted} |"


def written(text: str) -> str:
    """The page with the table as it is today."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n{table()}\n{END}", text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
