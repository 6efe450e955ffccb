"""Mermaid: its own parser finds the machines and messages that are meant, whatever names they have."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

import pytest
from formats_samples import HOSTILE, RECORDED, ascii_name, hostile_trace, long_trace, recorded, relaxed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mermaid_reader import parsed
from trace_strategies import containing, traces, transfers

from kvproto.formats.mermaid import MOST_CHARACTERS, MOST_MESSAGES, escaped, mermaid
from kvproto.report import Report, report
from kvproto.trace.printable import printable
from kvproto.trace.trace import FlightView, Step, Trace, Value, Vocabulary

NOTE, LOOP, END = 2, 10, 11
"""Types of what Mermaid counts as messages and is none."""

ARROW = re.compile(r"  (p\d+)(->>|--\)|--x)(p\d+): ([^:;#]|#\d+;)*")
LINE = re.compile(
    r"sequenceDiagram|  %% \d+ of \d+ steps, \d+ left out|  participant p\d+ as ([^:;#]|#\d+;)*"
    r"|  Note over p\d+(,p\d+)?: ([^:;#]|#\d+;)*|  loop for ever|  end"
)


def decoded(text: str) -> str:
    """Text as Mermaid draws it."""
    return html.unescape(re.sub(r"&?#(\d+);", r"&#\1;", text))


def arrows(text: str) -> list[re.Match[str]]:
    """The messages of a diagram, all of whose other lines have one of the known forms."""
    found = []
    for line in text.splitlines():
        match = ARROW.fullmatch(line)
        assert match or LINE.fullmatch(line), line
        found += [match] if match else []
    return found


def numbers(text: str) -> set[int]:
    """The steps that a diagram shows."""
    return {int(re.match(r"\d+", arrow[0].split(": ", 1)[1])[0]) for arrow in arrows(text)}  # type: ignore[index]


def small(shown: Report) -> str:
    """The diagram, within its limits and the same every time."""
    text = mermaid(shown)

    assert text == mermaid(shown)
    assert len(text) <= MOST_CHARACTERS
    assert len(arrows(text)) <= MOST_MESSAGES
    return text


def as_told(shown: Report, text: str, read: dict[str, Any]) -> None:
    """What Mermaid read is what the lines say."""
    assert read.get("type") == "sequence", read.get("error")
    messages = [m for m in read["messages"] if m["type"] not in (NOTE, LOOP, END)]
    assert [(a[1], a[3], decoded(a[0].split(": ", 1)[1])) for a in arrows(text)] == [
        (m["from"], m["to"], decoded(m["message"])) for m in messages
    ]
    lanes = [decoded(label) for _, label in read["actors"]]
    assert len(lanes) == len({name for name, _ in read["actors"]})
    known = [printable(lane) for lane in shown.lanes] or [""]
    assert all(any(lane.startswith(name.removesuffix("...")) for lane in known) for name in lanes)
    assert text.count("  Note over") == sum(m["type"] == NOTE for m in read["messages"])


def test_recorded_traces_in_the_parser() -> None:
    reports = [recorded(path) for path in RECORDED]
    texts = [small(shown) for shown in reports]
    for shown, text, read in zip(reports, texts, parsed(texts), strict=True):
        as_told(shown, text, read)
        assert {row.number for row in shown.rows} == numbers(text)


def test_hostile_names_in_the_parser() -> None:
    reports = [report(hostile_trace(word)) for word in HOSTILE]
    reports += [report(replace(shown.trace, loop=at)) for shown in reports[:4] for at in (0, 1, 3)]
    texts = [small(shown) for shown in reports]
    for shown, text, read in zip(reports, texts, parsed(texts), strict=True):
        as_told(shown, text, read)


def test_any_trace_in_the_parser() -> None:
    found: list[Report] = []

    @settings(relaxed, max_examples=60, database=None, derandomize=True)
    @given(traces() | transfers() | containing())
    def collect(trace: Trace) -> None:
        found.append(report(trace))

    collect()
    texts = [small(shown) for shown in found]
    for shown, text, read in zip(found, texts, parsed(texts), strict=True):
        as_told(shown, text, read)


@relaxed
@given(traces() | transfers() | containing())
def test_limits_of_any_trace(trace: Trace) -> None:
    small(report(trace))


@relaxed
@given(st.text() | st.lists(st.sampled_from(HOSTILE)).map("".join))
@example("style: #35;")
def test_escaped_text_is_the_text(text: str) -> None:
    code = escaped(text, 400)

    assert re.fullmatch(r"(?:[A-Za-z0-9 .,_()\[\]/+'=*?!-]|#\d+;)*", code)
    shown = printable(text)
    assert decoded(code) == shown if len(shown) < 200 and shown.isascii() else True


@pytest.mark.parametrize("word", HOSTILE, ids=ascii_name)
def test_hostile_names(word: str) -> None:
    text = small(report(hostile_trace(word)))

    assert numbers(text) == {1, 2, 3}


def test_a_long_trace_keeps_what_the_verdict_rests_on() -> None:
    shown = report(replace(long_trace(400, 3), blame=("owner[0]",)))
    few = report(replace(long_trace(400, 3)))
    text = small(shown)

    first = min(numbers(text))
    assert numbers(text) == set(range(first, 401))
    assert MOST_MESSAGES - 2 <= len(arrows(text))  # the next step before would be too much
    assert f"Note over p0,p2: steps 1-{first - 1} left out" in text
    assert f"{401 - first} of 400 steps, {first - 1} left out" in text
    # With all of them in the slice the last ones are kept, too.
    assert 400 in numbers(mermaid(few, messages=7)) < set(range(394, 401))


def test_steps_of_the_slice_go_last() -> None:
    idle = Step("idle", {}, "b", "m.py:1", "", (), (), {})
    act = Step("act", {}, "a", "m.py:1", "", (), ("x",), {})
    blank = replace(hostile_trace("x"), init={"x": 0}, blame=("x",), why=("Why.",))
    shown = report(replace(blank, steps=(act, *[idle] * 30, act, *[idle] * 30)))

    assert [row.number for row in shown.rows if row.guilty] == [32]
    assert {32, 62} <= numbers(mermaid(shown, messages=3)) == {32, 61, 62}
    assert "32* act()" in mermaid(shown, messages=3).replace("#42;", "*")


def test_a_small_limit_of_characters() -> None:
    shown = report(long_trace(400, 3))
    text = mermaid(shown, characters=10_000)

    assert 2 < len(numbers(text)) and len(text) <= 10_000


def test_a_step_with_many_writes_is_one_of_many() -> None:
    ends = {f"fly[{r}]": ([1, 2, 3, 4], []) for r in "ABCDEFGH"}
    step = Step("clear", {}, "b", "m.py:1", "", (), tuple(ends), ends)
    first = {path: ([], new) for path, (new, _) in ends.items()}
    post = Step("post", {}, "a", "m.py:1", "", (), tuple(first), first)
    empty: dict[str, Value] = {path: [] for path in ends}
    words = Vocabulary(("a", "b"), (), (FlightView(tuple("ABCDEFGH"), "fly[{r}]", "", ""),))
    trace = replace(hostile_trace("x"), init=empty, steps=(post, step), blame=(), vocabulary=words)
    text = small(report(trace))

    assert numbers(text) == {1, 2}
    assert "p0--xp1: 2 clear() write 1 of A, posted at 1" in text
    assert "p1->>p1: 2 clear() and 27 more" in text


def test_what_repeats_is_a_loop() -> None:
    lassos = [shown for path in RECORDED if (shown := recorded(path)).trace.loop is not None]
    turning = [shown for shown in lassos if shown.trace.loop != len(shown.rows)]
    resting = [shown for shown in lassos if shown.trace.loop == len(shown.rows)]

    assert turning or resting
    for shown in turning:
        assert mermaid(shown).count("  loop for ever\n") == mermaid(shown).count("  end\n") == 1
    for shown in resting:
        assert "then nothing happens any more" in mermaid(shown)


def test_messages_and_writes_are_drawn_where_they_arrive() -> None:
    (path,) = [p for p in RECORDED if p.name == "sglang-0.5.19-writes_spare_other_requests.trace.json"]
    text = mermaid(recorded(path))

    assert "p4->>p2: 8 receive_metadata(0,0,A) METADATA, sent at 7\n" in text
    assert "p2--)p3: 18 land(0,0,A,0) write 0 of A, posted at 14\n" in text
    assert "Note over p3: LATE#58; posted at 14 by A, page 0 is B's now\n" in text
