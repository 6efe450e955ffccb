"""The tables of docs/patterns.md, made from the models: `python tests/suite/pattern_table.py` writes them anew."""

from __future__ import annotations

from pathlib import Path

from kvproto.lang.reports import Mechanism
from kvproto.suite.entries import Entry, entries

PAGE = Path(__file__).parents[2] / "docs" / "patterns.md"
HEAD = ("| model | report | preset | what it is | breaks |", "|---|---|---|---|---|")


def tables() -> str:
    """A section a mechanism."""
    found: dict[str, list[Entry]] = {}
    for entry in entries():
        if entry.reports:
            found.setdefault(entry.model, []).append(entry)
    sections = []
    for mechanism in Mechanism:
        models = sorted(name for name, some in found.items() if some[0].reports[0].mechanism is mechanism)
        title = mechanism.value[:1].upper() + mechanism.value[1:]
        lines = [line for name in models for line in _rows(name, found[name])]
        sections.append("\n".join([f"## {title}", "", *HEAD, *lines]))
    return "\n\n".join(sections) + "\n"


def _rows(name: str, some: list[Entry]) -> list[str]:
    lines = []
    for entry in some:
        first = entry is some[0]
        reports = [f"[{r.where}]({r.url}){'' if r.established else ' (cause not established)'}" for r in entry.reports]
        broken = [f"`{claim}` ({'-' if length is None else length})" for claim, length in entry.expected.items()]
        cells = (f"`{name}`" if first else "", ", ".join(reports) if first else "", f"`{entry.preset}`", entry.doc)
        lines.append(f"| {' | '.join(cells)} | {', '.join(broken) or 'nothing'} |")
    return lines


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index("\n## ") + 1] + tables(), encoding="utf-8")
