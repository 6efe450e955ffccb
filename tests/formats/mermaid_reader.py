"""Mermaid's own parser: a Node program with the released package, which is fetched once."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "node"

LIMIT_S = 300
"""Fetching the packages takes seconds; a network that never answers shall not stop the tests."""


def parsed(texts: Sequence[str]) -> list[dict[str, Any]]:
    """What Mermaid makes of diagrams.  Skips the test without Node, or where its packages cannot be had."""
    _needs_packages()
    done = subprocess.run(
        ["node", "parse.mjs"], cwd=FOLDER, input=json.dumps(texts), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _needs_packages() -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node is missing, so Mermaid's parser cannot run")
    stamp = FOLDER / "node_modules" / ".package-lock.json"
    if stamp.exists() and stamp.stat().st_mtime >= (FOLDER / "package-lock.json").stat().st_mtime:
        return
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("the packages of Mermaid's parser cannot be fetched: npm does not come to an end")
    if done.returncode != 0:
        pytest.skip(f"the packages of Mermaid's parser cannot be fetched: {done.stderr.strip()[-200:]}")
