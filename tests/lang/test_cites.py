"""Citations: what parses, what each part means, and what is said about those that do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvproto.lang import Machine, action, flag
from kvproto.lang.cites import BadCite, Releases, checked, parse, releases, version

RELEASES = [version(f"0.5.{n}") for n in range(18, 25)]


def covered(text: str) -> list[int]:
    return [release[-1] for release in RELEASES if parse(text).releases.cover(release)]


@pytest.mark.parametrize(
    ("text", "kind", "path", "name", "project"),
    [
        ("srt/disagg/decode.py:pop_preallocated", "code", "srt/disagg/decode.py", "pop_preallocated", ""),
        ("a.py:Queue.add.inner", "code", "a.py", "Queue.add.inner", ""),
        ("srt/environ.py:SGLANG_X", "code", "srt/environ.py", "SGLANG_X", ""),
        ("srt/server_args.py:--page-size", "option", "srt/server_args.py", "--page-size", ""),
        ("mooncake:src/te.cpp:batchTransferSync", "project", "src/te.cpp", "batchTransferSync", "mooncake"),
        ("mooncake:src/te.cpp:Engine::~Engine", "project", "src/te.cpp", "Engine::~Engine", "mooncake"),
        ("#36988", "pull", "", "36988", ""),
        ("note: the router sends both legs", "note", "", "the router sends both legs", ""),
        ("note:x", "note", "", "x", ""),
        ("note: see a.py:f", "note", "", "see a.py:f", ""),
    ],
)
@pytest.mark.parametrize("before", ["", "0.5.20+ ", "..0.5.20 ", "0.5.19..0.5.21 ", "0.5.20 "])
def test_sources(before: str, text: str, kind: str, path: str, name: str, project: str) -> None:
    cite = parse(before + text)

    assert (kind, path, name, project) == (cite.kind, cite.path, cite.name, cite.project)
    assert before + text == cite.text
    assert text.replace("note:x", "note: x") == cite.source
    assert (before.strip() or "every") == str(cite.releases)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", [18, 19, 20, 21, 22, 23, 24]),
        ("0.5.20 ", [20]),
        ("0.5.20+ ", [20, 21, 22, 23, 24]),
        ("..0.5.20 ", [18, 19, 20]),
        ("0.5.19..0.5.21 ", [19, 20, 21]),
        ("0.6+ ", []),
        ("0.5+ ", [18, 19, 20, 21, 22, 23, 24]),
        ("0.5.9..0.5.19 ", [18, 19]),  # as numbers, not as text
    ],
)
def test_releases(before: str, expected: list[int]) -> None:
    assert expected == covered(before + "a.py:f")


@given(
    st.one_of(st.none(), st.tuples(st.integers(0, 9), st.integers(0, 99))),
    st.one_of(st.none(), st.tuples(st.integers(0, 9), st.integers(0, 99))),
    st.tuples(st.integers(0, 9), st.integers(0, 99)),
)
def test_a_range_reads_as_it_prints(
    first: tuple[int, int] | None, last: tuple[int, int] | None, at: tuple[int, int]
) -> None:
    if first is not None and last is not None and first > last:
        first, last = last, first
    span = Releases(first, last)

    assert span == (Releases() if str(span) == "every" else releases(str(span)))
    assert span.cover(at) == ((first or at) <= at <= (last or at))


@pytest.mark.parametrize(
    ("text", "part", "why"),
    [
        ("", "", "is no file"),
        ("0.5.x a.py:f", "0.5.x", "is no range of releases"),
        ("0.5.20.. a.py:f", "0.5.20..", "is no range of releases"),
        ("0.5.20+..0.5.21 a.py:f", "0.5.20+..0.5.21", "is no range of releases"),
        ("..0.5.20+ a.py:f", "..0.5.20+", "is no range of releases"),
        ("0.5.19..0.5.20..0.5.21 a.py:f", "0.5.19..0.5.20..0.5.21", "is no range of releases"),
        (".. a.py:f", "..", "is no range of releases"),
        ("5 a.py:f", "5", "is no range of releases"),
        ("0.5.21..0.5.20 a.py:f", "0.5.21..0.5.20", "ends before it begins"),
        ("0.5.21..0.5.21 a.py:f", "0.5.21..0.5.21", "ends before it begins"),
        ("0.5.20", "0.5.20", "is no file"),
        ("0.5.20 ", "", "is no file"),
        ("0.5.20  a.py:f", " a.py:f", "is no file"),
        ("a.py", "a.py", "is no file"),
        ("a.py:", "a.py:", "is no name"),
        ("a:f", "a:f", "is no file"),
        ("/a.py:f", "/a.py:f", "is no file"),
        ("../a.py:f", "../a.py:f", "is no range"),
        ("x/../a.py:f", "x/../a.py:f", "is no file"),
        ("a.py:f()", "f()", "is no name"),
        ("a.py:f g", "a.py:f g", "is no file"),
        ("a.py:12", "12", "is no name"),
        ("a.py:--Page", "--Page", "is no name"),
        ("a.py:-p", "-p", "is no name"),
        ("a.py:f.", "f.", "is no name"),
        ("a.py: f", "a.py: f", "is no file"),
        ("Mooncake:a.cpp:f", "Mooncake:a.cpp:f", "is no file"),
        ("mooncake:a.cpp:--f", "--f", "is no name"),
        ("#", "#", "is no pull request"),
        ("#12a", "#12a", "is no pull request"),
        ("note:", "note:", "says nothing"),
        ("note:  ", "note:  ", "says nothing"),
        ("mini_lb: the same body", "mini_lb: the same body", "is no file"),
    ],
)
def test_what_does_not_parse(text: str, part: str, why: str) -> None:
    if text.startswith("../"):  # taken for a range only where a space follows
        why, part = "is no file", text
    with pytest.raises(BadCite, match=re.escape(why)) as caught:
        parse(text)

    assert part == text[caught.value.start : caught.value.end]
    assert caught.value.cure


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("--page-size", "srt/server_args.py:--page-size"),
        ("0.5.21 SGLANG_X", "srt/environ.py:SGLANG_X"),
        ("mini_lb: the same body", "note: mini_lb: the same body"),
    ],
)
def test_the_cure_parses(text: str, cure: str) -> None:
    with pytest.raises(BadCite) as caught:
        parse(text)

    assert cure in caught.value.cure
    assert parse(cure).text == cure


@given(st.text(st.sampled_from("0.5+:#/a-_ pyn\n\u00e9"), max_size=14))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        cite = parse(text)
    except BadCite as problem:
        source, part = text, slice(problem.start, problem.end)
    else:
        source, part = cite.source, slice(0, None)
        assert parse(source).source == source

    assert source[part] in text or source.startswith("note: ")


def test_one_several_none() -> None:
    assert () == checked("") == checked(()) == checked([])
    assert ("a.py:f",) == checked("a.py:f") == checked(["a.py:f", ""])
    assert ("a.py:f", "#1") == flag(False, "a switch", cites=("a.py:f", "#1")).cites
    with pytest.raises(TypeError, match="cites is a string or several"):
        checked([1])  # type: ignore[list-item]


def test_an_action_keeps_its_citations() -> None:
    @action(Machine("m"), cites=["0.5.20+ a.py:f", "#1"])
    def go(s: object) -> None:
        pass

    assert ("0.5.20+ a.py:f", "#1") == go.__kvproto__.cites  # type: ignore[attr-defined]


def test_the_examples_of_the_manual_parse() -> None:
    text = (Path(__file__).parents[2] / "docs" / "citations.md").read_text(encoding="utf-8")
    ranges, sources = (re.findall(r"^\| `(.+?)` \|", part, re.MULTILINE) for part in text.split("| SOURCE |"))

    assert (4, 6) == (len(ranges), len(sources))
    assert {"code", "option", "project", "pull", "note"} == {parse(source).kind for source in sources}
    for span in ranges:
        assert span == str(releases(span))
