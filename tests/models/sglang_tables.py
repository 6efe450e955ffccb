"""The tables of docs/model.md, and the searches that they claim."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from kvproto.engine.search import Options, search
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

PAGE = Path(__file__).parent.parent.parent / "docs" / "model.md"
MODEL = find("sglang").model


def table(heading: str) -> list[dict[str, str]]:
    """The rows of the first table under a heading, by column."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1]
    lines = re.search(r"((?:^\|.*\n)+)", text, re.MULTILINE)
    assert lines, f"no table under {heading!r}"
    head, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in lines[1].splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]


def words(cell: str) -> list[str]:
    """What stands between backquotes."""
    return re.findall(r"`([^`]+)`", cell)


def system(target: str, scope: str | None = None, sets: tuple[str, ...] = ()) -> System:
    """`sglang@PRESET` in a scope, with `name` or `name=off` switched."""
    changes = {name.partition("=")[0]: not name.endswith("=off") for name in sets}
    return build(MODEL, choose(MODEL, preset=target.removeprefix("sglang@"), scope=scope, sets=changes))


@cache
def lengths(target: str, scope: str | None = None, sets: tuple[str, ...] = ()) -> dict[str, int]:
    """Steps of the shortest run against each violated property; the search is complete."""
    result = search(system(target, scope, sets), Options(keep_going=True))
    assert result.complete
    return {f.claim.name: len(f.counterexample.steps) for f in result.findings if f.counterexample}
