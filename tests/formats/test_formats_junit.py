"""JUnit XML: an independent reader finds the same verdicts, and nothing undecided passes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as Tree

import pytest
from ci_results import HOSTILE, judged, model_file
from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite

from kvproto.formats.judged import Judged, cases
from kvproto.formats.junit import junit
from kvproto.view.verdicts import exit_code

TARGETS = [
    "blocks.page_pool",
    "blocks.page_pool@double-free",
    "blocks.page_pool@reads-leftovers",
    "blocks.timers@no-limit",
    "blocks.control_channel@not-idempotent",
    "blocks.transfer",
]


def read(results: list[Judged], skipped: tuple[str, ...] = ()) -> list[TestSuite]:
    found = JUnitXml.fromstring(junit(results, skipped).encode("utf-8"))
    assert found.tests == sum(suite.tests for suite in found)
    return list(found)


def outcome(suite: TestSuite) -> dict[str, str]:
    """What the reader makes of each test."""
    told = {}
    for test in suite:
        kinds = {type(result) for result in test.result}
        assert len(kinds) <= 1 and Skipped not in kinds
        told[test.name] = {Failure: "violated", Error: "inconclusive"}[kinds.pop()] if kinds else "holds"
    return told


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("limit", [None, 1, 40])
def test_the_reader_finds_the_verdicts(target: str, limit: int | None, tmp_path: Path) -> None:
    same_verdicts(judged(target, tmp_path, max_states=limit))


def test_the_reader_finds_what_is_vacuous_and_never_happens(tmp_path: Path) -> None:
    result = judged("sglang@incident", tmp_path)

    assert result.row.result.vacuous and result.row.result.never_fired
    same_verdicts(result)


def same_verdicts(result: Judged) -> None:
    (suite,) = read([result])
    told = outcome(suite)
    counts = Counter(told.values())

    assert {case.name: case.verdict for case in cases(result)} == told
    assert (len(told), counts["violated"], counts["inconclusive"], 0) == (
        suite.tests,
        suite.failures,
        suite.errors,
        suite.skipped,
    )
    # A green report is a proof, and nothing else is green.
    assert (exit_code(result.row.result) == 0) == ({"holds"} == set(told.values()))


def test_a_search_without_properties_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = model_file(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("@invariant('few things happen')\n", ""), encoding="utf-8")
    (suite,) = read([judged("model.py", tmp_path / "traces")])

    assert {"nothing_searched": "inconclusive"} == outcome(suite)


def test_the_message_is_the_first_sentence_and_the_text_the_rest(tmp_path: Path) -> None:
    result = judged("blocks.page_pool@double-free", tmp_path)
    trace = result.traces["no_page_twice"]
    (suite,) = read([result])
    (failure,) = next(test for test in suite if test.name == "no_page_twice").result

    assert trace.why[0] == failure.message
    lines = failure.text.splitlines()
    assert "claim: no page is lent or free twice" == lines[0]
    assert [f"{n}. {sentence}" for n, sentence in enumerate(trace.why, 1)] == [x for x in lines if x[:1].isdecimal()]
    assert f"trace: {result.row.traces['no_page_twice']}" in lines
    assert "again: kvproto check blocks.page_pool@double-free --property no_page_twice" == lines[-1]


def test_several_targets_are_several_suites(tmp_path: Path) -> None:
    suites = read([judged("blocks.page_pool", tmp_path), judged("blocks.page_pool@leak", tmp_path)])

    assert ["blocks.page_pool (small)", "blocks.page_pool@leak (small)"] == [suite.name for suite in suites]
    assert [0, 1] == [suite.failures for suite in suites]


def test_targets_that_were_not_come_to_are_errors(tmp_path: Path) -> None:
    suites = read([judged("blocks.page_pool", tmp_path)], ("blocks.timers", "blocks.ranks"))

    assert [{"searched": "inconclusive"}] * 2 == [outcome(suite) for suite in suites[1:]]


def test_hostile_text_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what XML has no way to write at all."""
    monkeypatch.chdir(tmp_path)
    model_file(tmp_path, HOSTILE)
    text = junit([judged("model.py", tmp_path / "traces")], (HOSTILE,))
    root = Tree.fromstring(text.encode("utf-8"))
    (problem,) = root.iter("failure")

    assert problem.text is not None
    assert (
        "claim: a]]>&<b>\"'`|$x$\\n# one%0A::error::\\x1b[2J\\u202e\\ud800\\ufffe, c:d" == problem.text.splitlines()[0]
    )
    assert all(ord(char) >= 32 or char == "\n" for char in text)
