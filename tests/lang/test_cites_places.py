"""Where a model is told that a citation does not parse."""

from __future__ import annotations

from pathlib import Path

import pytest
from lang_native import refusal

from kvproto.diagnostics import KvError
from kvproto.lang import Machine, action

HEAD = """from kvproto.lang import *

class State(Record):
    ok: Bool

m = Machine("m")

"""
TAIL = """
def go(s):
    s.ok = True

model = Model("tiny", "one mistake", state=State, parts=[__name__])
"""


@pytest.mark.parametrize(
    ("declaration", "marked", "line"),
    [
        ('@action(m, cites="0.5.x a.py:f")', "0.5.x", 8),
        ('@action(m, cites=("a.py:f", "a.py:f g"))', "a.py:f g", 8),
        ('@action(\n    m,\n    cites=[\n        "a.py:f",\n        "#x",\n    ],\n)', "#x", 12),
        ('class Config(Params):\n    a: bool = flag(False, "a", cites="a.py:1")\n@action(m)', "1", 9),
        ('class Config(Params):\n    a: int = number(0, "a", cites=("b.py:b", "a.py:1"))\n@action(m)', "1", 9),
        ('@action(m, cites="a.py:f " "g")', '"a.py:f " "g"', 8),
        ('C = "a b"\n@action(m, cites=C)', "a b", 8),
        ('C = "a b"\n\n\n@action(m, cites="a b")', "a b", 11),
    ],
)
def test_the_place_in_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declaration: str, marked: str, line: int
) -> None:
    (tmp_path / "model.py").write_text(HEAD + declaration + TAIL)
    monkeypatch.chdir(tmp_path)
    found = refusal("model.py").diagnostic

    assert ("KV155", "model.py", line) == (found.code, found.loc.file, found.loc.line)
    assert marked == found.line[found.loc.col : found.loc.end_col]


def test_a_citation_made_by_code_has_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.py").write_text(HEAD + '@action(m, cites="-".join("ab"))' + TAIL)
    monkeypatch.chdir(tmp_path)
    found = refusal("model.py").diagnostic

    assert "KV155" == found.code
    assert "'a-b'" in found.message


def test_a_citation_typed_at_a_prompt_has_no_place() -> None:
    text = compile('action(Machine("m"), cites="a b")', "<typed>", "exec")
    with pytest.raises(KvError, match="KV155") as caught:
        exec(text, {"action": action, "Machine": Machine})

    assert caught.value.diagnostic.loc is None
