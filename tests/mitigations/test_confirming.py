"""Inferred verdicts are confirmed by searches, and a wrong one is not printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvproto.engine.outcome import Options
from kvproto.lang.load import find
from kvproto.mitigations.answer import answer
from kvproto.mitigations.judge import Disagreement, Judge
from kvproto.mitigations.switches import Question, question

PAGES = str(Path(__file__).with_name("pages.py"))


@pytest.fixture(scope="module")
def pages() -> Question:
    return question(find(PAGES))


def test_a_wrong_inference_is_noticed(pages: Question) -> None:
    with Judge(pages, ["no_stray"], Options()) as judge:
        assert judge.verdict(0, ("no_stray",)) is False
        judge.verdicts[judge.keys[0]]["no_stray"] = True

        with pytest.raises(Disagreement, match="no_stray"):
            judge.confirm(0, ("no_stray",))


def test_what_a_budget_leaves_open_stays_what_it_was(pages: Question) -> None:
    """A verdict that was inferred is not lost because the search that was to confirm it is too long."""
    with Judge(pages, ["no_stray"], Options(max_states=2)) as judge:
        assert judge.verdict(0, ("no_stray",)) is None
        judge.verdicts[judge.keys[0]]["no_stray"] = False
        judge.confirm(0, ("no_stray",))

        assert judge.verdict(0, ("no_stray",)) is False


def test_reported_sets_are_searched_once(pages: Question) -> None:
    with Judge(pages, ["no_stray", "one_read"], Options()) as judge:
        found = answer(pages, judge)
        searches = judge.work.searches
        for goal in found.goals:
            for chosen in goal.boundary.sufficient:
                judge.confirm(chosen, goal.names)

        assert judge.work.searches == searches
        reported = [(s, name) for goal in found.goals for s in goal.boundary.sufficient for name in goal.names]
        assert all((judge.keys[s], name) in judge.searched for s, name in reported)


def test_the_walk_does_not_depend_on_processes(pages: Question) -> None:
    answers = []
    for jobs in (1, 2):
        with Judge(pages, ["reads_clean", "no_stray", "served"], Options(), jobs=jobs) as judge:
            answers.append(answer(pages, judge, all_sets=False))

    assert answers[0].goals == answers[1].goals
    assert answers[0].runs == answers[1].runs
