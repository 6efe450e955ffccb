"""The wheel: what is in it, and that it works from an empty directory without the checkout."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tarfile
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


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files in the source distribution, without its folder."""
    folder = tmp_path_factory.mktemp("source")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def tracked(*folders: str) -> set[str]:
    """Files of the checkout that belong to it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()}


def shipped() -> dict[str, str]:
    """Folder of the checkout -> where it lies in the wheel."""
    found: dict[str, str] = PROJECT["wheel"]["force-include"]
    return found


def test_the_source_distribution_has_what_the_wheel_is_made_of() -> None:
    needed = {f"/{name}" for name in [*shipped(), *PROJECT["wheel"]["only-include"]]}

    assert needed <= set(PROJECT["sdist"]["include"])


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
    # At the top level the package and the plugin of pytest; of the front end what was built, and not the sources.
    assert {"kvproto", "_kvproto_pytest.py"} == {name.split("/")[0] for name in names if ".dist-info" not in name}


@pytest.mark.slow
def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    """Style, script and template of the page as well as the code."""
    names = set(zipfile.ZipFile(wheel).namelist())
    files = tracked("kvproto")

    assert set() == files - names
    assert {".py", ".js", ".css", ".j2", ".c", ".h"} <= {Path(name).suffix for name in files}


def test_the_source_distribution_builds_the_front_end(source: set[str]) -> None:
    """All that it is built from, and nothing that npm brings."""
    files = tracked("viewer")

    assert {"viewer/package.json", "viewer/package-lock.json"} <= files
    assert set() == files - source
    assert set() == tracked("kvproto", "models", "traces") - source
    assert [] == [name for name in source if "node_modules" in name]


@pytest.mark.slow
def test_the_installed_wheel_works_from_an_empty_directory(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True, capture_output=True)
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    # Without Node, and without the extras.
    environment["PATH"] = str(home / "bin")

    def kvproto(*args: str) -> subprocess.CompletedProcess[str]:
        command = [str(home / "bin" / "kvproto"), *args]
        return subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, check=False)

    has_model = "import sys; from kvproto.bench.runs import tuned_model; sys.exit(not tuned_model().is_file())"
    assert subprocess.run([python, "-c", has_model], cwd=empty, env=environment, check=False).returncode == 0
    table = kvproto("check", "--no-progress")
    assert (1, "") == (table.returncode, table.stderr)
    assert "sglang@0.5.23            VIOLATED" in table.stdout
    trace = ".kvproto/traces/sglang-incident-reads_no_foreign_data.trace.json"
    assert kvproto("show", trace).returncode == 0
    viewed = kvproto("view", trace, "-o", "page.html")
    assert (0, "") == (viewed.returncode, viewed.stderr)
    assert 'id="report-1"' in (empty / "page.html").read_text(encoding="utf-8")
    for form in ("mermaid", "markdown", "svg", "itf", "shiviz", "perfetto"):
        exported = kvproto("export", trace, "--to", form, "-o", f"trace.{form}")
        assert (0, "") == (exported.returncode, exported.stderr)
        assert (empty / f"trace.{form}").stat().st_size
    refused = kvproto("export", "blocks.page_pool", "--to", "dot")
    assert refused.returncode == 2
    assert "pip install 'kvproto[graph]'" in refused.stderr
    code, text = on_a_terminal([str(home / "bin" / "kvproto"), "show", trace, "--tui"], empty, environment)
    assert code == 2
    assert "pip install 'kvproto[tui]'" in text
    replayed = kvproto("replay", trace)
    assert replayed.returncode == 0
    assert "A's canary" in replayed.stdout


def on_a_terminal(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Exit code and output of a program that is run from a terminal."""
    ours, its = pty.openpty()
    done = subprocess.run(command, cwd=folder, env=environment, stdin=its, stdout=its, stderr=its, check=False)
    os.close(its)
    text = os.read(ours, 100_000).decode()
    os.close(ours)
    return done.returncode, text
