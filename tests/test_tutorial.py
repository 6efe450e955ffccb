"""The pages that one works through, executed from their first line to their last."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ("tutorial", "porting")
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


def write(folder: Path, block: re.Match[str]) -> None:
    """Make the file that a block is, or the change that it makes."""
    path = folder / block["file"]
    path.parent.mkdir(parents=True, exist_ok=True)
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(edited(old, block["what"], block["name"], block["text"]), encoding="utf-8")


def run(folder: Path, command: str, expected: list[str]) -> None:
    """Run a command as a reader would, and compare what it prints."""
    scripts = Path(sys.executable).parent
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={"PATH": f"{scripts}:/usr/bin:/bin", "NO_COLOR": "1", "HOME": str(folder)},
    )
    missing = agrees(expected, done.stdout.splitlines())
    assert not missing, f"$ {command}\nmissing: {missing}\n{done.stdout}{done.stderr}"
    assert done.returncode in (0, 1), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    text, commands = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), 0
    for block in BLOCK.finditer(text):
        if block["kind"] == "python":
            write(tmp_path, block)
            continue
        for part in re.split(r"^\$ ", block["text"], flags=re.M)[1:]:
            command, *expected = part.rstrip("\n").split("\n")
            commands += 1
            run(tmp_path, command, expected)
    assert commands == text.count("\n$ ")
    assert commands > 4


def test_what_is_expected_is_looked_for_in_order() -> None:
    assert agrees(["a", "...", "c"], ["a", "b", "c"]) == ""
    assert agrees(["a", "c"], ["a", "b", "c"]) == "c"
    assert agrees(["...", "b"], ["a", "c"]) == "b"
    assert agrees(["4 passed in ..."], ["4 passed in 1.2s"]) == ""
