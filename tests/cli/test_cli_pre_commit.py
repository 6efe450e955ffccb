"""The hook for pre-commit: its manifest is one, and what it runs passes and fails as a commit should."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ci_results import model_file
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
(HOOK,) = YAML(typ="safe").load(io.StringIO((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")))
(CONFIG,) = [
    found
    for block in re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), flags=re.DOTALL
    )
    if "repos" in (found := YAML(typ="safe").load(io.StringIO(block)))
]

KNOWN = {
    "id": str,
    "name": str,
    "description": str,
    "entry": str,
    "language": str,
    "types_or": list,
    "pass_filenames": bool,
    "require_serial": bool,
}
"""Keys of a manifest that this one may use, as pre-commit documents them."""

COMMIT = '[tool.kvproto]\ntargets = ["checks/model.py"]\n\n[tool.kvproto.profile.commit]\ntime-limit = 20\n'


def hook(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The hook as pre-commit runs it: its entry with the arguments of the configuration, and no file names."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [*shlex.split(HOOK["entry"]), *args]
    around = {**os.environ, "PATH": path}
    return subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False)


def configured() -> dict[str, Any]:
    (found,) = [hook for repo in CONFIG["repos"] for hook in repo["hooks"]]
    return dict(found)


@pytest.fixture
def project(here: Path) -> Path:
    """A project whose model is wrong."""
    model_file(here / "checks")
    (here / "pyproject.toml").write_text(COMMIT, encoding="utf-8")
    return here


def test_the_manifest_has_what_pre_commit_asks_for() -> None:
    assert set(HOOK) <= set(KNOWN)
    assert all(isinstance(value, KNOWN[key]) for key, value in HOOK.items())
    assert ("kvproto-check", "python", False) == (HOOK["id"], HOOK["language"], HOOK["pass_filenames"])
    assert {"id", "name", "entry", "language"} <= set(HOOK)


def test_the_configuration_of_the_page_names_the_hook(project: Path) -> None:
    assert HOOK["id"] == configured()["id"]
    assert all({"repo", "rev", "hooks"} == set(repo) for repo in CONFIG["repos"])
    done = hook(project, *configured()["args"])

    assert 1 == done.returncode
    assert "VIOLATED" in done.stdout


def test_a_commit_of_a_right_model_passes_without_a_word(project: Path) -> None:
    model = project / "checks" / "model.py"
    model.write_text(model.read_text(encoding="utf-8").replace("s.n < 3\n", "s.n < 9\n"), encoding="utf-8")
    done = hook(project, *configured()["args"])

    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_a_search_that_decides_nothing_stops_the_commit(project: Path) -> None:
    assert 3 == hook(project, "--max-depth", "1").returncode
