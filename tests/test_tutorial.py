"""The tutorial, executed from its first line to its last."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"(?:<!-- (?P<what>\w+) (?P<file>\S+)(?: (?P<name>\w+))? -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.S
)


def span(text: str, name: str) -> tuple[int, int]:
    """Where a class, a function with its decorators, or an assignment stands, in lines."""
    for node in ast.parse(text).body:
        targets = [t.id for t in getattr(node, "targets", []) if isinstance(t, ast.Name)]
        if getattr(node, "name", None) == name or name in targets:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            return first - 1, node.end_lineno or node.lineno
    raise AssertionError(f"there is no {name}")


def edited(old: str, what: str, name: str | None, new: str) -> str:
    if what == "file":
        return new
    if what == "append":
        return f"{old}\n\n{new}"
    lines = old.splitlines()
    start, end = span(old, str(name))
    end = start if what == "before" else end
    gap = ["", ""] if what == "before" else []
    return "\n".join([*lines[:start], *new.rstrip().splitlines(), *gap, *lines[end:]]) + "\n"


def agrees(expected: list[str], printed: list[str]) -> str:
    """Whether the lines are there in that order, `...` standing for any; what is missing otherwise."""
    at, free = 0, False
    for line in expected:
        if line == "...":
            free = True
            continue
        wanted = re.compile(re.escape(line.rstrip()).replace(r"\.\.\.", ".*"))
        found = next((n for n in range(at, len(printed)) if wanted.fullmatch(printed[n].rstrip())), None)
        if found is None or (found != at and not free):
            return line
        at, free = found + 1, False
    return ""


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    scripts, commands = str(Path(sys.executable).parent), 0
    for block in BLOCK.finditer(TUTORIAL):
        if block["kind"] == "python":
            path = tmp_path / block["file"]
            old = path.read_text(encoding="utf-8") if path.exists() else ""
            path.write_text(edited(old, block["what"], block["name"], block["text"]), encoding="utf-8")
            continue
        for part in re.split(r"^\$ ", block["text"], flags=re.M)[1:]:
            command, *expected = part.rstrip("\n").split("\n")
            commands += 1
            done = subprocess.run(
                command,
                shell=True,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
                env={"PATH": f"{scripts}:/usr/bin:/bin", "NO_COLOR": "1", "HOME": str(tmp_path)},
            )
            missing = agrees(expected, done.stdout.splitlines())
            assert not missing, f"$ {command}\nmissing: {missing}\n{done.stdout}{done.stderr}"
            assert done.returncode in (0, 1), done.stderr
    assert commands == TUTORIAL.count("\n$ ")
    assert commands > 8


def test_what_is_expected_is_looked_for_in_order() -> None:
    assert agrees(["a", "...", "c"], ["a", "b", "c"]) == ""
    assert agrees(["a", "c"], ["a", "b", "c"]) == "c"
    assert agrees(["...", "b"], ["a", "c"]) == "b"
    assert agrees(["4 passed in ..."], ["4 passed in 1.2s"]) == ""
