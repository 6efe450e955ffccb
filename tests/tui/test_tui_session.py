"""The cursor without a terminal: where it goes, what a filter leaves, what the panels say."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_samples import stored
from trace_strategies import containing, traces, transfers

from kvproto.report.build import report
from kvproto.report.report import Report
from kvproto.trace.printable import printable, shown
from kvproto.trace.trace import Trace
from kvproto.tui.session import PANELS, Session
from kvproto.view.choice import Choice

texts = pytest.importorskip("kvproto.tui.texts")
relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)
any_trace = traces() | transfers() | transfers(hostile=False) | containing()


@pytest.fixture(scope="module")
def incident() -> Report:
    return report(stored("incident"))


def test_the_cursor_begins_at_the_violation(incident: Report) -> None:
    session = Session(incident)

    assert (21, "step 21 of 21: decode attend(r=B)") == (session.step, session.words())


def test_a_walk_passes_every_state(incident: Report) -> None:
    session = Session(incident)
    session.first()
    seen = [session.state]
    for _ in incident.rows:
        session.move(1)
        seen.append(session.state)
    session.move(1)

    assert list(incident.trace.states()) == seen
    assert 21 == session.step


def test_the_next_step_of_the_slice() -> None:
    late = report(stored("late_read"))
    guilty = [row.number for row in late.rows if row.guilty]
    session = Session(late)
    session.first()
    seen = []
    while session.in_slice(1):
        seen.append(session.step)

    assert guilty == seen
    assert len(guilty) < len(late.rows)
    assert session.in_slice(-1)
    assert guilty[-2] == session.step


def test_a_search_goes_around(incident: Report) -> None:
    session = Session(incident)
    found = []
    for _ in range(3):
        assert session.find("COMMIT")
        found.append(session.step)

    assert [10, 20, 10] == found
    assert session.find("commit", -1)
    assert 20 == session.step
    assert not session.find("no such word")
    assert 20 == session.step


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("lane=router", [1, 13]),
        ("lane=router request=B", [13]),
        ("lane=router lane=network", None),
        ('Lane=Router "the router gives"', [1, 13]),
        ('"gives router"', None),
        ("page=decode/3 request=B", [14, 21]),
        ("request=B RESERVES", [14]),
        ("", list(range(1, 22))),
        ("colour=blue", None),
        ("lane=nowhere", None),
    ],
)
def test_a_filter(incident: Report, text: str, steps: list[int] | None) -> None:
    session = Session(incident)

    assert session.filter(text) == (steps is not None)
    assert [0, *(steps or range(1, 22))] == session.visible()


def test_the_cursor_leaves_what_a_filter_hides(incident: Report) -> None:
    session = Session(incident, step=7)
    session.filter("lane=router")
    assert 13 == session.step
    session.filter("lane=prefill request=A")
    assert 9 == session.step
    session.go(21)
    assert (21, Choice()) == (session.step, session.choice)


def test_what_a_step_went_by() -> None:
    session = Session(report(stored("late_write")))
    step = session.report.trace.steps[session.step - 1]
    writers = {
        max((n for n, s in enumerate(session.report.trace.steps[: session.step - 1], 1) if path in s.writes), default=0)
        for path in step.reads
    }

    assert writers - {0} == session.sources()


def test_pages_say_owner_writer_wrong_reads_and_writes_to_come(incident: Report) -> None:
    session = Session(incident)
    assert "decode  0:B 1:B<A! 2:B<A! 3:B<.!" in texts.pages(session).plain
    session.go(6)
    assert "decode  0:A 1:A<.~A 2:A<.~A 3:." in texts.pages(session).plain


def test_steps_in_sentences_are_links(incident: Report) -> None:
    spans = [span for line in texts.why(Session(incident)) for span in line.spans]
    actions = {span.style.meta["@click"] for span in spans if not isinstance(span.style, str) and span.style.meta}

    assert {"app.go(21)", "app.go(14)", "app.go(17)"} <= actions


@given(any_trace, st.lists(st.sampled_from(["j", "k", "n", "N", "fold", "go", "find", "clear", "lane"]), max_size=12))
@relaxed
def test_any_walk_stays_in_the_trace(trace: Trace, walk: list[str]) -> None:
    session = Session(report(trace))
    does: dict[str, Callable[[], object]] = {
        "j": lambda: session.move(1),
        "k": lambda: session.move(-1),
        "n": lambda: session.in_slice(1),
        "N": lambda: session.in_slice(-1),
        "fold": session.fold,
        "go": lambda: session.go(2),
        "find": lambda: session.find("a"),
        "clear": session.clear,
        "lane": lambda: session.filter(f"lane={trace.steps[0].lane}" if trace.steps else ""),
    }
    for key in walk:
        does[key]()
        assert session.step in session.visible()
        assert list(trace.states())[session.step] == session.state


@given(any_trace, st.booleans())
@relaxed
def test_nothing_that_a_terminal_would_obey(trace: Trace, full: bool) -> None:
    session = Session(report(trace), full=full)
    for number in range(len(trace.steps) + 1):
        session.go(number)
        said = [texts.panel(session, name).plain for name in PANELS]
        said += [texts.pages(session).plain, texts.status(session).plain, texts.title(session.report).plain]
        for line in "\n".join(said).split("\n"):
            assert printable(line) == line
        if full:
            lines = texts.panel(session, "step").plain.split("\n")
            values = [f"{printable(path)}: {shown(value)}" for path, value in session.state.items()]
            assert values == [line[2:] for line in lines[len(lines) - len(values) :]]
