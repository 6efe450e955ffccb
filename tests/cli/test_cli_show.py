"""`kvproto show`: parts of a trace, one step of it, and the viewer with keys."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvproto.trace import codec
from kvproto.trace.trace import Step

if TYPE_CHECKING:
    from cli_runs import Run, Spawn

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "traces"
ROOMS = str(TRACES / "sglang-0.5.23-rooms_are_cleared.trace.json")
LATE = str(TRACES / "sglang-0.5.19-writes_spare_other_requests.trace.json")


def rows(text: str) -> list[int]:
    """The numbers of the steps in the list of steps."""
    steps = text.partition("\nSteps")[2].partition("\nNext\n")[0]
    return [int(number) for number in re.findall(r"(?m)^[* ] ?(\d+)  \w+ +\w+\(", steps)]


def test_every_step_without_a_filter(kv: Run) -> None:
    assert list(range(1, 19)) == rows(kv("show", LATE).out)


@pytest.mark.parametrize(
    ("options", "fits"),
    [
        (["--lane", "router"], lambda step: step.lane == "router"),
        (["--lane", "router", "--lane", "network"], lambda step: step.lane in ("router", "network")),
        (["--request", "B"], lambda step: "B" in step.args.values()),
        (["--lane", "decode", "--request", "A"], lambda step: step.lane == "decode" and "A" in step.args.values()),
    ],
)
def test_a_part_of_the_steps(kv: Run, options: list[str], fits: Callable[[Step], bool]) -> None:
    steps = codec.read(LATE).steps
    text = kv("show", LATE, *options).out

    assert [number for number, step in enumerate(steps, 1) if fits(step)] == rows(text)
    assert "What happened when (a part; see the options)" in text
    assert "... step" in text


def test_the_steps_of_a_page(kv: Run) -> None:
    text = kv("show", LATE, "--page", "decode/0").out
    maps = text.partition("\nPages")[2].partition("\nSteps")[0]

    assert 18 in rows(text)
    assert [["decode", "page", "0"]] == [line.split() for line in maps.splitlines() if " page  " in line]


def test_the_slice(kv: Run) -> None:
    whole, part = kv("show", ROOMS).out, kv("show", ROOMS, "--slice").out
    starred = [line for line in whole.partition("\nSteps")[2].splitlines() if line.startswith("*")]

    assert [int(line[1:].split()[0]) for line in starred] == rows(part)
    assert 2 < len(starred) < len(rows(whole))


def test_switches_that_are_off_are_counted(kv: Run) -> None:
    off = [name for name, value in codec.read(LATE).parameters.items() if value is False]
    short, full = kv("show", LATE).out, kv("show", LATE, "--all").out

    assert f"{len(off)} switches are off (--all names them)" in " ".join(short.split())
    assert not any(name in short.partition("\nWhy")[0] for name in off)
    assert all(name in full.partition("\nWhy")[0] for name in off)


def test_what_would_have_stopped_it(kv: Run) -> None:
    """The recorded traces know it; `not` comes from the guard that would have refused."""
    text = kv("show", LATE).out
    section = " ".join(text.partition("\nWhat would have stopped it\n")[2].partition("\nSteps")[0].split())
    analysis = codec.read(LATE).analysis
    assert analysis is not None
    guard = analysis.guard()
    assert guard is not None

    assert section.startswith(f"1. With {guard.name} on")
    assert f"step {guard.step}, " in section
    assert "Point of no return: step " in section
    assert "(red dots): step " in section
    assert "=== POINT OF NO RETURN ===" in text


def test_one_step(kv: Run) -> None:
    trace = codec.read(LATE)
    text = kv("show", LATE, "--step", "18").out

    assert text.startswith("Step 18 of 18  network  land(p=0, d=0, r=A, k=0)")
    assert "LATE: posted at" in text
    assert "* d_content[0][0][0-1]: A, none" in text
    assert "require(" in text.partition("\nSource")[2]
    assert max(map(len, text.splitlines())) <= 80
    last = list(trace.states())[-1]
    assert f"req[A].client: {last['req[A].client']}" in text


def test_the_start(kv: Run) -> None:
    text = kv("show", LATE, "--step", "0").out

    assert text.startswith("Start of writes_spare_other_requests (18 steps)")
    assert "req[A].client: IDLE" in text
    assert "What it changed" not in text


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--step", "19"], "KV022", "the trace has 18 steps; --step takes 0 (the start) to 18"),
        (["--step", "-1"], "KV022", "-1"),
        (["--lane", "decoder"], "KV022", "did you mean 'decode'?; there are router, prefill"),
        (["--request", "Z"], "KV022", "'Z' is not in the trace"),
        (["--page", "decode/9"], "KV022", "did you mean 'decode/"),
        (["--step", "3", "--slice"], "KV026", "--step does not go with"),
        (["--tui", "--all"], "KV026", "--tui does not go with"),
        (["--tui"], "KV037", "no terminal"),
    ],
)
def test_what_does_not_fit(kv: Run, options: list[str], code: str, words: str) -> None:
    done = kv("show", LATE, *options)

    assert (2, "") == (done.code, done.out)
    assert done.err.startswith(f"error {code}")
    assert words in done.err


def test_without_the_extra(spawn: Spawn, here: Path) -> None:
    """A process in which textual cannot be imported, on a terminal."""
    (here / "textual.py").write_text("raise ModuleNotFoundError('no such package', name='textual')\n")
    child, err = on_a_terminal(spawn, LATE, PYTHONPATH=str(here))
    text = read(err, until="kvproto explain KV038")

    assert "pip install 'kvproto[tui]'" in text
    assert 2 == child.wait(timeout=60)


def test_the_viewer_on_a_terminal(spawn: Spawn) -> None:
    pytest.importorskip("textual")
    child, terminal = on_a_terminal(spawn, LATE)
    drawn = read(terminal, until="18 of 18")
    os.write(terminal, b"q")
    read(terminal, until="\x1b[?1049l")

    assert "writes_spare_other_requests" in drawn
    assert 0 == child.wait(timeout=60)


def test_the_page_of_the_documentation(kv: Run) -> None:
    """Its commands work, and what it quotes is printed by the first of them."""
    blocks = re.findall(r"(?ms)^```\n(.*?)^```", (ROOT / "docs" / "terminal.md").read_text("utf-8"))
    commands = [line for block in blocks for line in block.splitlines() if line.startswith("kvproto ")]
    quotes = [block for block in blocks if not block.startswith("kvproto ")]
    texts = []
    for command in commands:
        _, *words = command.split()
        done = kv(*(str(ROOT / word) if word.startswith("traces/") else word for word in words))
        assert (0, "") == (done.code, done.err)
        texts.append(done.out)

    assert 4 == len(commands)
    assert quotes
    assert all(quote in texts[0] for quote in quotes)


def on_a_terminal(spawn: Spawn, trace: str, **env: str) -> tuple[subprocess.Popen[str], int]:
    """The viewer in a process of its own, and our side of its terminal."""
    mine, side = pty.openpty()
    child = spawn("show", trace, "--tui", env={"TERM": "xterm-256color", **env}, stdin=side, stdout=side, stderr=side)
    os.close(side)
    return child, mine


def read(terminal: int, *, until: str) -> str:
    """What is written to a terminal up to some words."""
    data = b""
    end = time.monotonic() + 60
    while until.encode() not in data and time.monotonic() < end:
        try:
            data += os.read(terminal, 65536)
        except OSError:
            break
    return data.decode(errors="replace")
