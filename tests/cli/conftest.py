"""Running the command line, in this process and in another one, in a folder of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import Done, Run, Spawn, Write, start

from kvproto.cli.main import main

HEAD = """
from enum import Enum, auto
from kvproto.lang import *

Req = Sort("Req", labels="ABCD", size=2, doc="requests")
m = Machine("m", "the machine")


class State(Record):
    n: Int(0, 9)
    who: Opt(Req)
    done: Bool


@action(m)
def inc(s):
    \"\"\"It counts.\"\"\"
    require(s.n < 3)
    s.n += 1


"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in; a project file above it is out of reach."""
    (tmp_path / "work").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "path", list(sys.path))
    # The tests may run in CI themselves.
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "work"


@pytest.fixture
def kv(capfd: pytest.CaptureFixture[str]) -> Run:
    """`kv("check", ...)`: the command line in this process."""

    def run(*args: str) -> Done:
        capfd.readouterr()
        code = main(list(args))
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def process() -> Run:
    """`process("check", ...)`: the same in a process of its own; `env` adds variables."""

    def run(*args: str, env: dict[str, str] | None = None) -> Done:
        child = start(*args, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = child.communicate(timeout=120)
        return Done(child.returncode, out, err)

    return run


@pytest.fixture
def spawn() -> Spawn:
    """The process itself, for tests that interrupt it."""
    return start


@pytest.fixture
def write(here: Path) -> Write:
    """`write(text, **model)`: a model file of a small head, the text, and `model = Model(..., **model)`."""

    def model(text: str = "", name: str = "model.py", **fields: str) -> Path:
        more = "".join(f", {key}={value}" for key, value in fields.items())
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        end = f'\n\nmodel = Model("mine", "a small model", state=State, parts=[__name__]{more})\n'
        path.write_text(HEAD + text + end)
        return path

    return model
