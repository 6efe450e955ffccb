"""Terminals, pipes and streams: who sees what."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_runs import drain

from kvproto.cli.main import VERBS

if TYPE_CHECKING:
    from cli_runs import Run, Spawn


LONG = ("check", "outline@0.5.19", "--scope", "medium", "--max-states", "600000")


def test_progress_reaches_a_terminal_and_results_do_not_mix_with_it(spawn: Spawn) -> None:
    terminal, side = pty.openpty()
    child = spawn(*LONG, stdout=subprocess.PIPE, stderr=side)
    os.close(side)
    err = drain(terminal)
    out, _ = child.communicate(timeout=60)

    assert "states/s" in err
    assert err.endswith("\r\033[K")
    assert "states/s" not in out
    assert "\033" not in out


def test_progress_reaches_nothing_else(process: Run) -> None:
    assert process(*LONG).err == ""


def test_quiet_on_a_terminal(spawn: Spawn) -> None:
    terminal, side = pty.openpty()
    child = spawn(*LONG, "--quiet", stdout=subprocess.PIPE, stderr=side)
    os.close(side)

    assert drain(terminal) == ""
    child.communicate(timeout=60)


@pytest.mark.parametrize(("value", "colored"), [("", True), ("1", False)])
def test_no_color(kv: Run, spawn: Spawn, value: str, colored: bool) -> None:
    kv("check", "outline@incident", "--property", "reads_own_writes")
    terminal, side = pty.openpty()
    trace = ".kvproto/traces/outline-incident-reads_own_writes.trace.json"
    child = spawn("show", trace, env={"NO_COLOR": value, "TERM": "xterm"}, stdout=side, stderr=side)
    os.close(side)
    out = drain(terminal)
    child.wait(timeout=60)

    assert "reads_own_writes" in out
    assert ("\033[" in out) == colored


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check outline@incident", 1),
        ("check outline@incident --json -", 1),
        ("check outline@patched", 0),
        ("list", 0),
        ("explain KV107", 0),
        ("--help", 0),
        ("check --help", 0),
        ("--version", 0),
    ],
)
@pytest.mark.parametrize("sink", ["| true", "| head -1 >/dev/null", ">&-"])
def test_a_reader_that_goes_away(command: str, code: int, sink: str) -> None:
    """The verdict stands, and nothing is said about the pipe."""
    script = f"set -o pipefail; {sys.executable} -m kvproto {command} {sink}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (code, "")


def test_standard_error_closed() -> None:
    script = f"{sys.executable} -m kvproto check outline@incident 2>&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 1
    assert "VIOLATED" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["check outline@patched", "--help", "list"])
def test_standard_output_on_a_full_disk(command: str) -> None:
    script = f"{sys.executable} -m kvproto {command} >/dev/full"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("error KV021")
    assert "Traceback" not in done.stderr


def test_a_terminal_with_few_letters(process: Run, kv: Run, here: Path) -> None:
    kv("check", "outline@incident", "--property", "reads_no_foreign_data")
    trace = ".kvproto/traces/outline-incident-reads_no_foreign_data.trace.json"
    done = process("replay", trace, env={"PYTHONIOENCODING": "latin-1"})

    assert done.code == 0
    assert done.err == ""
    assert "\\u" in done.out


def test_what_check_does_not_load(process: Run) -> None:
    heavy = ("rich", "numpy", "kvproto.replay", "kvproto.reference", "kvproto.engine.tier0")
    text = (
        "import sys; from kvproto.cli.main import main; main(['check', 'outline@incident', '-q']);"
        f"sys.exit(','.join(m for m in {heavy} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)

    assert done.stderr.strip() == ""
    # What only a finding needs waits for one.
    text = (
        "import sys; from kvproto.cli.main import main; main(['check', 'kv_transfer@safe', '-q']);"
        "sys.exit(any(m in sys.modules for m in ('kvproto.explain', 'kvproto.trace.build')))"
    )
    assert subprocess.run([sys.executable, "-c", text], timeout=60, check=False).returncode == 0
    text = "import sys, kvproto.cli.main; sys.exit('kvproto.engine' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], timeout=60, check=False).returncode == 0


def test_help_names_every_verb_and_nothing_else(kv: Run) -> None:
    out = kv("--help").out
    verbs = [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines() if line.startswith("  ")]

    assert verbs == list(VERBS)
    assert "..." not in out.partition("Commands:")[2]
    for verb in verbs:
        assert kv(verb, "--help").code == 0
