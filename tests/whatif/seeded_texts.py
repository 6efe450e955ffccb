"""The explanations of the seeded bugs, for golden files: one file a model.  Run as a program, it writes them again."""

from __future__ import annotations

from pathlib import Path

from whatif_samples import WRONG, found_by

from kvproto.whatif.analyse import analysed, explained

GOLDEN = Path(__file__).parent.parent / "explain" / "golden"


def names_of(model: str) -> list[str]:
    """The seeded bugs of a model."""
    return [name for name, wrong in WRONG.items() if wrong.target.partition("@")[0] == model]


MODELS = list(dict.fromkeys(wrong.target.partition("@")[0] for wrong in WRONG.values()))


def golden(model: str) -> Path:
    """Where the texts of a model are kept."""
    return GOLDEN / f"seeded_{model.rpartition('.')[2]}.txt"


def text_of(model: str) -> str:
    """Every explanation of a model's seeded bugs."""
    blocks = []
    for name in names_of(model):
        run = found_by(name)
        told = explained(run, analysed(run).analysis)
        blocks.append("\n".join([f"{WRONG[name].target}  {told.property}  {len(told.steps)} steps", *told.why]))
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    for one in MODELS:
        golden(one).write_text(text_of(one), "utf-8")
