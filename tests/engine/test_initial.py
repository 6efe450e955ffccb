"""Initial states: the quick way makes what the reference evaluator makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from lang_native import imported

from kvproto.engine.initial import initial
from kvproto.engine.layout import plan
from kvproto.engine.starting import InitFault
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.passes import run

HEADER = """
from enum import Enum, auto
from kvproto.lang import *

Req = Sort("Req", size=2)
Cell = Sort("Cell", size=16)
m = Machine("m")

class Kind(Enum):
    ASK = auto()
    SAY = auto()

class Msg(Record):
    kind: Kind
    to: Opt(Req)

class State(Record):
    n: Int(-2, 3)
    ok: Bool
    alive: Set(Cell)
    last: Msg
    line: Queue(Msg, 2)
    net: Set(Msg)
    age: Array(Req, Int(0, 4))

@action(m)
def go(s):
    s.ok = not s.ok
"""
FOOTER = """
model = Model("small", "initial states", state=State, parts=[__name__])
"""

INITS: dict[str, tuple[str, int]] = {}
"""By name: init functions, and how many choices of their parameters are not refused."""

INITS["plain"] = (
    """
@init
def start(s, n: Int(-2, 3), ok: Bool, r: Req, m: Msg):
    require(n != 0 or ok)
    s.n = n
    s.ok = ok
    s.last = m
    s.line.append(m)
    s.age[r] = 4 if n < 0 else n
    if m.to == r:
        s.net.add(Msg(kind=m.kind, to=r))
""",
    132,
)
INITS["several"] = (
    """
@init
def one(s, k: Int(1, 3)):
    s.n = k

@init
def other(s, age: Array(Req, Int(0, 4))):
    require(sum(age[r] for r in Req) < 4)
    s.age = age
""",
    3 + 10,
)
INITS["set"] = (
    """
@init
def start(s, few: Set(Req), q: Opt(Req)):
    require(q is None or q in few)
    s.n = len(few)
    s.last.to = q
    s.alive = {c for c in Cell if int(c) < len(few)}
""",
    8,
)
INITS["faults"] = (
    """
@init
def start(s, n: Int(-2, 3), k: Int(0, 3)):
    require(k != 3)
    assert n + k < 5, "not so many"
    s.n = n + k
    s.age[0] = 4 // k
""",
    18,
)


def system(text: str, folder: Path) -> System:
    file = folder / "model.py"
    file.write_text(HEADER + text + FOOTER)
    with imported(str(file)) as model:
        return build(model, choose(model))


def made(found: System, few: int) -> list[object]:
    layout = plan(found.state)
    return [
        (init.name, args, (state.fault.claim, state.fault.code, state.state) if isinstance(state, InitFault) else state)
        for init, args, state in initial(found, run(found), layout, few=few)
    ]


@pytest.mark.parametrize("name", INITS)
def test_both_ways_make_the_same(name: str, tmp_path: Path) -> None:
    text, count = INITS[name]
    found = system(text, tmp_path)

    by_reference = made(found, 1 << 30)
    assert made(found, 0) == by_reference
    assert len(by_reference) == count


def test_every_subset_is_a_start(tmp_path: Path) -> None:
    text = """
@init
def start(s, alive: Set(Cell)):
    s.alive = alive
"""
    states = {state for _, _, state in made(system(text, tmp_path), 1000)}  # type: ignore[misc]

    assert len(states) == 1 << 16
