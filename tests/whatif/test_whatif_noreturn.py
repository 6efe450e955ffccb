"""The point of no return is what the definition says, in every state of small models and on their counterexamples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from futures_oracle import continuations
from hypothesis import HealthCheck, event, given, reject, settings
from random_models import models
from searching import imported, reference, system_of
from searching import search as search_all

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Fault, State
from kvproto.engine.outcome import Counterexample, Options
from kvproto.engine.reference import Explored
from kvproto.engine.search import search
from kvproto.engine.tier0 import PythonExplorer
from kvproto.ir.nodes import LIVENESS, Claim, System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.shipped import ROOT
from kvproto.trace import codec
from kvproto.trace.analysis import NoReturn
from kvproto.trace.build import build_trace
from kvproto.trace.trace import Trace
from kvproto.whatif.budget import Budget
from kvproto.whatif.escape import Escape
from kvproto.whatif.future import Futures
from kvproto.whatif.noreturn import NotKnown, point_of_no_return
from kvproto.whatif.runs import Steps, Walker

LIMIT = 300
"""Models with more states take the oracle too long."""

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=50)


@relaxed
@given(models())
def test_random_models(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """In states of random models, and along their counterexamples."""
    with imported(text, tmp_path_factory.getbasetemp()) as module:
        try:
            system = system_of(module)
            found = _explored(system)
        except (KvError, Fault):
            reject()
        if found is None:
            event("too many states, or the model goes wrong")
            reject()
        for claim in system.claims:
            if claim.kind in LIVENESS or claim.kind == "sometimes":
                continue
            for state in found.order[:: max(1, len(found.order) // 12)]:
                agree(system, claim, state)
            event(f"{claim.kind}: steps from no return to the end: {agree_on_run(system, claim, found)}")


def _explored(system: System) -> Explored | None:
    """Everything that the reference checker finds, if that is little."""
    if search_all(system, PythonExplorer, LIMIT, unpacked=False) is None:
        return None
    found = reference(system)
    return None if found.error is not None else found


def agree(system: System, claim: Claim, state: State) -> None:
    """The fast answer for a state is that of the definition."""
    meant = continuations(system, claim, state)
    assert meant is not None
    if state in meant.bad:
        return
    outlook = Futures(system, claim).of(state)
    event(f"{claim.kind}: {'forced' if outlook.forced else 'avoidable' if outlook.avoidable else 'neither'}")
    assert (state in meant.avoidable(), state in meant.forced()) == (outlook.avoidable, outlook.forced)
    for way in (outlook.way, Escape(system, claim, longest=8, most=24).way(state)):
        if way is not None:
            assert outlook.avoidable and after(system, claim, state, way) not in meant.reaching()
    assert (outlook.way is not None) == outlook.avoidable


def after(system: System, claim: Claim, state: State, way: Steps) -> State:
    """The state at the end of a way around the violations."""
    walker = Walker(system, claim)
    actions = {action.name: action for action in system.actions}
    for action, args in way:
        assert not walker.broken(state)
        following = walker.machine.step(action.params, actions[action.name].body, state, args)
        assert following is not None
        state = following
    return state


def agree_on_run(system: System, claim: Claim, found: Explored) -> int | None:
    """The point of no return of the shortest counterexample is that of the definition; how far from the end it is."""
    if claim.name not in found.violated:
        return None
    trace = shortest(system, claim, found)
    answer = point_of_no_return(system, trace)
    assert isinstance(answer, NoReturn)
    run = states_of(system, found, claim)
    judged = [continuations(system, claim, state) for state in run]
    avoidable = [state in graph.avoidable() for state, graph in zip(run, judged, strict=True) if graph is not None]
    forced = [state in graph.forced() for state, graph in zip(run, judged, strict=True) if graph is not None]
    if claim.kind == "assert":  # the state in which the assertion failed is not one of the graph
        avoidable, forced = [*avoidable, False], [*forced, True]
    assert answer.avoidable == tuple(avoidable)
    assert (answer.step, answer.forced) == (avoidable.index(False), forced.index(True))
    return len(trace.steps) - (answer.step or 0)


def shortest(system: System, claim: Claim, found: Explored) -> Trace:
    """The first counterexample of the reference checker, as a trace."""
    state, last = found.violated[claim.name]
    actions = {action.name: action for action in system.actions}
    steps = [(actions[name], args) for name, args in [*found.path(state), *([last] if last else [])]]
    return build_trace(system, Counterexample(claim, states_of(system, found, claim)[0], tuple(steps)))


def states_of(system: System, found: Explored, claim: Claim) -> list[State]:
    """The states of that run; without the one that a failing step leaves behind."""
    state, _ = found.violated[claim.name]
    states = [state]
    while (link := found.parent[states[-1]]) is not None:
        states.append(link[0])
    return states[::-1]


BLOCKS = ["control_channel", "deferred_release", "metadata_rows", "page_pool", "ranks", "timers", "transfer"]


@pytest.mark.parametrize("name", BLOCKS)
def test_building_blocks(name: str) -> None:
    """On every variant of the building blocks that has few states."""
    model = find(f"blocks.{name}").model
    for preset in model.presets:
        system = build(model, choose(model, preset=preset.name))
        found = _explored(system)
        for claim in system.claims:
            if found is not None and claim.kind not in LIVENESS and claim.kind != "sometimes":
                agree_on_run(system, claim, found)


@pytest.mark.parametrize(
    ("target", "sets"),
    [
        ("kv_transfer@vulnerable", {"Req": 2, "Page": 2, "pages_per_request": 1}),
        ("outline@0.5.19", {}),
        ("outline@incident", {}),
    ],
)
def test_the_two_smaller_protocols(target: str, sets: dict[str, object]) -> None:
    """Before the point of no return the violation can be avoided, after it not, by the definition."""
    found = find(target)
    system = build(found.model, choose(found.model, preset=found.preset, sets=sets))
    violated = [f for f in search(system, Options(keep_going=True)).findings if f.counterexample is not None]
    assert violated
    for finding in violated:
        if finding.claim.kind not in LIVENESS and finding.counterexample is not None:
            boundary(system, finding.counterexample)


def boundary(system: System, run: Counterexample) -> None:
    """The definition agrees on both sides of the point of no return."""
    answer = point_of_no_return(system, build_trace(system, run))
    assert isinstance(answer, NoReturn) and answer.step is not None and answer.forced is not None
    walk = Walker(system, run.claim).walk(run.init, run.steps)
    assert walk is not None
    for number in {max(answer.step - 1, 0), answer.step, max(answer.forced - 1, 0), answer.forced} - {len(run.steps)}:
        meant = continuations(system, run.claim, walk.states[number], limit=20_000)
        assert meant is not None
        assert (walk.states[number] in meant.avoidable()) == answer.avoidable[number]
        assert (walk.states[number] in meant.forced()) == (number >= answer.forced)


def test_where_too_much_can_follow_a_walk_may_do() -> None:
    """An end without violation that a random walk finds is as good as one that is found by looking at everything."""
    system, trace = recorded("sglang-0.5.19-reads_own_writes")

    few, all_of_it = point_of_no_return(system, trace, Budget(states=10)), point_of_no_return(system, trace)

    assert isinstance(few, NoReturn) and isinstance(all_of_it, NoReturn)
    assert (few.step, few.forced, few.avoidable) == (all_of_it.step, all_of_it.forced, all_of_it.avoidable)


def test_a_budget_that_is_too_small_gives_no_answer() -> None:
    """Nothing is guessed; what is known so far is said."""
    system, trace = recorded("sglang-incident-reads_own_writes")

    answer = point_of_no_return(system, trace, Budget(states=100))

    assert isinstance(answer, NotKnown)
    assert "more than 100 states" in answer.reason


@pytest.mark.parametrize(
    ("name", "step", "forced"),
    [
        ("outline-incident-reads_own_writes", 1, 1),
        ("sglang-0.5.19-reads_own_writes", 17, 17),
        ("sglang-incident-reads_own_writes", 1, 1),
        ("sglang-0.5.22-fan-out-ranks_agree", 4, 4),
    ],
)
def test_recorded_traces(name: str, step: int, forced: int) -> None:
    """In the incident nothing helps any more once a long prompt is submitted; elsewhere a client may still leave."""
    answer = point_of_no_return(*recorded(name))

    assert isinstance(answer, NoReturn)
    assert (step, forced, True) == (answer.step, answer.forced, answer.complete)
    assert answer.avoidable == tuple(number < step for number in range(len(answer.avoidable)))


def test_claims_about_runs_have_no_such_point() -> None:
    """No step of a run without end breaks the claim."""
    answer = point_of_no_return(*recorded("sglang-0.5.19-rooms_are_cleared"))

    assert isinstance(answer, NotKnown)
    assert "whole runs" in answer.reason


def test_a_trace_of_another_model_has_no_answer() -> None:
    """The steps must be a run of the system that breaks the claim."""
    system, trace = recorded("outline-0.5.19-reads_own_writes")

    answer = point_of_no_return(system, replace(trace, steps=trace.steps[1:]))

    assert isinstance(answer, NotKnown)
    assert "does not fit" in answer.reason


def recorded(name: str) -> tuple[System, Trace]:
    """A recorded trace with its system."""
    trace = codec.read(ROOT / "traces" / f"{name}{codec.SUFFIX}")
    model = find(trace.model).model
    return build(model, choose(model, preset=trace.preset, scope=trace.scope, sets=trace.parameters)), trace


COUNTER = """\
from kvproto.lang import Int, Machine, Model, Record, action, require


class State(Record):
    x: Int(0, 4)


m = Machine("m", "")


@action(m)
def up(s):
    require(s.x < 4)
    s.x += 1


def done(s):
    return 4 // s.x == 2


model = Model("counter", "", state=State, parts=[__name__], terminal=done)
"""


def test_only_ends_are_asked_whether_they_are_proper(tmp_path: Path) -> None:
    """Where something can still happen the condition may go wrong; here it does at the start."""
    with imported(COUNTER, tmp_path) as module:
        system = system_of(module)
        run = search(system, Options()).findings[0].counterexample

        assert run is not None
        answer = point_of_no_return(system, build_trace(system, run))

        assert isinstance(answer, NoReturn)
        assert (0, 0, (False,) * 5) == (answer.step, answer.forced, answer.avoidable)
