"""The wheel: what is in it, and that it works from an empty directory without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def test_models_properties_and_traces_ship_inside(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    for name in ("models/sglang/__init__.py", "models/kv_transfer.py", "properties/isolation.py"):
        assert f"kvproto/shipped/{name}" in names
    assert any(name.startswith("kvproto/shipped/traces/") for name in names)
    assert "kvproto/engine/engine.c" in names
    # Nothing at the top level but the package itself.
    assert {"kvproto"} == {name.split("/")[0] for name in names if ".dist-info" not in name}


def test_the_installed_wheel_works_from_an_empty_directory(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True, capture_output=True)
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def kvproto(*args: str) -> subprocess.CompletedProcess[str]:
        command = [str(home / "bin" / "kvproto"), *args]
        return subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, check=False)

    table = kvproto("check")
    assert (1, "") == (table.returncode, table.stderr)
    assert "sglang@patched   holds" in table.stdout
    trace = ".kvproto/traces/sglang-incident-reads_no_foreign_data.trace.json"
    assert kvproto("show", trace).returncode == 0
    replayed = kvproto("replay", trace)
    assert replayed.returncode == 0
    assert "A's canary" in replayed.stdout
