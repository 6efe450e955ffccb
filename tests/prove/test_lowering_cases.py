"""Statements one by one: their formulas take the steps of the evaluator, and know of no fault that cannot happen."""

from __future__ import annotations

from pathlib import Path

import pytest
from lowering_agreement import Compared, agree, random_states
from small_proofs import STATE, model_of

from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.prove.lowering.system import lower

MORE = """
class Note(Record):
    of: Opt(Req)
    kind: Phase
"""
FIELDS = """
    last: Req
    seen: Set(Note)
    number: Array(Req, Int(0, 3))
    until: Array(Req, Opt(Int(0, 2)))
    grid: Array(Phase, Array(Req, Bool))
    next: Array(Req, Opt(Req))
"""

EXACT = {
    "all rounds write the same": "for q in Page:\n    if s.owner[q] == r:\n        s.flag = True",
    "all rounds write to one other cell": "for q in Page:\n    if s.owner[q] is None:\n        s.phase[r] = Phase.OVER",
    "each round keeps to itself": "for q in Page:\n    if s.owner[q] == r:\n        s.owner[q] = None",
    "one round at most writes": "for q in Req:\n    if s.owner[p] == q:\n        s.last = q",
    "one round at most writes what it reads": (
        "for q in Req:\n    if s.owner[p] == q:\n        s.next[r] = s.next[q] if False else q"
    ),
    "a loop in a loop": (
        "for q in Req:\n    for w in Page:\n        if s.owner[w] == q:\n            s.held[q].add(w)\n"
        "    s.phase[q] = Phase.OVER"
    ),
    "what is written is read in its round": (
        "for q in Page:\n    s.owner[q] = None\n    if s.owner[q] is None:\n        s.held[r].add(q)"
    ),
    "a loop over members": "for k in Phase:\n    s.grid[k][r] = not s.grid[k][r]",
    "a loop over a set": "for q in s.held[r]:\n    s.owner[q] = r",
    "a comprehension": "s.held[r] = {q for q in Page if s.owner[q] == r and q != p}",
    "sets are combined": "s.held[r] = (s.held[r] | {p}) - {q for q in Page if s.owner[q] is None}",
    "a lookup as an index": "if s.owner[p] is not None:\n    s.phase[s.owner[p]] = Phase.OVER",
    "a lookup in a condition": "require(s.owner[p] is not None and s.phase[s.owner[p]] == Phase.NEW)\ns.flag = True",
    "a lookup behind or": "require(s.owner[p] is None or s.phase[s.owner[p]] == Phase.NEW)\ns.flag = True",
    "a lookup inside of a quantifier": (
        "s.flag = any(s.owner[q] is not None and s.phase[s.owner[q]] == Phase.NEW for q in Page)"
    ),
    "a lookup of a lookup": "s.flag = s.next[r] is not None and s.next[s.next[r]] == r",
    "a number at a lookup": "if s.owner[p] is not None:\n    s.number[r] = s.number[s.owner[p]]",
    "a number in cases": "s.number[r] = 1 if s.flag else min(s.number[r], 2)",
    "a number or none": "s.until[r] = None if s.flag else 1",
    "a number that may be none": "require(s.until[r] is not None and s.until[r] < 2)\ns.until[r] = s.until[r] + 1",
    "a record in a set": "s.seen.add(Note(of=r, kind=s.phase[r]))",
    "a record with nothing in a set": "require(Note(of=s.owner[p], kind=Phase.NEW) in s.seen)\ns.flag = True",
    "a record out of a set": "s.seen.discard(Note(of=None, kind=Phase.OVER))",
    "a member as an index": "s.grid[s.phase[r]][r] = True",
    "later lines see earlier ones": "s.phase[r] = Phase.OVER\ns.flag = s.phase[r] == Phase.NEW\ns.owner[p] = r",
    "a guard in the middle": "s.flag = True\nrequire(s.owner[p] == r)\ns.owner[p] = None",
    "a guard in a loop": "for q in Page:\n    require(s.owner[q] != r or q == p)\ns.flag = True",
    "a local in cases": "other = s.owner[p]\nif other is None:\n    other = r\ns.last = other",
    "the order of a sort": "require(all(q == r or r < q for q in Req))\ns.flag = True",
    "is there one": "require(len(s.held[r]) > 0 and sum(s.owner[q] == r for q in Page) == 0)\ns.flag = True",
}

FAULTY = {
    "nothing as an index": "s.phase[s.owner[p]] = Phase.OVER",
    "nothing as a value": "s.last = s.owner[p]",
    "a number too large": "s.number[r] = s.number[r] + 1",
    "a number too small": "s.number[r] = s.number[r] - 1",
    "before a guard": "s.number[r] = s.number[r] + 1\nrequire(s.flag)",
    "in one round": "for q in Page:\n    s.phase[s.owner[q]] = Phase.OVER",
    "an assertion": "assert s.owner[p] == r, 'mine'\ns.flag = True",
}

CHOOSES = {
    "a first one": "q = next((q for q in Page if s.owner[q] is None), None)\nif q is not None:\n    s.owner[q] = r",
    "a first one or another": "s.last = next((q for q in Req if s.phase[q] == Phase.NEW), r)",
}


def compared(body: str, tmp_path: Path, *, exact: bool = True) -> Compared:
    """Steps and faults of the model and of its formulas."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = f"\n@action(m)\ndef act(s, r: Req, p: Page):\n{lines}\n"
    model = model_of(tmp_path, state=MORE + STATE + FIELDS.lstrip("\n"), action=text)
    lowered = lower(model, choose(model))
    system = build(model, choose(model))

    return agree(lowered, system, random_states(system, 5, 30), exact=exact)


@pytest.mark.parametrize("name", EXACT)
def test_formulas_take_the_steps_of_a_statement(name: str, tmp_path: Path) -> None:
    found = compared(EXACT[name], tmp_path)

    assert found.successors > 0
    assert (0, 0) == (found.faults, found.doubts)


@pytest.mark.parametrize("name", FAULTY)
def test_what_may_go_wrong_is_an_obligation(name: str, tmp_path: Path) -> None:
    found = compared(FAULTY[name], tmp_path)

    assert found.faults > 0
    assert found.doubts > 0


@pytest.mark.parametrize("name", CHOOSES)
def test_a_choice_allows_what_the_model_does(name: str, tmp_path: Path) -> None:
    found = compared(CHOOSES[name], tmp_path, exact=False)

    assert found.successors > 0
    assert (0, 0) == (found.faults, found.doubts)
