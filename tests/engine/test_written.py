"""Conditions in the words of their authors, wherever and however they are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from lang_native import imported

from kvproto.engine.coverage import premises
from kvproto.engine.written import opposite
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build

MODEL = """
from kvproto.lang import *

m = Machine("m")

class State(Record):
    n: Int(0, 3)
    on: Bool
    held: Set(Int(0, 3))

@action(m)
def go(s):
    s.n = min(s.n + 1, 3)

@leads_to("this leads to that")
def claim(s):
    {local}return {first}, s.n == 3

model = Model("written", "conditions", state=State, parts=[__name__])
"""


@pytest.mark.parametrize(
    ("first", "shown"),
    [
        ("s.n == 1", "s.n == 1"),
        ("s.n != 1", "s.n != 1"),
        ("not s.on", "not s.on"),
        ("2 not in s.held", "2 not in s.held"),
        ("(s.n == 1\n            and s.on\n            and 2 in s.held)", "s.n == 1 and s.on and (2 in s.held)"),
        ("any(\n        k in s.held\n        for k in range(4)\n    )", "any(k in s.held for k in range(4))"),
        ("all(k in s.held for k in range(2))", "all(k in s.held for k in range(2))"),
        ("s.on and (  # why\n        s.n == 1  # é\n    )", "s.on and s.n == 1"),
    ],
)
def test_premises_are_shown_as_written(first: str, shown: str, tmp_path: Path) -> None:
    assert premise(tmp_path, first, "") == shown


def test_a_local_is_what_it_stands_for(tmp_path: Path) -> None:
    local = "far = (s.n == 1 or\n           s.n == 2)\n    "

    assert premise(tmp_path, "far", local) == "s.n == 1 or s.n == 2"


def premise(folder: Path, first: str, local: str) -> str:
    file = folder / "model.py"
    file.write_text(MODEL.format(first=first, local=local), encoding="utf-8")
    with imported(str(file)) as model:
        system = build(model, choose(model))
    (probe,) = premises(system.claims, system.sources)
    return probe.gap.text


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("a == b", "a != b"),
        ("a is None", "a is not None"),
        ("k in s.held", "k not in s.held"),
        ("not s.on", "s.on"),
        ("a < b", "not a < b"),
        ("a and b", "not (a and b)"),
    ],
)
def test_opposites(text: str, other: str) -> None:
    assert opposite(text) == other
    assert opposite(other) == text
