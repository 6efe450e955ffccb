"""The pictures: golden texts, widths, late landings, hostile names, colour."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kvproto.shipped.models import outline
from recorded_samples import RECORDED
from trace_samples import SAMPLES, A, build, expected_texts, full_run, golden, late_read, stored
from trace_strategies import containing, traces, transfers

from kvproto.report.build import report
from kvproto.trace.printable import cells, printable
from kvproto.trace.trace import FlightView, PoolView, Step, Trace, Vocabulary
from kvproto.view.lanes import render_lanes
from kvproto.view.pagemap import render_page_changes, render_page_map
from kvproto.view.steps import render_steps
from kvproto.view.terminal import render_trace

relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)
widths = st.integers(40, 140)
any_trace = traces() | transfers() | transfers(hostile=False) | containing()


def check(text: str, width: int) -> None:
    """No line is too wide or ends in a space; nothing that a terminal would obey."""
    assert text.endswith("\n")
    for line in text.split("\n"):
        assert cells(line) <= width
        assert line == line.rstrip(" ")
        assert printable(line) == line


@pytest.mark.parametrize("name", [*SAMPLES, *RECORDED])
def test_golden(name: str) -> None:
    assert expected_texts(stored(name))["terminal"] == golden(name, "terminal").read_text("utf-8")


@pytest.mark.parametrize("name", [*SAMPLES, *RECORDED])
@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_samples_fit(name: str, width: int) -> None:
    text = render_trace(stored(name), width=width)
    check(text, width)
    assert text.isascii()


@given(any_trace, widths)
@relaxed
def test_lanes_fit(trace: Trace, width: int) -> None:
    text = render_lanes(report(trace), width=width)
    check(text, width)
    for number in range(1, len(trace.steps) + 1):
        assert re.search(rf"(?m)^ *{number}  ", text)


@given(any_trace, widths, st.integers(-1, 9))
@relaxed
def test_page_maps_fit(trace: Trace, width: int, after: int) -> None:
    check(render_page_map(report(trace), after=after, width=width), width)
    check(render_page_changes(report(trace), width=width), width)


@given(any_trace, widths)
@relaxed
def test_everything_fits(trace: Trace, width: int) -> None:
    check(render_steps(report(trace), width=width), width)
    check(render_trace(trace, width=width), width)


@given(any_trace)
@relaxed
def test_colour_adds_nothing_but_colour(trace: Trace) -> None:
    pytest.importorskip("rich")
    assert re.sub(r"\x1b\[[0-9;]*m", "", render_trace(trace, color=True)) == render_trace(trace)


def test_colour_ignores_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b[1;31mVIOLATED" in render_trace(stored("incident"), color=True)


def test_a_late_landing_is_visible() -> None:
    lines = render_lanes(report(stored("late_write"))).splitlines()
    rows = [line for line in lines if re.match(r" *\d+  ", line)]
    column = rows[4].index("0", 40)
    assert ["0", "|", "!", "!", "!", "X"] == [line[column] for line in rows[4:10]]
    late = next(line for line in lines if line.endswith("LATE: posted at 5 by A, page 0 is B's now ^"))
    assert column == late.index("^")
    assert any("X: lands LATE" in line for line in lines)


@pytest.mark.parametrize("width", [40, 50, 80])
def test_a_late_landing_is_visible_at_any_width(width: int) -> None:
    assert "LATE" in render_lanes(report(late_read()), width=width)


def test_an_ordinary_run_is_not_called_late() -> None:
    text = render_lanes(report(stored("incident")))
    assert "LATE" not in text
    assert "!" not in text
    assert "WRONG READ: A's content in pages 1-2, nothing in pages 3-7" in " ".join(text.split())


def test_writes_to_several_ranks_have_their_names() -> None:
    text = render_lanes(report(stored("ranks_two")))

    assert any(line.split()[-2:] == ["0[0]", "0[1]"] for line in text.splitlines())
    assert "0[1], 0p=1: position 0, to rank 1" in " ".join(text.split())
    assert "0[1]" not in render_lanes(report(stored("ranks_bystander")))


def test_long_names_break_at_their_underscores() -> None:
    words = [line.split() for line in render_lanes(report(stored("ranks_two"))).splitlines()]

    at = next(number for number, row in enumerate(words) if "receive_" in row)
    assert words[at + 1] == ["metadata"]


def test_every_rank_has_a_page_map() -> None:
    text = render_page_changes(report(stored("ranks_two")))

    assert [line.split()[0] for line in text.splitlines() if " page " in f"{line} "][:3] == [
        "prefill",
        "decode[0]",
        "decode[1]",
    ]


def test_a_reused_source_is_visible() -> None:
    assert "WRONG BYTES: posted at 5 by A, its source page 0 is B's now ^" in render_lanes(
        report(stored("reused_source"))
    )


def test_more_writes_than_columns_are_counted() -> None:
    trace = build(
        outline.model,
        "incident",
        "incident",
        full_run(A, 2, long=True)[:7],
        property="none",
        claim="none",
        blame=[],
        larger_pool=True,
    )
    rows = [line.split() for line in render_lanes(report(trace), width=40).splitlines()]
    assert ["0", "1", "2", "3", "4", "5", "+2"] in [row[-7:] for row in rows]
    assert ["v", "|", "|", "|", "|", "+2"] in [row[-6:] for row in rows]


def test_a_page_with_a_long_name() -> None:
    """Its name is cut where the columns of flights would leave no room for anything else."""
    page = "p" * 60
    pool, flight = PoolView("pool", (page,), "owner", "content"), FlightView(("A",), "flying[{r}]", "", "")
    init = {f"owner[{page}]": None, f"content[{page}]": None, "flying[A]": []}
    post = Step("post", {}, "m", "m.py:1", "", (), (), {"flying[A]": ([], [page])})
    plain = stored("plain")
    trace = dataclasses.replace(
        plain, init=init, steps=(post,), blame=(), vocabulary=Vocabulary(("m",), (pool,), (flight,))
    )
    for width in (40, 80):
        text = render_lanes(report(trace), width=width)
        check(text, width)
        assert "ppp..." in text


def test_page_map_after_a_step() -> None:
    trace = stored("incident")
    assert "B<A B<A B<A B<. B<. B<. B<. B<." in render_page_map(report(trace), after=14)
    assert "B   B<A B<A B<." in render_page_map(report(trace))
    assert "at the start" in render_page_map(report(trace), after=0)


def test_page_changes_mark_the_wrong_read() -> None:
    row = next(line for line in render_page_changes(report(stored("incident"))).splitlines() if line.startswith("21"))
    assert row.split() == ["21", "attend(B)", "B", "B<A!", "B<A!", *["B<.!"] * 5]


def test_many_pages_come_in_blocks() -> None:
    text = render_page_changes(report(stored("incident")), width=44)
    assert text.count("decode page") == 2
    assert text.count("\n21  attend(B)") == 2
    check(text, 44)


def test_marks_of_the_slice_only_where_they_say_something() -> None:
    assert "Steps\n 1  A" in render_trace(stored("plain"))
    text = render_trace(stored("late_read"))
    assert "Steps (* the verdict rests on it)\n* 1  router" in text
    assert "\n  8  router" in text


def test_a_kept_explanation_is_shown() -> None:
    assert "1. Because." in render_trace(dataclasses.replace(stored("plain"), why=("Because.",)))


def test_a_trace_without_steps() -> None:
    trace = Trace("m", "", "s", {}, "p", "c", "violated", "d", {"x": True}, (), blame=("x",))
    text = render_trace(trace)
    assert "0 steps" in text
    assert "no steps" in text
    check(text, 80)


def test_hostile_text_is_neutral() -> None:
    evil = "\x1b[2J\u202e\nVIOLATED"
    plain = stored("plain")
    step = dataclasses.replace(plain.steps[0], action=evil, args={evil: evil}, lane=evil, loc=evil, text=evil)
    trace = dataclasses.replace(
        plain, steps=(step, *plain.steps[1:]), model=evil, property=evil, claim=evil, why=(evil,), scope=evil
    )
    check(render_trace(trace), 80)


def test_a_run_without_end() -> None:
    trace = dataclasses.replace(stored("plain"), loop=1)
    assert "\n    then step 2 again, for ever\n" in render_trace(trace)
    stops = dataclasses.replace(trace, loop=len(trace.steps))
    assert "\n    then nothing happens any more\n" in render_trace(stops)
    check(render_trace(stops), 80)


def test_a_witness_is_no_bad_news() -> None:
    trace = dataclasses.replace(stored("plain"), verdict="holds", scope="")
    text = render_trace(trace)
    assert text.startswith("HOLDS  ")
    assert "scope" not in text.partition("Why")[0]
    assert render_trace(trace, color=True).startswith("\x1b[1;32mHOLDS")
