"""Queues, bags, sets of records and claims about runs in the IR: printed, verified, folded, walked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lang_native import imported

from kvproto.diagnostics import Loc
from kvproto.ir.digest import digest
from kvproto.ir.fold import fold_expr
from kvproto.ir.nodes import Checked, Const, Fairness, Local, System
from kvproto.ir.printer import show_expr, show_system
from kvproto.ir.shapes import bag_type, elements_of, queue_type, set_type, value_count
from kvproto.ir.types import (
    BoolT,
    EnumT,
    IntT,
    OptT,
    RecordT,
    SetT,
    SortT,
    leaf_count,
    leaves,
    show_path,
    show_value,
    values_of,
)
from kvproto.ir.verify import Broken, verify
from kvproto.ir.walk import can_fault
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.passes import run

REQ = SortT("Req", 2, ("A", "B"))
MSG = RecordT("Msg", (("kind", EnumT("Kind", ("ASK", "SAY"))), ("to", OptT(REQ))))
STATE = RecordT(
    "State",
    (("line", queue_type(MSG, 2)), ("net", set_type(MSG)), ("bag", bag_type(REQ, 3)), ("held", set_type(REQ))),
)
HERE = Loc("m.py", 1)

TEXT = """
from kvproto.lang import *

Req = Sort("Req", size=2, labels="AB")
m = Machine("m")

class State(Record):
    line: Queue(Req, 2)

@action(m, fair="strong")
def go(s, r: Req, few: Set(Req)):
    require(r in few)
    s.line.append(r)

@eventually("it comes")
def comes(s, r: Req):
    return r in s.line

@leads_to("it goes")
def goes(s, r: Req):
    return r in s.line, r not in s.line

def within(s):
    return len(s.line) < 2

model = Model("m", "", state=State, parts=[__name__], constraint=within, fairness=[weak(go, per="r")])
"""


@pytest.fixture
def system(tmp_path: Path) -> System:
    file = tmp_path / "model.py"
    file.write_text(TEXT)
    with imported(str(file)) as model:
        return build(model, choose(model))


def test_parts_are_shown_as_what_they_stand_for() -> None:
    shown = [show_path(path, STATE) for path, _ in leaves(STATE)]

    assert shown[:5] == ["line.length", "line[0].kind", "line[0].to", "line[1].kind", "line[1].to"]
    assert shown[5:11] == [f"net[{kind}, {to}]" for kind in ("ASK", "SAY") for to in ("None", "A", "B")]
    assert shown[11:] == ["bag[A]", "bag[B]", "held"]
    assert leaf_count(STATE) == len(shown)


def test_small_sets_of_single_values_are_one_variable() -> None:
    assert set_type(REQ) == SetT(REQ)
    assert isinstance(set_type(IntT(0, 61)), SetT)
    assert isinstance(set_type(IntT(0, 62)), RecordT)


def test_elements_are_counted_in_order() -> None:
    assert list(elements_of(MSG)) == [(kind, to) for kind in ("ASK", "SAY") for to in (None, 0, 1)]
    assert value_count(MSG) == 6


def test_subsets_come_in_the_order_of_their_bits() -> None:
    assert values_of(SetT(REQ)) == (frozenset(), frozenset({0}), frozenset({1}), frozenset({0, 1}))
    assert [show_value(v, SetT(REQ)) for v in values_of(SetT(REQ))] == ["{}", "{A}", "{B}", "{A, B}"]


def test_a_check_that_holds_is_no_check() -> None:
    body = Const(IntT(0, 3), 2, HERE)
    open_check = Checked(IntT(0, 3), Local(BoolT(), "ok", HERE), body, "KV206", "", HERE)

    assert fold_expr(replace(open_check, test=Const(BoolT(), True, HERE))) == body
    assert fold_expr(open_check) == open_check
    assert can_fault(open_check)
    assert show_expr(open_check) == "(check ok [KV206] for 2)"


def test_claims_about_runs_are_printed_and_count(system: System) -> None:
    text = "\n".join(show_system(system))

    assert "leads_to goes(r: Req[2]): " in text and " ~> not(any(" in text
    assert "strong go per (r, few)\nweak go per (r)\nconstraint (s.line.length < 2)" in text
    for changed in (
        replace(system, constraint=None),
        replace(system, fairness=system.fairness[:1]),
        replace(system, claims=system.claims[1:]),
        replace(system, claims=(replace(system.claims[0], kind="always_eventually"), *system.claims[1:])),
    ):
        assert digest(changed) != digest(system)


def test_passes_keep_the_rules(system: System) -> None:
    verify(run(verify(system)))


def test_the_verifier_refuses_broken_claims_and_fairness(system: System) -> None:
    eventually, leads_to = system.claims
    fair = system.fairness[0]
    for broken in (
        replace(system, claims=(replace(eventually, trigger=eventually.cond),)),
        replace(system, claims=(replace(leads_to, trigger=None),)),
        replace(system, claims=(replace(eventually, kind="invariant"),)),
        replace(system, claims=(replace(eventually, params=()),)),
        replace(system, fairness=(replace(fair, actions=("come",)),)),
        replace(system, fairness=(Fairness("weak", ("go",), ("q",), HERE),)),
        replace(system, constraint=Const(IntT(0, 0), 0, HERE)),
    ):
        with pytest.raises(Broken):
            verify(broken)
