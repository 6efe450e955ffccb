"""Golden errors: every file in `errors/` is a complete small model with one mistake, beside what is said about it.

Set KVPROTO_UPDATE_GOLDEN=1 to write the `.expect` files anew; then read every change.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from lang_native import refusal

from kvproto.diagnostics import CATALOGUE

ERRORS = Path(__file__).parent / "errors"
CASES = sorted(p.stem for p in ERRORS.glob("*.py"))
SOURCE = Path(__file__).parents[2] / "kvproto"

NO_GOLDEN_CASE = {
    "KV151": "raised by the search, not by the front end",
    **{f"KV{number}": "raised by proofs: tests/prove" for number in range(160, 170)},
}
"""Codes of models without a golden case, with the reason."""


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("name", CASES)
def test_error_reads_as_recorded(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ERRORS / f"{name}.py", tmp_path)
    monkeypatch.chdir(tmp_path)

    text = refusal(f"{name}.py").diagnostic.render()

    expect = ERRORS / f"{name}.expect"
    if os.environ.get("KVPROTO_UPDATE_GOLDEN"):
        expect.write_text(text, encoding="utf-8")
    assert text == expect.read_text(encoding="utf-8")


def test_no_expectation_is_left_over() -> None:
    assert sorted(p.stem for p in ERRORS.glob("*.expect")) == CASES


def codes_used() -> set[str]:
    files = (p for p in SOURCE.rglob("*.py") if p.name != "catalogue.py")
    return {code for p in files for code in re.findall(r'"(KV[0-9]{3})"', p.read_text(encoding="utf-8"))}


def test_every_code_in_use_is_catalogued() -> None:
    assert codes_used() <= set(CATALOGUE)


def test_every_code_of_a_model_has_a_golden_case() -> None:
    shown = {(ERRORS / f"{name}.expect").read_text(encoding="utf-8").split()[1] for name in CASES}
    wanted = {code for code in CATALOGUE if code.startswith(("KV1", "KV2"))}

    assert wanted - shown == set(NO_GOLDEN_CASE)


@pytest.mark.parametrize("code", CATALOGUE)
def test_catalogue_entry_is_complete(code: str) -> None:
    entry = CATALOGUE[code]

    assert entry.title and not entry.title.endswith(".")
    assert 80 < len(entry.text) < 900
    assert all(len(line) <= 100 for line in entry.text.splitlines())
