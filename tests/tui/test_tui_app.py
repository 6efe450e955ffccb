"""The viewer with keys, driven as by hand: walks, panels, search and filter, hostile text, windows of any size."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from trace_samples import stored
from trace_strategies import containing, traces, transfers

from kvproto.report.build import report
from kvproto.trace import codec
from kvproto.trace.analysis import Analysis, Dot, Guard, NoReturn
from kvproto.trace.printable import printable, shown
from kvproto.trace.trace import Trace

pytest.importorskip("textual")

from textual.pilot import Pilot
from textual.widgets import Input, Static

from kvproto.tui.app import Help, TraceApp
from kvproto.tui.lanes import Lanes

TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.trace.json"))

QUICK = ("outline-", "sglang-0.5.22-", "sglang-incident-committed")
"""What the traces begin with that are walked in every run of the tests; the others take a minute together."""

Play = Callable[[TraceApp, Pilot[None]], Awaitable[None]]


def play(trace: Trace, what: Play, *, size: tuple[int, int] = (80, 24), **more: Any) -> None:
    """Run the viewer without a terminal and do something with it."""

    async def playing() -> None:
        app = TraceApp(report(trace, **more))
        async with app.run_test(size=size) as pilot:
            await what(app, pilot)

    asyncio.run(playing())


def text(app: TraceApp, name: str) -> str:
    """What stands in a panel."""
    return str(app.query_one(name, Static).content)


def picture(app: TraceApp) -> list[str]:
    """The lines of the lanes that are in sight."""
    lanes = app.query_one(Lanes)
    return [lanes.render_line(y).text.rstrip() for y in range(lanes.size.height)]


async def press(app: TraceApp, pilot: Pilot[None], key: str) -> None:
    """A key, and what it leads to."""
    app.simulate_key(key)
    await pilot.pause()


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=() if p.name.startswith(QUICK) else pytest.mark.slow, id=p.name) for p in TRACES],
)
def test_a_walk_shows_every_state(path: Path) -> None:
    trace = codec.read(str(path))

    async def walk(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("d", "home")
        for number, state in enumerate(trace.states()):
            if number:
                await press(app, pilot, "j")
            shown_state = text(app, "#panel-text").split("\n")[-len(state) :]
            assert [f"{printable(path)}: {shown(value)}" for path, value in state.items()] == [
                line[2:] for line in shown_state
            ]
            words = text(app, "#status")
            assert words.startswith(f"step {number} of {len(trace.steps)}: " if number else "start, ")
            (cursor,) = [line for line in picture(app) if line.startswith(">")]
            assert (str(number) if number else "(start)") in cursor.split()
        await pilot.press("j")
        assert len(trace.steps) == app.session.step

    play(trace, walk)


def test_keys_move_one_cursor() -> None:
    async def keys(app: TraceApp, pilot: Pilot[None]) -> None:
        places = []
        for key in ("home", "j", "down", "k", "up", "up", "n", "n", "end", "N", "home", "N"):
            await pilot.press(key)
            places.append(app.session.step)
        guilty = [row.number for row in app.session.report.rows if row.guilty]
        before = [step for step in guilty if step < 19]
        assert [0, 1, 2, 1, 0, 0, guilty[0], guilty[1], 19, before[-1], 0, 0] == places

    play(stored("late_read"), keys)


def test_the_why_gives_way_to_the_step_once() -> None:
    async def panels(app: TraceApp, pilot: Pilot[None]) -> None:
        assert text(app, "#panel-text").startswith("1. At step 21, attend(r=B)")
        await pilot.press("k")
        assert "req[B].decode: TRANSFER -> READY" in text(app, "#panel-text")
        await pilot.press("1", "k")
        assert text(app, "#panel-text").startswith("1. At step 21, attend(r=B)")
        await pilot.press("4")
        assert "kvproto explain TRACE --save" in text(app, "#panel-text")

    play(stored("incident"), panels)


def test_the_source_of_a_shipped_model() -> None:
    path = next(path for path in TRACES if path.name == "sglang-incident-reads_own_writes.trace.json")

    async def sources(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("3", "k")
        assert "def commit(s, r: Req):" in text(app, "#panel-text")
        assert "DecodeTransferQueue.pop_transferred" in text(app, "#panel-text")
        await pilot.press("home")
        assert "The start has no source." == text(app, "#panel-text")

    play(codec.read(str(path)), sources, sources=True)


def test_search_and_filter() -> None:
    async def look(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"commit", "enter")
        assert 10 == app.session.step
        assert any(re.match(r">[* ]#10  ", line) for line in picture(app))
        await pilot.press("enter")
        assert 20 == app.session.step
        await pilot.press("up")
        assert 10 == app.session.step
        await pilot.press("escape", "f", *"lane=router", "enter")
        assert [0, 1, 13] == app.session.visible()
        assert "filter: 2 of 21 steps" in text(app, "#status")
        assert any("... steps 14-21: 8 steps" in line for line in picture(app))
        await pilot.press("escape")
        assert 22 == len(app.session.visible())

    play(stored("incident"), look)


def test_a_filter_that_nothing_fits_changes_nothing() -> None:
    async def look(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("f", *"lane=x", "enter")
        assert "no step fits 'lane=x'" in text(app, "#status")
        assert 22 == len(app.session.visible())
        assert app.query_one(Input).has_class("open")
        await pilot.press("escape")
        assert not app.query_one(Input).has_class("open")
        await pilot.press("k")
        assert 20 == app.session.step

    play(stored("incident"), look)


def test_the_cone_marks_what_the_step_went_by() -> None:
    async def cone(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("c")
        marked = {int(line.split()[1]) for line in picture(app) if line.startswith(" <")}
        assert marked
        assert marked <= app.session.sources()
        await pilot.press("c")
        assert not any(line.startswith(" <") for line in picture(app))

    play(stored("late_write"), cone, size=(100, 50))


def test_a_step_in_a_sentence_is_a_link() -> None:
    async def click(app: TraceApp, pilot: Pilot[None]) -> None:
        at = text(app, "#panel-text").split("\n")[0].index("step 21") + 1
        await pilot.press("home", "1")
        await pilot.click("#panel-text", offset=(at, 0))
        assert 21 == app.session.step

    play(stored("incident"), click)


def test_what_would_have_stopped_it() -> None:
    analysis = Analysis(
        guards=(Guard("lock_check", "switch", True, "refused", 2, 2, "barge", "lock is None"),),
        dots=(
            Dot(1, "lock", "A", None, "harmless", 2),
            Dot(1, "at[A]", "IN", "OUT", "refused", 2, "at[A] == IN"),
        ),
        no_return=NoReturn(1, None, (True, False, False), 3, True),
    )

    async def look(app: TraceApp, pilot: Pilot[None]) -> None:
        # The guard is the last sentence of the why, and not said twice.
        await pilot.press("1")
        why = text(app, "#panel-text")
        await pilot.press("4")
        words = text(app, "#panel-text")
        assert "With lock_check on" not in words
        told = "With lock_check on, step 2, barge(p=B), would have been refused: it needs lock is None."
        assert told in " ".join(why.split())
        assert "Point of no return: step 1" in words
        assert "(red dots): step 1 lock." in words
        await pilot.press("2", "k")
        assert "red dot: without the change of at[A] step 2 could not happen" in text(app, "#panel-text")
        assert any("=== POINT OF NO RETURN ===" in line for line in picture(app))

    play(dataclasses.replace(stored("plain"), analysis=analysis), look)


def test_help_opens_and_closes() -> None:
    async def helped(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        assert isinstance(app.screen, Help)
        await pilot.press("j", "escape", "k")
        assert not isinstance(app.screen, Help)
        assert 20 == app.session.step

    play(stored("incident"), helped)


def test_a_click_in_the_lanes() -> None:
    async def click(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("home")
        at = next(y for y, line in enumerate(picture(app)) if re.match(r"[>* ]* 3  ", line))
        await pilot.click(Lanes, offset=(10, at))
        assert 3 == app.session.step

    play(stored("incident"), click)


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40), (200, 60)])
def test_every_size_shows_cursor_pages_and_step(size: tuple[int, int]) -> None:
    async def look(app: TraceApp, pilot: Pilot[None]) -> None:
        for key in ("k", "home", "end"):
            await pilot.press(key)
            assert 1 == sum(line.startswith(">") for line in picture(app))
        for name in ("#pages", "#panel", "#status"):
            widget = app.query_one(name)
            assert widget.size.height > 0
            assert widget.region.right <= size[0]
            assert widget.region.bottom <= size[1]
        assert app.query_one("#why").display == (size[0] >= 110)

    play(stored("ranks_two"), look, size=size)


def test_a_window_that_changes_its_size() -> None:
    async def look(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(130, 40)
        await pilot.pause()
        wide = picture(app)
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert "prefill" in wide[0]
        assert "lane: action" in picture(app)[0]
        assert any(line.startswith(">") for line in picture(app))

    play(stored("ranks_two"), look)


def test_hostile_text_is_neutral() -> None:
    evil = "\x1b[2J\u202e\n[red]VIOLATED[/red][/]"
    plain = stored("plain")
    step = dataclasses.replace(plain.steps[0], action=evil, args={evil: evil}, lane=evil, loc=evil, text=evil)
    trace = dataclasses.replace(
        plain, steps=(step, *plain.steps[1:]), model=evil, property=evil, claim=evil, why=(evil,), scope=evil
    )

    async def look(app: TraceApp, pilot: Pilot[None]) -> None:
        shown_lines: list[str] = []
        for key in ("home", "j", "1", "2", "3", "4", "d", "slash", *"[red]", "enter", "escape", "f", "[", "enter"):
            await pilot.press(key)
            for name in ("#title", "#pages-text", "#panel-text", "#status"):
                shown_lines += text(app, name).split("\n")
            shown_lines += picture(app)
        for line in shown_lines:
            assert printable(line) == line
        assert any("\\x1b[2J\\u202e\\n[red]VIOLATED[/red][/]" in line for line in shown_lines)

    play(trace, look)


@given(traces() | transfers() | containing())
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=12)
def test_any_trace_can_be_walked(trace: Trace) -> None:
    """Whatever it is called and whatever happens in it."""

    async def walk(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("d", "home")
        for number in range(len(trace.steps) + 1):
            assert number == app.session.step
            for line in [*picture(app), *text(app, "#panel-text").split("\n"), text(app, "#status")]:
                assert printable(line) == line
            await press(app, pilot, "j")

    play(trace, walk)


def test_a_trace_without_steps() -> None:
    async def look(app: TraceApp, pilot: Pilot[None]) -> None:
        await pilot.press("j", "n", "c", "d")
        assert "the initial state decides" == text(app, "#status")
        assert "  x: true" == text(app, "#panel-text")

    play(Trace("m", "", "s", {}, "p", "c", "violated", "d", {"x": True}, (), blame=("x",)), look)


def test_a_thousand_steps() -> None:
    """Only what is in sight is drawn, and folds leave few lines."""
    plain = stored("plain")
    state, steps = dict(plain.init), []
    for number in range(1000):
        step = plain.steps[number % 2]
        delta = {path: (state[path], new) for path, (_, new) in step.delta.items()}
        state |= {path: new for path, (_, new) in delta.items()}
        steps.append(dataclasses.replace(step, reads=(), delta=delta))

    async def look(app: TraceApp, pilot: Pilot[None]) -> None:
        assert any(re.match(r">[* ] 1000  ", line) for line in picture(app))
        await pilot.press("home", "j", "j")
        assert any(re.match(r">[* ] +2  ", line) for line in picture(app))
        await pilot.press("l")
        assert len(app.query_one(Lanes).lines) < 20
        assert any("local steps" in line for line in picture(app))

    play(dataclasses.replace(plain, steps=tuple(steps)), look)
