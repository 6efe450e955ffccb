"""`kvproto list`: what a model assumes of runs, and where it ends."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kvproto.lang.model import ActionMark, Model

Row = tuple[str, str]

EACH = {
    "weak": "each choice that stays possible happens in the end",
    "strong": "each choice that is possible again and again happens again and again",
}
GROUP = {
    "weak": "one of them happens in the end if that stays possible",
    "strong": "one of them happens again and again if that is possible again and again",
}


def fairness(model: Model) -> list[Row]:
    """Which steps are not put off for ever: groups as they are written, and what that means."""
    rows = [(f"{mark.fair}({fn.__name__})", EACH[mark.fair]) for fn, mark in model.marked(ActionMark) if mark.fair]
    for group in model.fairness:
        names = ", ".join(action.__name__ for action in group.actions)
        per = f", for each {', '.join(group.per)}" if group.per else ""
        rows.append((f"{group.kind}({names})", GROUP[group.kind] + per))
    return rows


def constraint(model: Model) -> list[Row]:
    """What keeps a search finite."""
    if model.constraint is None:
        return []
    return [(model.constraint.__name__, _meaning(model.constraint) or "states outside of it are judged, but not left")]


def _meaning(fn: Callable[..., Any]) -> str:
    """First paragraph of the docstring on one line."""
    return " ".join((inspect.getdoc(fn) or "").split("\n\n")[0].split())
