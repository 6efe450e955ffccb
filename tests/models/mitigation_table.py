"""Verdicts of the outline under sets of mitigations, and the table of them that README shows.

`python tests/models/mitigation_table.py` prints the table.
"""

from __future__ import annotations

from itertools import combinations

from kvproto.engine.search import search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

PATCHED = (
    "reject_at_admission",
    "token_count_check",
    "failed_is_terminal",
    "deferred_release",
    "bounded_batch",
    "prompt_abort",
    "deferred_source_release",
    "patient_balancer",
)
"""The measures of preset `patched`."""

ALONE = (
    "larger_pool",
    "reject_at_admission",
    "retire_after_forward",
    "token_count_check",
    "failed_is_terminal",
    "deferred_release",
    "bounded_batch",
    "deferred_source_release",
    "patient_balancer",
    "checksum",
    "page_tags",
    "carried_tags",
    "zero_on_release",
)
"""Measures that are tried one at a time."""

MARKS = {
    "reads_own_writes": "own",
    "reads_no_foreign_data": "foreign",
    "writes_land_in_own_pages": "late write",
    "writes_spare_other_requests": "overwrite",
    "no_free_under_write": "free under write",
    "rejected_never_succeeds": "200 for rejected",
}


def violated(preset: str, **switches: bool) -> frozenset[str]:
    """Names of the properties that a preset with these switches violates."""
    model = find("outline").model
    result = search(build(model, choose(model, preset=preset, sets=switches)))
    assert result.complete
    return frozenset(f.claim.name for f in result.findings if f.verdict == "violated")


def off_sets() -> list[tuple[str, ...]]:
    """Nothing, each measure of `patched`, and every pair of them."""
    return [(), *((name,) for name in PATCHED), *combinations(PATCHED, 2)]


def mark(names: frozenset[str]) -> str:
    """A cell of the table."""
    return ", ".join(text for name, text in MARKS.items() if name in names) or "holds"


def table() -> list[str]:
    """Markdown lines: each measure alone, and each left out of `patched`."""
    lines = ["| measure | alone, incident | alone, 0.5.19 | left out of `patched` |", "|---|---|---|---|"]
    none = [mark(violated(preset)) for preset in ("incident", "0.5.19", "patched")]
    lines.append(f"| (none) | {' | '.join(none)} |")
    for name in dict.fromkeys((*ALONE, *PATCHED)):
        alone = [mark(violated(preset, **{name: True})) for preset in ("incident", "0.5.19")]
        without = mark(violated("patched", **{name: False})) if name in PATCHED else "not in it"
        lines.append(f"| `{name}` | {alone[0]} | {alone[1]} | {without} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
