"""What is seen of a check while it runs, on terminals and elsewhere, and that it changes no result."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_runs import drain
from rich.console import Console

from kvproto.cli import live
from kvproto.cli.live import Watch, columns, drawn, strokes, wanted
from kvproto.engine.outcome import Detail, Options, Progress
from kvproto.engine.search import search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.view.underway import ASCII, BLOCKS, Moment

if TYPE_CHECKING:
    from cli_runs import Run

    from kvproto.engine.outcome import Result

CHECK = ("check", "outline@0.5.19", "--no-symmetry")
DRIVER = """
import sys
from kvproto.cli import live
from kvproto.cli.main import main
live.LINE_FROM_S = live.LINE_EVERY_S = live.PICTURE_EVERY_S = live.LOG_EVERY_S = 0.0
live.PICTURE_FROM_S, live.SHARE = {after}, 1.0
sys.exit(main(sys.argv[1:]))
"""
"""The command line without patience: what a long check shows, from a short one."""


def terminal(*args: str, after: float = 0.0, env: dict[str, str] | None = None, size: str = "") -> tuple[str, str, int]:
    """What a check draws on a terminal, what it prints, and its exit code."""
    master, side = pty.openpty()
    command = [sys.executable, "-c", DRIVER.format(after=after), *args]
    columns, _, rows = (size or "80x24").partition("x")
    outside = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    around = {**outside, "TERM": "xterm", "COLUMNS": columns, "LINES": rows, "PYTHONUTF8": "1", **(env or {})}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=side, text=True, env=around)
    os.close(side)
    seen = drain(master)
    os.close(master)
    out, _ = child.communicate(timeout=120)
    return seen, out, child.returncode


def steady(text: str) -> list[str]:
    """The lines without those that hold figures of one run."""
    return [line for line in text.splitlines() if " states  " not in line]


def test_a_long_check_is_drawn_and_nothing_of_it_stays() -> None:
    seen, out, code = terminal(*CHECK)

    assert 1 == code
    for words in ("Ctrl-C ends it", "frontier", "states/s", "memory", "violated", "depth  states", "action, how often"):
        assert words in seen
    # The cursor comes back, the lines are taken away, and results are apart from all that.
    assert seen.rindex("\033[?25h") > seen.rindex("\033[?25l")
    assert seen.endswith("\033[2K\r\033[K")
    assert "\033" not in out


@pytest.mark.parametrize("option", ["--progress", "--no-progress", "--quiet"])
def test_the_result_is_the_same_with_and_without(option: str, kv: Run) -> None:
    quiet = ("--quiet",) if option == "--quiet" else ()
    plain = kv(*CHECK, *quiet)
    seen, out, code = terminal(*CHECK, option)

    assert (plain.code, steady(plain.out)) == (code, steady(out))
    assert (option == "--progress") == bool(seen)


def test_the_first_seconds_are_a_line() -> None:
    seen, _, _ = terminal(*CHECK, after=1e9, size="60x24")

    assert "states/s" in seen
    assert "Ctrl-C" not in seen
    assert "\n" not in seen
    # A line that a terminal breaks would leave its first half behind.
    assert max(len(line.removesuffix("\033[K")) for line in seen.split("\r")) < 60


@pytest.mark.parametrize(("env", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_color(env: dict[str, str], colored: bool) -> None:
    seen, _, _ = terminal(*CHECK, env=env)

    assert "Ctrl-C ends it" in seen
    assert colored == bool(re.search(r"\033\[[0-9;]*3[16]m", seen))


def test_a_dumb_terminal_gets_lines() -> None:
    seen, _, _ = terminal(*CHECK, env={"TERM": "dumb"})

    assert "states/s" in seen
    assert "\033" not in seen
    assert all(line.startswith("outline@0.5.19  ") for line in seen.splitlines())


@pytest.mark.parametrize("size", ["80x24", "120x40", "40x10"])
def test_it_keeps_to_the_terminal(size: str) -> None:
    seen, _, _ = terminal(*CHECK, size=size)
    columns, rows = map(int, size.split("x"))
    pictures = re.split(r"\033\[\?25[lh]|\r(?:\033\[\d?[AK]\r?)+|(?:\r?\033\[2K(?:\033\[1A)?)+", seen)
    plain = [re.sub(r"\033\[[0-9;]*m", "", picture) for picture in pictures]

    assert any("Ctrl-C" in picture for picture in plain)
    for picture in plain:
        lines = picture.split("\r\n")
        assert len(lines) <= rows
        assert all(len(line) < columns for line in lines)


def test_elsewhere_a_line_now_and_then(process: Run, here: Path) -> None:
    command = [sys.executable, "-c", DRIVER.format(after=0.0), *CHECK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert re.fullmatch(r"(outline@0\.5\.19  [\d,]+ states  frontier .* of \d+ violated\n)+", done.stderr)
    assert "" == process(*CHECK).err, "a short check says nothing"


def test_what_the_options_say() -> None:
    assert [True, False] == [wanted(None, quiet=quiet) for quiet in (False, True)]
    assert all(wanted(True, quiet=quiet) and not wanted(False, quiet=quiet) for quiet in (False, True))


# --- the watch itself, by a clock of the test -----------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def progress(seconds: float, states: int, asked: list[float]) -> Progress:
    def detail() -> Detail:
        asked.append(seconds)
        return Detail(1, (1, 2), 3, {"a": 1}, (), 2)

    return Progress(states, 3, 2, 5, seconds, 1 << 20, detail)


def test_a_log_gets_a_line_every_ten_seconds(capfd: pytest.CaptureFixture[str]) -> None:
    clock, asked = Clock(), list[float]()
    report = Watch(1, clock=clock).begin("m", None)
    for tenth in range(350):
        clock.at = 100.0 + tenth / 10
        report(progress(tenth / 10, 100 * tenth, asked))
    lines = capfd.readouterr().err.splitlines()

    assert [10.0, 20.0, 30.0] == asked
    assert ["m  10,000 states", "m  20,000 states", "m  30,000 states"] == [line.split("  front")[0] for line in lines]
    assert all("1,000 states/s" in line for line in lines)


def test_a_look_is_taken_twice_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Details cost something; they are asked for only when they are drawn."""
    monkeypatch.setattr(live, "on_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    clock, asked = Clock(), list[float]()
    watch = Watch(1, clock=clock, busy=lambda: 0.0)
    report = watch.begin("m", None)
    for hundredth in range(1000):
        clock.at = 100.0 + hundredth / 100
        report(progress(hundredth / 100, 10 * hundredth, asked))
    watch.end()

    assert asked[0] >= 3.0
    assert 13 <= len(asked) <= 15
    assert all(later - earlier > 0.49 for earlier, later in pairwise(asked))


def test_drawing_takes_its_share_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine on which a picture costs a second of processor time there are few of them."""
    monkeypatch.setattr(live, "on_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    clock, asked = Clock(), list[float]()
    watch = Watch(1, clock=clock, busy=lambda: clock.at - 100.0 + len(asked))
    report = watch.begin("m", None)
    for second in range(1500):
        clock.at = 100.0 + second
        report(progress(float(second), second, asked))
    watch.end()

    assert 4 <= len(asked) <= 5, "a second each, of 1,500 at three in a thousand"


def test_each_target_is_counted(capfd: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    watch = Watch(2, clock=clock)
    for number, name in enumerate(("one", "two"), 1):
        report = watch.begin(name, None)
        clock.at += 11
        report(progress(11.0, 1100, []))
        watch.end()
        assert capfd.readouterr().err.startswith(f"{name} ({number} of 2)  1,100 states")


def test_letters_that_a_terminal_has() -> None:
    assert [BLOCKS, ASCII, ASCII, ASCII] == [strokes(name) for name in ("utf-8", "ascii", "latin-1", "no-such")]


def test_the_picture_on_a_console() -> None:
    detail = Detail(1, (1, 2), 3, {"a": 1}, ("p",), 2)
    moment = Moment("m", 1, 1, 3.0, progress(3.0, 6, []), detail)
    console = Console(
        file=io.StringIO(), width=60, height=20, record=True, force_terminal=True, color_system="standard"
    )
    console.print(drawn(moment, console))
    plain = console.export_text(clear=False)

    assert ["m   3 s   Ctrl-C ends it", "  states    6   frontier 3   depth 2"] == [
        line.rstrip() for line in plain.splitlines()[:2]
    ]
    assert "\x1b[1;31m1 of 2: p" in console.export_text(styles=True)


# --- what a search reports --------------------------------------------------------------------------------


def reported(name: str, on_report: Callable[[Progress, Detail], None], **options: object) -> Result:
    target = find(name)
    system = build(target.model, choose(target.model, preset=target.preset, scope=None, sets={}))
    return search(system, Options(**options), lambda now: on_report(now, now.detail()))  # type: ignore[arg-type]


@pytest.mark.parametrize("tier", ["bytecode", "python"])
@pytest.mark.parametrize("name", ["outline@incident", "blocks.control_channel"])
def test_details_add_up(name: str, tier: str) -> None:
    seen: list[tuple[Progress, Detail]] = []

    def note(now: Progress, detail: Detail) -> None:
        seen.append((now, detail))
        assert sum(detail.fired.values()) == now.transitions
        if now.frontier:
            assert sum(detail.levels) + detail.behind == now.states
            assert detail.first + len(detail.levels) - 1 == now.level
            assert 0 <= now.frontier - detail.behind <= detail.levels[-1]

    result = reported(name, note, tier=tier, keep_going=True)
    _, last = seen[-1]

    assert len(seen) > 3
    assert result.fired == last.fired
    assert sum(last.levels) == result.states
    assert len(last.levels) == result.depth
    settled = {f.claim.name for f in result.findings if f.verdict == "violated" and f.claim.kind == "invariant"}
    assert settled <= set(last.violated) <= {f.claim.name for f in result.findings if f.verdict == "violated"}
    assert len(result.findings) == last.properties


def test_watching_changes_no_figure() -> None:
    watched = reported("outline@incident", lambda *_: None)
    target = find("outline@incident")
    alone = search(build(target.model, choose(target.model, preset=target.preset, scope=None, sets={})), Options())

    assert (watched.states, watched.transitions, watched.depth, watched.fired) == (
        alone.states,
        alone.transitions,
        alone.depth,
        alone.fired,
    )
    assert [f.verdict for f in watched.findings] == [f.verdict for f in alone.findings]


def test_the_width_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    widths = []
    for said in ("132", "", "wide"):
        monkeypatch.setenv("COLUMNS", said)
        widths.append(columns())

    assert [132, 80, 80] == widths
