"""`[tool.kvproto]` of the nearest pyproject.toml: what `kvproto check` checks without a target."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import NoReturn

from kvproto.diagnostics import KvError, did_you_mean


def configured_targets(folder: Path) -> list[str]:
    """The targets that the project of this folder names; none if it has no say.  Raises KV023."""
    path = next((p / "pyproject.toml" for p in (folder, *folder.parents) if (p / "pyproject.toml").is_file()), None)
    if path is None:
        return []
    try:
        tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        _refuse(f"{path.name} cannot be read: {problem}")
    table = tool.get("kvproto") if isinstance(tool, dict) else None
    if table is None:
        return []
    if not isinstance(table, dict):
        _refuse(f"tool.kvproto in {path.name} is no table")
    for key in table:
        if key != "targets":
            _refuse(f"[tool.kvproto] in {path.name}: unknown key {key!r}{did_you_mean(key, ['targets'])}")
    if "targets" not in table:
        return []
    targets = table["targets"]
    if not isinstance(targets, list) or not targets or not all(isinstance(t, str) for t in targets):
        _refuse(f"[tool.kvproto] in {path.name}: targets is no list of at least one text")
    return [_from(path.parent, target, folder) for target in targets]


def _from(project: Path, target: str, folder: Path) -> str:
    """The target as seen from the current folder: paths and packages of a project are relative to it."""
    if project == folder:
        return target
    if ".py" in target:
        return os.path.relpath(project / target, folder)
    if str(project) not in sys.path:
        sys.path.insert(0, str(project))
    return target


def _refuse(message: str) -> NoReturn:
    raise KvError(
        "KV023",
        message,
        reason="the only key of [tool.kvproto] is `targets`, a list of what `kvproto check` takes",
        cure='write targets = ["model.py", "sglang@patched"]',
    ) from None
