"""`kvproto export` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvproto.cli.main import main

GOLDEN = Path(__file__).parent / "golden"

KV = ("export", "kv_transfer@safe", "--scope", "S")


def test_to_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*KV, "--to", "promela"]) == 0
    assert (GOLDEN / "kv_transfer.pml").read_text(encoding="utf-8") == capfd.readouterr().out


def test_module_and_configuration(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*KV, "--to", "tla", "--properties", "-o", str(tmp_path / "kv_transfer.tla")]) == 0
    for kind in ("tla", "cfg"):
        name = f"kv_transfer.{kind}"
        assert (GOLDEN / name).read_text(encoding="utf-8") == (tmp_path / name).read_text(encoding="utf-8")
    assert capfd.readouterr().out == ""


def test_a_module_is_called_as_its_file(tmp_path: Path) -> None:
    assert main([*KV, "--to", "tla", "-o", str(tmp_path / "Other.tla")]) == 0
    assert " MODULE Other " in (tmp_path / "Other.tla").read_text(encoding="utf-8")
    assert "INVARIANT no_stray" not in (tmp_path / "Other.cfg").read_text(encoding="utf-8")


def test_chosen_properties(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*KV, "--to", "promela", "--property", "no_stray"]) == 0
    text = capfd.readouterr().out

    assert "/* no_stray */" in text
    assert "own_data" not in text


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--to", "promela", "--property", "nothing"), "KV004"),
        (("--to", "promela", "-o", "/nowhere/there/file"), "KV021"),
        (("--to", "murphi"), "KV022"),
        ((), "KV022"),
        (("--to", "promela", "--set", "Req=5000"), "KV006"),
    ],
)
def test_refused(more: tuple[str, ...], code: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*KV, *more]) == 2
    assert f"error {code}" in capfd.readouterr().err
