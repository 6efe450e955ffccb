"""README: its commands are what CI runs, and they work on a clean clone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]
MAIN, TEST = COMMANDS[:2]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()

    assert TEST == "./dev test"
    assert ci[-1] == TEST


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a checkout to make a clean clone")
    target = tmp_path_factory.mktemp("clone") / "kvproto"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(target)], check=True)
    return target


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)


@pytest.mark.slow
def test_the_main_command_on_a_clean_clone(clone: Path) -> None:
    done = run(MAIN, clone)

    assert 1 == done.returncode, done.stderr
    assert "sglang@incident          VIOLATED" in done.stdout
    assert "sglang@patched" in done.stdout


@pytest.mark.slow
def test_the_incident_commands_on_a_clean_clone(clone: Path) -> None:
    check, show, replay = COMMANDS[2:5]

    assert run(check, clone).returncode == 1
    shown = run(show, clone)
    assert shown.returncode == 0
    replayed = run(replay, clone)
    assert replayed.returncode == 0
    assert "HTTP 200, prompt_tokens 128" in replayed.stdout
    # What README quotes is what is printed.
    quoted = re.findall(r"```\n(Why.*?|request B.*?)```", README, re.DOTALL)
    assert len(quoted) == 2
    for line in "".join(quoted).splitlines():
        assert line.strip() == "..." or line in shown.stdout + replayed.stdout


@pytest.mark.slow
def test_the_test_command_on_a_clean_clone(clone: Path) -> None:
    """The command itself, on one test: the whole suite is running already."""
    done = run(f"{TEST} tests/test_readme.py -k ci_runs", clone)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.slow
def test_without_a_c_compiler(clone: Path, tmp_path: Path) -> None:
    """No compiler on the PATH and no library built before: the Python tier runs, gives the same, and says so."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "dirname", "find", "touch", "env"):
        (tools / name).symlink_to(shutil.which(name) or "/bin/false")
    for library in (clone / "kvproto" / "engine").glob("_engine.*"):
        library.unlink()
    command = f"env -i PATH={tools} HOME={tmp_path} .venv/bin/kvproto check sglang@incident"

    done = run(command, clone)

    assert done.returncode == 1, done.stderr
    assert "engine Python" in done.stdout
    assert "reads_no_foreign_data" in done.stdout
