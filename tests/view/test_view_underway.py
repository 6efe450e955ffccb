"""The picture of a search under way: it fits, it says what is so, and it holds no surprise for a terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvproto.engine.outcome import Detail, Progress
from kvproto.trace.printable import cells, printable
from kvproto.view.underway import ASCII, BLOCKS, Line, Moment, bar, duration, memory, one_line, picture, sentence, spark

DETAIL = Detail(
    first=1,
    levels=(1, 4, 20, 100, 400),
    behind=300,
    fired={"submit": 40, "land": 900, "commit": 450, "crash": 0, "retire": 0},
    violated=(),
    properties=7,
)


def moment(detail: Detail = DETAIL, **fields: object) -> Moment:
    now = Progress(
        states=825, frontier=500, level=5, transitions=1390, seconds=4.0, memory=12 << 20, detail=lambda: detail
    )
    made = Moment("sglang@x", 2, 10, 65.0, now, detail, (100.0, 50.0, 200.0))
    return replace(made, **fields)  # type: ignore[arg-type]


def text(lines: list[Line]) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in lines]


def shown(**fields: object) -> str:
    return "\n".join(text(picture(moment(**fields), width=80, height=24)))


def test_the_figures() -> None:
    lines = shown(memory_limit=48 << 20).splitlines()

    assert "sglang@x   target 2 of 10   1 min 5 s   Ctrl-C ends it" == lines[0]
    assert "  states    825   frontier 500   depth 5" == lines[1]
    assert "  speed     200 states/s   \u2585\u2583\u2588" == lines[2]
    assert "  memory    12 MiB of 48 MiB   \u2588\u2588\u2588\u2588\u2588" + "\u2591" * 15 == lines[3]
    assert "  violated  none of 7 so far" == lines[4]


def test_the_only_target_is_not_counted() -> None:
    assert "target" not in shown(targets=1, number=1)


def test_what_is_violated_is_named_and_marked() -> None:
    lines = picture(moment(detail=replace(DETAIL, violated=("reads_own", "no_leak"))), width=80, height=24)
    pieces = [piece for line in lines for piece in line if piece[1] == "bold red"]

    assert [("2 of 7: reads_own, no_leak", "bold red")] == pieces


def test_after_the_last_state_it_says_what_is_left() -> None:
    done = replace(moment().now, frontier=0)
    lines = shown(now=done, detail=replace(DETAIL, behind=0))

    assert "all states are found" in lines
    assert "states/s" not in lines


def levels(lines: list[str]) -> list[tuple[int, str, int]]:
    """(depth, drawing, states) of each row of the left chart."""
    found = [re.match(r" +(\d+)  ([\u2588-\u258f\u2591 ]*?) *([\d,]+)(?: |$)", line) for line in lines]
    return [(int(m[1]), m[2].strip(), int(m[3].replace(",", ""))) for m in found if m]


def test_levels_are_drawn_to_scale_and_what_is_to_come_is_open() -> None:
    rows = levels(text(picture(moment(), width=60, height=24)))

    assert [(1, 1), (2, 4), (3, 20), (4, 100), (5, 400), (6, 300)] == [(depth, size) for depth, _, size in rows]
    drawn = {depth: drawing for depth, drawing, _ in rows}
    # 200 of the 400 states of level 5 are expanded (500 wait, 300 of them behind it); of level 6 none.
    assert drawn[5].count("\u2588") == drawn[5].count("\u2591")
    assert {"\u2591"} == set(drawn[6])
    assert {"\u2588"} >= set(drawn[4].strip("\u258f\u258e\u258d\u258c\u258b\u258a\u2589"))
    assert len(drawn[1]) == 1


def test_the_last_levels_are_the_ones_that_are_drawn() -> None:
    many = replace(DETAIL, first=5, levels=tuple(range(1, 60)), behind=0)
    rows = levels(text(picture(moment(detail=many), width=60, height=60)))

    assert list(range(44, 64)) == [depth for depth, _, _ in rows]


def test_actions_come_by_how_often_they_happened() -> None:
    lines = shown()
    order = [lines.index(name) for name in ("land", "commit", "submit", "2 not yet")]

    assert sorted(order) == order
    assert "crash" not in lines


def test_actions_that_have_no_room_are_counted() -> None:
    many = replace(DETAIL, fired={f"a{number}": 100 - number for number in range(50)} | {"never": 0})
    lines = text(picture(moment(detail=many), width=80, height=24))
    named = sum(bool(re.search(r"\ba\d+ ", line)) for line in lines)

    assert f"{50 - named} more; 1 not yet" in "\n".join(lines)


@settings(max_examples=60, deadline=None)
@given(
    width=st.integers(5, 200),
    height=st.integers(1, 60),
    name=st.text(max_size=90),
    levels=st.lists(st.integers(1, 10**12), max_size=70),
    behind=st.integers(0, 10**12),
    fired=st.dictionaries(st.text(max_size=60), st.integers(0, 10**15), max_size=60),
    violated=st.lists(st.text(max_size=60), max_size=30),
    rates=st.lists(st.floats(0, 1e9), max_size=30),
    strokes=st.sampled_from([BLOCKS, ASCII]),
)
def test_it_fits_whatever_there_is_to_show(
    width: int,
    height: int,
    name: str,
    levels: list[int],
    behind: int,
    fired: dict[str, int],
    violated: list[str],
    rates: list[float],
    strokes: object,
) -> None:
    detail = Detail(3, tuple(levels), behind, fired, tuple(violated), 30)
    now = replace(moment().now, frontier=behind + (levels[-1] if levels else 0) // 2)
    drawn = moment(target=name, detail=detail, now=now, rates=tuple(rates), memory_limit=1 << 20)
    lines = text(picture(drawn, width=width, height=height, strokes=strokes))  # type: ignore[arg-type]

    assert len(lines) <= height
    assert all(cells(line) <= width for line in lines)
    assert all(line == printable(line) for line in lines)
    assert sentence(drawn) == printable(sentence(drawn))
    if strokes is ASCII and "".join([name, *fired, *violated]).isascii():
        assert "".join(lines).isascii()


@pytest.mark.parametrize(
    ("share", "width", "drawn"),
    [
        (0.0, 8, ""),
        (1.0, 8, "\u2588" * 8),
        (0.5, 8, "\u2588" * 4),
        (0.5, 1, "\u258c"),
        (1e-9, 8, "\u258f"),
        (2.0, 3, "\u2588" * 3),
    ],
)
def test_bars(share: float, width: int, drawn: str) -> None:
    assert drawn == bar(share, width)


def test_sparks() -> None:
    assert "\u2581\u2585\u2588" == spark([0.0, 4.0, 7.0])
    assert "_+#" == spark([0.0, 4.0, 7.0], ASCII)
    assert "" == spark([]) == spark([0.0, 0.0])


@pytest.mark.parametrize(("seconds", "words"), [(0.9, "0 s"), (59.9, "59 s"), (65, "1 min 5 s"), (7265, "2 h 1 min")])
def test_durations(seconds: float, words: str) -> None:
    assert words == duration(seconds)


def test_memory() -> None:
    assert ("0 MiB", "1023 MiB", "1.5 GiB") == (memory(0), memory(1023 << 20), memory(3 << 29))


def test_the_line_of_a_log() -> None:
    said = sentence(moment(detail=replace(DETAIL, violated=("reads_own",))))

    assert "sglang@x (2 of 10)  825 states  frontier 500  depth 5  200 states/s  12 MiB  1 of 7 violated" == said


@pytest.mark.parametrize("width", [79, 60, 40, 10])
@pytest.mark.parametrize("target", ["m", "a/long/path/to/a/folder/with/a/model.py:model@preset"])
def test_the_line_fits_and_loses_the_name_first(target: str, width: int) -> None:
    said = one_line(target, moment().now, width)

    assert cells(said) <= width
    if width >= 79:
        assert said.endswith("  825 states  frontier 500  depth 5  206 states/s  12 MiB")
