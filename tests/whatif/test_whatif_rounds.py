"""Red dots of runs without end: the loop must close again, be fair and break the claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from rounds_oracle import ending
from whatif_samples import WRONG, found_by

from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.nodes import LIVENESS
from kvproto.ir.types import show_path
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.trace.build import build_trace, fair_words
from kvproto.whatif.dots import dots
from kvproto.whatif.subject import Replayed, replayed

LOCK = '''
"""Two tasks and one lock: {doc}."""
from enum import Enum, auto
from kvproto.lang import *

Task = Sort("Task", size=2, labels="AB")

class State(Record):
    holder: Opt(Task)
    waits: Array(Task, Bool)
    turns: Int(0, 2)

m = Machine("m")

@action(m)
def ask(s, t: Task):
    """Task {{t}} asks."""
    require(not s.waits[t] and s.holder != t)
    s.waits[t] = True

@action(m{fair})
def grant(s, t: Task):
    """Task {{t}} gets the lock."""
    require(s.waits[t] and s.holder is None)
    s.waits[t] = False
    s.holder = t
    s.turns = min(s.turns + 1, 2)

@action(m, fair="weak")
def release(s, t: Task):
    """Task {{t}} gives the lock back."""
    require(s.holder == t)
    s.holder = None

@leads_to("who waits gets the lock")
def served(s, t: Task):
    return s.waits[t], s.holder == t

@always_eventually("the lock is free again and again")
def free(s):
    return s.holder is None

@eventually("somebody is served twice")
def twice(s):
    return s.turns == 2

@eventually_always("in the end nobody holds the lock")
def rests(s):
    return s.holder is None

model = Model("lock{name}", "a lock", State, parts=[__name__])
'''

FAIR = {"weak": ', fair="weak"', "strong": ', fair="strong"', "none": ""}


def runs(folder: Path, fair: str) -> list[Replayed]:
    """The counterexamples of a lock."""
    file = folder / f"lock_{fair}.py"
    file.write_text(LOCK.format(fair=FAIR[fair], doc=fair, name=fair), "utf-8")
    model = find(str(file)).model
    system = build(model, choose(model))
    found = [finding.counterexample for finding in search(system, Options()).findings]
    return [replayed(build_trace(system, run), system) for run in found if run is not None]


def agree(run: Replayed) -> set[str]:
    """The dots are those of the definition; gives their effects."""
    loop, claim = run.trace.loop, run.course.claim
    assert loop is not None
    assert claim.kind in LIVENESS
    rest = run.args, run.states[0], run.calls, loop
    assert ending(run.system, claim, *rest) == "violated"
    found = {(dot.step, dot.path): dot.effect for dot in dots(run)}
    expected = {}
    for step in range(1, len(run.states)):
        before, after = run.states[step - 1], run.states[step]
        for slot, (path, _) in enumerate(run.course.machine.leaves):
            if before[slot] != after[slot]:
                end = ending(run.system, claim, *rest, (step, slot, before[slot]))
                if end != "violated":
                    text = show_path(path, run.system.state)
                    expected[step, text] = "harmless" if end == "holds" else "refused"
    assert expected == found
    return set(found.values())


@pytest.mark.parametrize("fair", FAIR)
def test_locks(tmp_path: Path, fair: str) -> None:
    found = runs(tmp_path, fair)

    assert found
    effects = set[str]().union(*map(agree, found))
    assert "refused" in effects
    if fair == "weak":
        assert any(run.trace.loop is not None and run.trace.loop < len(run.calls) for run in found)


@pytest.mark.parametrize("name", [name for name in WRONG if WRONG[name].about_runs])
def test_blocks(name: str) -> None:
    agree(found_by(name))


def test_fairness_is_told_in_one_sentence(tmp_path: Path) -> None:
    """Several groups that happen again and again, cannot happen any more, or are only weakly fair."""
    told = {run.trace.property: fair_words(run.system, run.run()) for run in runs(tmp_path, "weak")}

    assert told["served"] == (
        "Fairness does not exclude this run: nothing can be done after step 6 by release (t=A); grant (t=B) and"
        " release (t=B) happen again and again; grant (t=A) is only weakly fair, and not possible all the time.",
    )
