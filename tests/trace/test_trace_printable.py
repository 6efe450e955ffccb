"""Neutral text: nothing a terminal obeys, nothing wider than asked."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvproto.trace.printable import cells, cut, fold, pad, printable, shown


@given(st.text())
def test_nothing_to_obey_is_left(text: str) -> None:
    clean = printable(text)
    assert not {unicodedata.category(c) for c in clean} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert printable(clean) == clean
    clean.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text", "plain text"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("two\nlines\t\r", "two\\nlines\\t\\r"),
        ("\u202eevil", "\\u202eevil"),
        ("\ud800", "\\ud800"),
        ("\x9b", "\\x9b"),
        ("\U000e0041", "\\U000e0041"),
        ("café \u5bbd", "café \u5bbd"),
    ],
)
def test_escapes(text: str, expected: str) -> None:
    assert printable(text) == expected


@given(st.text().map(printable), st.integers(2, 30))
def test_folding_keeps_words_and_width(text: str, width: int) -> None:
    lines = fold(text, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(st.text().map(printable), st.integers(0, 30))
def test_cutting_and_padding(text: str, width: int) -> None:
    assert cells(cut(text, width)) <= width
    assert cells(pad(text, width)) >= width


def test_values_as_words() -> None:
    assert shown(None) == "none"
    assert shown(True) == "true"
    assert shown(3) == "3"
    assert shown([0, "A\n"]) == "{0, A\\n}"
    assert shown([]) == "{}"
