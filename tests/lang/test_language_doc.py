"""The examples of docs/language.md are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lang_native import agree, imported

from kvproto.diagnostics import CATALOGUE
from kvproto.engine.reference import explore
from kvproto.engine.search import search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build

TEXT = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
EXAMPLE, MESSAGES, NATIVE = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def test_both_readings_of_the_example_agree(tmp_path: Path) -> None:
    assert agree(tmp_path, EXAMPLE, header="", footer="") > 5


@pytest.mark.parametrize(("preset", "broken"), [("safe", []), ("hasty", ["no_stray"])])
def test_example_behaves_as_described(preset: str, broken: list[str], tmp_path: Path) -> None:
    file = tmp_path / "lending.py"
    file.write_text(EXAMPLE, encoding="utf-8")
    with imported(str(file)) as model:
        found = explore(build(model, choose(model, preset=preset)))

    assert list(found.violated) == broken
    assert found.error is None


@pytest.mark.parametrize(("dropped", "verdict"), [("", "holds"), (", strong(confirm)", "violated")])
def test_messages_behave_as_described(dropped: str, verdict: str, tmp_path: Path) -> None:
    file = tmp_path / "bits.py"
    file.write_text(MESSAGES.replace(dropped, "") if dropped else MESSAGES, encoding="utf-8")
    with imported(str(file)) as model:
        found = search(build(model, choose(model)))

    assert found.finding("seen_first").verdict == "holds"
    assert found.finding("arrives").verdict == verdict


def test_both_readings_of_messages_agree(tmp_path: Path) -> None:
    assert agree(tmp_path, MESSAGES, header="", footer="") > 5


def test_native_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lending.py"
    file.write_text(EXAMPLE + NATIVE, encoding="utf-8")
    with imported(str(file)):
        printed = "".join(capsys.readouterr())

    assert "Phase.OVER" in printed


def test_codes_exist() -> None:
    assert set(re.findall(r"KV[0-9]{3}", TEXT)) <= set(CATALOGUE)
