"""Bounds that are computed of sizes and parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lang_native import agree, imported

from kvproto.diagnostics import KvError
from kvproto.ir.types import ArrayT, IntT, RecordT
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build

TEXT = """
from kvproto.lang import *

Page = Sort("Page", size=3)
Spare = Sort("Spare", size=2)
m = Machine("m")


class Config(Params):
    limit: Int(0, 9) = number(2, "how many", least=0, most=9)


cfg = Config()


class State(Record):
    n: Int(BOUNDS)
    line: Queue(Int(0, 1), 2)


@action(m)
def up(s):
    require(s.n < 9)
    s.n += 1


model = Model("amounts", "", state=State, parts=[__name__], params=Config)
"""

BOUNDS = [
    ("0, 2 * Page + 1", {}, (0, 7)),
    ("0, 2 * Page + 1", {"Page": 1}, (0, 3)),
    ("0, Page * 2 - 1", {}, (0, 5)),
    ("1 - Page, Config.limit - 1", {}, (-2, 1)),
    ("1 - Page, Config.limit - 1", {"limit": 7, "Page": 2}, (-1, 6)),
    ("0, Page // 2 + 7 // Spare", {}, (0, 4)),
    ("0, (Page + Spare) * (Page - Config.limit)", {}, (0, 5)),
    ("0, Page + 1 - (Spare - 1)", {}, (0, 3)),
    ("0, 9 // (1 + Config.limit)", {"limit": 0}, (0, 9)),
]


def text(bounds: str) -> str:
    return TEXT.replace("BOUNDS", bounds)


def state_under(folder: Path, written: str, sets: dict[str, Any]) -> RecordT:
    """The type of the state."""
    file = folder / "model.py"
    file.write_text(written)
    with imported(str(file)) as model:
        return build(model, choose(model, sets=sets)).state


@pytest.mark.parametrize(("bounds", "sets", "expected"), BOUNDS)
def test_bounds(tmp_path: Path, bounds: str, sets: dict[str, int], expected: tuple[int, int]) -> None:
    assert IntT(*expected) == state_under(tmp_path, text(bounds), sets).get("n")


@pytest.mark.parametrize("size", ["Page - 1", "Config.limit * 1", "4 // Spare"])
def test_sizes_of_queues_and_bags(tmp_path: Path, size: str) -> None:
    queue = state_under(tmp_path, text("0, 1").replace("Int(0, 1), 2", f"Int(0, 1), {size}"), {}).get("line")
    assert isinstance(queue, RecordT)
    slots = queue.get("slots")
    assert isinstance(slots, ArrayT)

    assert IntT(0, 1) == slots.index
    bag = state_under(tmp_path, text("0, 1").replace("Queue(Int(0, 1), 2", f"Bag(Int(0, 1), {size}"), {}).get("line")
    assert isinstance(bag, RecordT)
    assert "Bag(Int(0, 1), 2)" == str(bag)


def test_plain_python_has_the_same_bounds(tmp_path: Path) -> None:
    written = text("0, 2 * Page + 1").replace("s.n < 9", "s.n < 2 * len(Page) + 1")

    assert 8 == agree(tmp_path, written, header="", footer="")


def test_a_sort_that_only_a_bound_mentions_needs_a_size(tmp_path: Path) -> None:
    written = text("0, 2 * (1 + Spare)").replace('"Spare", size=2', '"Spare"')
    with pytest.raises(KvError) as error:
        state_under(tmp_path, written, {})

    assert "KV141" == error.value.diagnostic.code
    assert IntT(0, 12) == state_under(tmp_path, written, {"Spare": 5}).get("n")


@pytest.mark.parametrize(
    ("bounds", "code", "words"),
    [
        ("0, 4 // (Page - 3)", "KV117", "a bound is divided by 0: 4 // (Page - 3)"),
        ("0, 2 - Page", "KV117", "Int(0, -1) has no values"),
        ("0, Page * 0.5", "KV007", "unsupported operand"),
        ("0, Page + True", "KV007", "unsupported operand"),
        ("0, Page % 2", "KV007", "unsupported operand"),
        ("0, -Page", "KV007", "bad operand"),
    ],
)
def test_what_is_no_bound(tmp_path: Path, bounds: str, code: str, words: str) -> None:
    with pytest.raises(KvError) as error:
        state_under(tmp_path, text(bounds), {})

    assert code == error.value.diagnostic.code
    assert words in error.value.diagnostic.message
    assert error.value.diagnostic.loc is not None
