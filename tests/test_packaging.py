"""The wheel: what is in it, and that it works from an empty directory without the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def shipped() -> dict[str, str]:
    """Folder of the checkout -> where it lies in the wheel."""
    found: dict[str, str] = PROJECT["wheel"]["force-include"]
    return found


def test_the_source_distribution_has_what_the_wheel_is_made_of() -> None:
    assert {f"/{folder}" for folder in [*shipped(), *PROJECT["wheel"]["packages"]]} <= set(PROJECT["sdist"]["include"])


def test_whatever_code_looks_for_beside_the_package_ships_inside() -> None:
    """Code finds shipped folders as `ROOT / "name"`."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "kvproto").rglob("*.py"))
    looked_for = set(re.findall(r'\bROOT\)? / "(\w+)"', text))

    assert {"models", "benchmarks"} <= looked_for
    assert looked_for <= set(shipped())
    assert {f"kvproto/shipped/{folder}" for folder in shipped()} == set(shipped().values())


@pytest.mark.slow
def test_every_file_of_the_shipped_folders_is_in_the_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    files = [path for folder in shipped() for path in (ROOT / folder).rglob("*") if path.is_file()]
    expected = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}

    assert expected == {name.removeprefix("kvproto/shipped/") for name in names} & expected
    assert "kvproto/shipped/benchmarks/kv_transfer.pml" in names
    assert "kvproto/engine/engine.c" in names
    # Nothing at the top level but the package itself.
    assert {"kvproto"} == {name.split("/")[0] for name in names if ".dist-info" not in name}


@pytest.mark.slow
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

    has_model = "import sys; from kvproto.bench.runs import tuned_model; sys.exit(not tuned_model().is_file())"
    assert subprocess.run([python, "-c", has_model], cwd=empty, env=environment, check=False).returncode == 0
    table = kvproto("check")
    assert (1, "") == (table.returncode, table.stderr)
    assert "sglang@0.5.23            VIOLATED" in table.stdout
    trace = ".kvproto/traces/sglang-incident-reads_no_foreign_data.trace.json"
    assert kvproto("show", trace).returncode == 0
    replayed = kvproto("replay", trace)
    assert replayed.returncode == 0
    assert "A's canary" in replayed.stdout
