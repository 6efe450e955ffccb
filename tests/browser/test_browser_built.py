"""The script of the page is built from the sources beside it; Node is needed for nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

VIEWER = Path(__file__).parent.parent.parent / "viewer"

pytestmark = pytest.mark.node


@pytest.fixture(scope="module")
def tools() -> None:
    """Node, and the packages of the lock file."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}: install Node.js 20 or newer")
    if not (VIEWER / "node_modules" / "esbuild").is_dir():
        pytest.skip("the front end's tools are not installed: npm ci --prefix viewer")


def tool(*command: str) -> None:
    done = subprocess.run(command, cwd=VIEWER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("tools")
def test_the_built_script_is_that_of_the_sources() -> None:
    tool("node", "build.mjs", "--check")


@pytest.mark.usefixtures("tools")
def test_the_tests_of_the_script() -> None:
    tool("npm", "test", "--silent")
