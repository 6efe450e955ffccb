"""`kvproto new`: what it writes is right as it is, and nothing that exists is touched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kvproto.cli.main import main


def test_a_new_model_passes_its_own_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "lending"]) == 0
    session = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    told = subprocess.run(session, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout
    assert "6 passed, 1 xfailed" in told.stdout
    lint = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "120", "--select", "E,F,I,W", "."]
    assert subprocess.run(lint, check=False).returncode == 0


def test_a_new_model_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "turns"]) == 0
    assert main(["check", "turns.py"]) == 0
    assert main(["check", "turns.py@hasty"]) == 1
    assert main(["show", ".kvproto/traces/turns-hasty-nobody_else_writes.trace.json"]) == 0


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine_properties.py").write_text("precious")
    assert main(["new", "mine", "--folder", str(tmp_path)]) == 2
    assert "KV049" in capsys.readouterr().err
    assert [path.name for path in tmp_path.glob("*.py")] == ["mine_properties.py"]
    assert (tmp_path / "mine_properties.py").read_text() == "precious"


@pytest.mark.parametrize("name", ["Lending", "my-model", "1st", "class", "json", "kvproto", "", "a/b"])
def test_what_is_no_module_name_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", name, "--folder", str(tmp_path)]) == 2
    assert "KV049" in capsys.readouterr().err
    assert list(tmp_path.rglob("*.py")) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["new", "mine", "--folder", str(tmp_path / "file" / "below")]) == 2
    assert "KV021" in capsys.readouterr().err
