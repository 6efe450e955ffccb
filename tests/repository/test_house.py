"""The repository itself: types, lint, layers, and what must not be in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def tool(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types() -> None:
    tool(sys.executable, "-m", "mypy")


def test_lint() -> None:
    tool(sys.executable, "-m", "ruff", "check", ".")


def test_layers() -> None:
    tool(str(Path(sys.executable).with_name("lint-imports")))


def test_every_dependency_is_explained() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = re.findall(r'"([a-z0-9-]+)[>=]=', project)

    assert names
    for name in names:
        assert f"| {name} |" in text, name


def test_architecture_names_every_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = {p.parent.relative_to(ROOT).as_posix() for p in (ROOT / "kvproto").rglob("__init__.py")} - {"kvproto"}

    for package in packages:
        assert f"`{package}`" in text, package


@pytest.mark.parametrize("path", sorted((ROOT / "kvproto").rglob("*.py")), ids=lambda p: p.name)
def test_files_stay_readable(path: Path) -> None:
    """A file has one subject; the catalogue is a list and may be long."""
    if path.name != "catalogue.py":
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 560
