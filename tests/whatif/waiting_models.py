"""Small models in which somebody waits for ever, each in its own way."""

from __future__ import annotations

from pathlib import Path

from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.explain.why import with_why
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.trace.build import build_trace
from kvproto.trace.trace import Trace

HEAD = """
from enum import Enum, auto
from kvproto.lang import *

Req = Sort("Req", size=2, labels="AB")
m = Machine("m")
"""

SLOT = (
    HEAD
    + '''
class Stage(Enum):
    NEW = auto()
    ASKS = auto()
    RUNS = auto()
    OVER = auto()
    LOST = auto()

class State(Record):
    stage: Array(Req, Stage)
    holder: Opt(Req)

@action(m)
def ask(s, r: Req):
    """Request {r} asks."""
    require(s.stage[r] == Stage.NEW)
    s.stage[r] = Stage.ASKS

@action(m, fair="weak")
def start(s, r: Req):
    """Request {r} takes the only slot."""
    require(s.stage[r] == Stage.ASKS)
    require(s.holder is None)
    s.holder = r
    s.stage[r] = Stage.RUNS

@action(m, fair="weak")
def end(s, r: Req):
    """Request {r} is over, and its slot goes back."""
    require(s.stage[r] == Stage.RUNS)
    s.holder = None
    s.stage[r] = Stage.OVER

@action(m)
def lose(s, r: Req):
    """Request {r} is lost while it runs."""
    require(s.stage[r] == Stage.RUNS)
    s.stage[r] = Stage.LOST

@leads_to("who asks is served")
def served(s, r: Req):
    return s.stage[r] == Stage.ASKS, s.stage[r] in (Stage.OVER, Stage.LOST)

model = Model("slot", "one slot", State, parts=[__name__])
'''
)
"""B has lost the slot that A waits for."""

CIRCLE = (
    HEAD.replace("size=2", "size=1")
    + '''
class State(Record):
    asked: Array(Req, Bool)
    wrote: Array(Req, Bool)
    took: Array(Req, Bool)
    mark: Int(0, 2)

@action(m)
def ask(s, r: Req):
    """Request {r} asks."""
    require(not s.asked[r])
    s.asked[r] = True

@action(m, fair="weak")
def write(s, r: Req):
    """Request {r} is written, once the mark allows it."""
    require(s.asked[r] and not s.wrote[r])
    require(s.mark > 0)
    s.wrote[r] = True

@action(m, fair="weak")
def take(s, r: Req):
    """Request {r} is taken, and the mark moves."""
    require(s.wrote[r] and not s.took[r])
    s.took[r] = True
    s.mark = 2

@leads_to("who asks is taken")
def taken(s, r: Req):
    return s.asked[r], s.took[r]

model = Model("circle", "a mark that only the waiting one moves", State, parts=[__name__])
'''
)
"""What would move the mark waits for what waits for the mark."""

ASSERTS = (
    HEAD
    + '''
class State(Record):
    phase: Array(Req, Int(0, 2))
    bad: Bool

@action(m)
def spoil(s):
    """Something goes wrong."""
    require(not s.bad)
    s.bad = True

@action(m)
def begin(s, r: Req):
    """Request {r} begins."""
    require(s.phase[r] == 0)
    s.phase[r] = 1

@action(m, fair="weak")
def finish(s, r: Req):
    """Request {r} ends well."""
    require(s.phase[r] == 1)
    assert not s.bad, "nothing is wrong"
    s.phase[r] = 2

@leads_to("what begins ends")
def ends(s, r: Req):
    return s.phase[r] == 1, s.phase[r] == 2

model = Model("asserts", "a step that fails", State, parts=[__name__])
'''
)
"""The step that is waited for can happen and fails its assertion."""

NOBODY = (
    HEAD
    + '''
class State(Record):
    up: Bool
    turns: Int(0, 1)

@action(m, fair="weak")
def turn(s):
    """The wheel turns."""
    s.turns = 1 - s.turns

@action(m, fair="weak")
def go(s):
    """It comes up, every second turn."""
    require(s.turns == 1)
    s.up = True

@action(m)
def jump(s):
    """Somebody jumps."""
    s.up = True

@eventually("it comes up")
def comes_up(s):
    return s.up

model = Model("nobody", "only weak fairness", State, parts=[__name__])
'''
)
"""The step that is waited for is possible in every second state."""

TEXTS = {"slot": SLOT, "circle": CIRCLE, "asserts": ASSERTS, "nobody": NOBODY}


def violated(folder: Path, name: str, claim: str) -> Trace:
    """The counterexample of one of the models, with its explanation."""
    file = folder / f"waiting_{name}.py"
    file.write_text(f'"""{name}"""\n{TEXTS[name]}', "utf-8")
    model = find(str(file)).model
    system = build(model, choose(model))
    found = search(system, Options(properties=(claim,))).finding(claim).counterexample
    assert found is not None
    return with_why(system, found, build_trace(system, found))
