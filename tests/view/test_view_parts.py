"""Parts of the text of a trace: arrows, folds and filters, one step, what would have stopped it."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_samples import stored
from trace_strategies import containing, traces, transfers

from kvproto.report.build import report
from kvproto.report.report import Message
from kvproto.trace.analysis import Analysis, Dot, NoReturn
from kvproto.trace.printable import cells, printable, shown
from kvproto.trace.trace import Step, Trace, Vocabulary
from kvproto.view.choice import Choice, Gap, Part, parse, plan
from kvproto.view.detail import render_step
from kvproto.view.lanes import lane_lines, render_lanes, wrap_call
from kvproto.view.pagemap import page_text, render_page_changes
from kvproto.view.terminal import render_trace

relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)
any_trace = traces() | transfers() | transfers(hostile=False) | containing()


def letters(*steps: tuple[str, list[str], list[str]]) -> Trace:
    """A trace of machines with one box: who does something, what is in the box before and after."""
    made = [
        Step("do", {}, lane, "m.py:1", "", ("box",), ("box",), {"box": (sorted(old), sorted(new))})
        for lane, old, new in steps
    ]
    lanes = ("sender", "between", "taker")
    init = {"box": sorted(steps[0][1])}
    return Trace("m", "", "", {}, "p", "c", "violated", "d", init, tuple(made), vocabulary=Vocabulary(lanes))  # type: ignore[arg-type]


SENT = letters(
    ("sender", [], ["HELLO"]),
    ("taker", ["HELLO"], []),
    ("taker", [], ["BYE"]),
    ("between", ["BYE"], ["BYE"]),
    ("sender", ["BYE"], []),
    ("taker", [], ["BYE"]),
)


def test_messages_are_arrows_from_sender_to_taker() -> None:
    lines = render_lanes(report(SENT)).splitlines()
    head = lines[0]
    sender, taker = head.index("sender"), head.index("taker")
    right = next(line for line in lines if "HELLO to 2" in line)
    left = next(line for line in lines if "BYE to 5" in line)

    assert (sender, taker - 1) == (right.index("+"), right.index(">"))
    assert (taker, sender) == (left.index("+"), left.index("<"))
    assert lines.index(right) == next(n for n, line in enumerate(lines) if line.startswith("1  ")) + 1


def test_what_was_sent_earlier_is_named_where_it_is_taken() -> None:
    lines = render_lanes(report(SENT)).splitlines()

    assert "BYE from 3" in lines[next(n for n, line in enumerate(lines) if line.startswith("5  ")) + 1]
    assert not any("HELLO from" in line for line in lines), "the arrow is right above"


def test_what_nobody_takes_is_said() -> None:
    assert render_lanes(report(SENT)).count("BYE, not taken by the end") == 1


def test_messages_where_all_lanes_share_a_column() -> None:
    lanes = tuple(f"machine-{n}" for n in range(9))
    trace = dataclasses.replace(SENT, vocabulary=Vocabulary((*SENT.vocabulary.lanes, *lanes)))
    text = render_lanes(report(trace))

    assert "+-> taker: HELLO to 2" in text
    assert "HELLO from 1" in text


@pytest.mark.parametrize(
    ("call", "size", "lines"),
    [
        ("land(A,0)", 20, ["land(A,0)"]),
        ("transfer_failure(A)", 11, ["transfer_", "failure(A)"]),
        ("receive_metadata(0,0,A)", 11, ["receive_", "metadata", " (0,0,A)"]),
        ("dequeue(0,A)", 11, ["dequeue", " (0,A)"]),
        ("extraordinary()", 8, ["extraord", "inary()"]),
    ],
)
def test_calls_break_where_words_do(call: str, size: int, lines: list[str]) -> None:
    assert lines == wrap_call(call, size)


def busy_and_idle(idle: int) -> Trace:
    """A step that the verdict rests on, some that do nothing, and another one that it rests on."""
    init = {"bad": 0, "noise": 0}
    steps = [Step("begin", {}, "a", "m.py:1", "", (), ("bad",), {"bad": (0, 1)})]
    for n in range(idle):
        steps.append(Step("idle", {}, "b", "m.py:2", "", (), ("noise",), {"noise": (n, n + 1)}))
    steps.append(Step("end", {}, "a", "m.py:3", "", ("bad",), ("bad",), {"bad": (1, 2)}))
    return Trace("m", "", "", {}, "p", "c", "violated", "d", init, tuple(steps), blame=("bad",))


def test_long_traces_are_folded() -> None:
    text = render_trace(busy_and_idle(98))

    assert "What happened when, local steps folded (--all shows them)" in text
    assert text.count("... steps 2-99: 98 local steps of b") == 2
    picture = text.partition("What happened")[2].partition("\nSteps")[0]
    assert ["1", "100"] == re.findall(r"(?m)^ *(\d+)  \S", picture)


def test_short_traces_are_not() -> None:
    assert "idle" in render_trace(busy_and_idle(20))
    assert "local steps" not in render_trace(busy_and_idle(20))


def test_a_gap_of_one_step_is_no_gap() -> None:
    folded = plan(report(busy_and_idle(1)), Choice(folded=True))

    assert (1, 2, 3) == folded
    assert (1, Gap(2, 3), 4) == plan(report(busy_and_idle(2)), Choice(folded=True))


def test_a_band_goes_on_through_a_gap() -> None:
    trace = stored("late_write")
    lines = lane_lines(report(trace), choice=parse("lane=router"))
    gap = next(line.text for line in lines if line.kind == "gap" and "X" in line.text[40:])

    assert gap.lstrip().startswith("... steps ")


def test_pages_of_a_filter_alone_are_shown() -> None:
    text = render_page_changes(report(stored("incident")), choice=parse("page=decode/1"))
    heads = [line.split() for line in text.splitlines() if re.search(r" page  ", line)]

    assert [["decode", "page", "1"]] == heads


@given(any_trace, st.integers(40, 120), st.booleans(), st.booleans())
@relaxed
def test_parts_fit(trace: Trace, width: int, guilty: bool, folded: bool) -> None:
    made = report(trace)
    choice = Choice((Part("lane", made.lanes[:1]),), guilty, folded)
    texts = [render_lanes(made, width=width, choice=choice)]
    texts += [render_step(made, number, width=width) for number in range(len(trace.steps) + 1)]
    for line in "".join(texts).splitlines():
        assert cells(line) <= width
        assert printable(line) == line == line.rstrip(" ")


@given(any_trace)
@relaxed
def test_a_plan_has_every_step_once(trace: Trace) -> None:
    made = report(trace)
    for choice in (Choice(), Choice(folded=True), Choice(guilty=True), Choice((Part("lane", made.lanes[:1]),))):
        parts = plan(made, choice)
        steps = [n for p in parts for n in (range(p.first, p.last + 1) if isinstance(p, Gap) else [p])]
        assert list(range(1, len(trace.steps) + 1)) == steps
        if choice.filters:
            assert [row.number for row in made.rows if choice.fits(row)] == [p for p in parts if not isinstance(p, Gap)]


def test_one_step_says_what_it_went_by_and_the_whole_state() -> None:
    trace = stored("incident")
    text = render_step(report(trace), 20, width=100)
    state = list(trace.states())[20]

    assert text.startswith("Step 20 of 21  decode  commit(r=B)")
    assert "  req[B].report = SUCCESS   (set by step 19)" in text
    assert "  * req[B].decode: READY" in text
    for path in ("req[A].client", "req[B].need"):
        assert f"    {path}: {shown(state[path])}\n" in text


def test_messages_of_a_step() -> None:
    made = report(SENT)

    assert Message(1, 2, "sender", "taker", "box", "HELLO") in made.messages
    assert "sent HELLO to taker, taken at step 2   (box)" in render_step(made, 1)
    assert "took HELLO from sender, sent at step 1   (box)" in render_step(made, 2)


def test_what_is_under_way_after_a_step() -> None:
    made, late = report(SENT), report(stored("late_write"))

    assert "Under way after it\n  BYE from taker, since step 3\n" in render_step(made, 4)
    assert "Under way" not in render_step(made, 2)
    assert "  a write of A to decode page 0, posted at step 5\n" in render_step(late, 7)
    assert "a write of A to decode page 0" not in render_step(late, len(late.rows))


def test_the_point_of_no_return_is_a_rule_between_steps() -> None:
    found = Analysis(no_return=NoReturn(1, 2, (True, False, False, False), 9, True))
    lines = render_lanes(report(dataclasses.replace(busy_and_idle(1), analysis=found))).splitlines()
    at = [n for n, line in enumerate(lines) if re.match(r"[123]  ", line)]

    assert "=== POINT OF NO RETURN ===" == lines[at[0] + 1].strip()
    assert "=== no run from here on avoids the violation ===" == lines[at[1] + 1].strip()


def test_red_dots_with_which_all_steps_happen_are_told() -> None:
    dots = (Dot(1, "bad", 1, 0, "harmless", 3), Dot(3, "bad", 2, 1, "refused", 3, "bad == 1"))
    text = render_trace(dataclasses.replace(busy_and_idle(1), analysis=Analysis(dots=dots)))

    assert "would hold (red dots): step 1 bad." in " ".join(text.split())
    assert 1 == text.count("red dot: ")


def test_a_run_that_comes_back_says_where() -> None:
    text = render_lanes(report(dataclasses.replace(busy_and_idle(2), loop=1)))

    assert "=== steps 2-4 come again and again ===" in text
    assert "=== then step 2 again, for ever ===" in text


@pytest.mark.parametrize(
    ("owner", "contents", "text"),
    [
        ("B", ("B",), "B"),
        ("B", ("A",), "B<A"),
        (None, (None,), "."),
        (None, ("A",), ".<A"),
        ("B", ("A", None), "B<A/."),
    ],
)
def test_the_text_of_a_page(owner: str | None, contents: tuple[str | None, ...], text: str) -> None:
    assert text == page_text(owner, *contents)


def test_only_what_occurs_is_explained() -> None:
    text = render_page_changes(report(stored("incident")))
    assert ".<A: free, still holds A's content" in text
    assert "one slice of it" not in text
    bare = dataclasses.replace(stored("incident"), steps=(), blame=())
    assert "B<A" not in render_page_changes(report(bare))
