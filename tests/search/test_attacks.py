"""What an attacker found: models on which two ways to search disagreed."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_models import shipped

from kvproto.engine.outcome import Options, Result
from kvproto.engine.search import search

CHAINED_OWNERS = """
from kvproto.lang import Array, Bool, Machine, Model, Opt, Record, Sort, action, invariant, require
R = Sort("R", size=2)
m = Machine("m", "")
class State(Record):
    owner: Array(R, Opt(R))
    busy: Array(R, Bool)
@action(m)
def take(s, r: R, q: R):
    require(s.owner[r] is None)
    s.owner[r] = q
@invariant("who owns itself is not busy")
def claim(s):
    return all(
        s.owner[r] != r for r in R if s.busy[r] and s.owner[r] is not None and s.busy[s.owner[r]]
    )
model = Model("chained", "", state=State, parts=[__name__])
"""

PARTS = """
from enum import Enum, auto
from kvproto.lang import Bool, Machine, Model, Record, action, eventually, require, strong
m = Machine("m", "")
class K(Enum):
    X = auto()
    Y = auto()
class Msg(Record):
    kind: K
    bit: Bool
class State(Record):
    x: K
    b: Bool
@action(m)
def go(s, msg: Msg):
    require(msg.kind != s.x)
    s.x = msg.kind
    s.b = msg.bit
@eventually("the bit is set")
def ev(s):
    return s.b
model = Model("parts", "", state=State, parts=[__name__], fairness=[strong(go, per="PER")])
"""

HUGE = """
from kvproto.lang import Int, Machine, Model, Record, action, invariant, require
m = Machine("m", "")
class State(Record):
    t: Int(0, 2147483647)
@action(m)
def tick(s):
    require(s.t < 3)
    s.t += 1
@invariant("t stays small")
def small(s):
    return s.t <= 3
model = Model("huge", "", state=State, parts=[__name__])
"""

QUORUM = """
from kvproto.lang import Int, Machine, Model, Record, Sort, action, invariant, require
R = Sort("R", size=2)
m = Machine("m", "")
class State(Record):
    n: Int(0, 3)
@action(m)
def step(s):
    require(s.n < 3)
    s.n += 1
@action(m)
def decide(s):
    require(len(R) > 2 and s.n == 1)
    s.n = 0
@invariant("n is small")
def small(s):
    return s.n <= 3
model = Model("quorum", "", state=State, parts=[__name__])
"""


def searched(folder: Path, text: str, **options: object) -> Result:
    """The result for a model in a file."""
    path = folder / "attack.py"
    path.write_text(text)
    return search(shipped(str(path)), Options(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("symmetry", [None, False])
def test_symmetry_does_not_hide_that_a_premise_is_never_true(tmp_path: Path, symmetry: bool | None) -> None:
    """An `all` that can fail is rewritten for the reduction; its premise is read before that."""
    result = searched(tmp_path, CHAINED_OWNERS, symmetry=symmetry)

    assert ["claim"] == [gap.owner for gap in result.vacuous]


@pytest.mark.parametrize(("per", "verdict"), [("msg.kind", "violated"), ("msg", "holds")])
def test_fairness_of_a_part_of_a_record_is_that_of_the_part(tmp_path: Path, per: str, verdict: str) -> None:
    """One group for each kind, whatever the bit: a run that never sets the bit is fair."""
    assert verdict == searched(tmp_path, PARTS.replace("PER", per)).finding("ev").verdict


def test_a_number_of_billions_costs_nothing(tmp_path: Path) -> None:
    """Its values are never listed."""
    result = searched(tmp_path, HUGE)

    assert (4, "holds") == (result.states, result.finding("small").verdict)


def test_an_action_that_the_size_of_a_sort_forbids_never_happens(tmp_path: Path) -> None:
    """No parameter switches it off, so it is reported."""
    assert ("decide",) == searched(tmp_path, QUORUM).never_fired
