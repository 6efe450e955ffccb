"""Minimised runs are least among all shortest ones, in the smallest worlds, and runs at all."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, reject, settings
from hypothesis import strategies as st
from random_models import models
from runs_oracle import key, least
from searching import imported, reference, system_of
from searching import search as search_all

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Fault, State, choices
from kvproto.engine.outcome import Counterexample, Options
from kvproto.engine.search import search
from kvproto.engine.tier0 import PythonExplorer
from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.frontend.build import build
from kvproto.lang.frontend.variants import Variants
from kvproto.lang.load import find
from kvproto.lang.model import Model
from kvproto.shipped import ROOT
from kvproto.trace import codec
from kvproto.trace.build import build_trace
from kvproto.trace.trace import Step, Trace
from kvproto.whatif.budget import Budget
from kvproto.whatif.least import least_run
from kvproto.whatif.minimise import minimise, minimise_trace, reordered, shortened, sort_key
from kvproto.whatif.needless import needless
from kvproto.whatif.orders import best_order, needs_of
from kvproto.whatif.runs import Walker
from kvproto.whatif.worlds import World, sizes, with_size

LIMIT, RUNS = 300, 3000
"""States of a random model, and shortest runs of it, that the oracle looks at."""

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=80)


# --- the least of all shortest runs --------------------------------------------------------------------------


@relaxed
@given(models())
def test_the_least_run_of_random_models(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Fewest changes of machine, then the alphabet, then the first initial state: found among all of them."""
    with imported(two_machines(text), tmp_path_factory.getbasetemp()) as module:
        try:
            system = system_of(module)
            few = search_all(system, PythonExplorer, LIMIT, unpacked=False) is not None
            found = reference(system) if few else None
        except (KvError, Fault):
            reject()
        if found is None or found.error is not None:
            reject()
        for claim in system.claims:
            if claim.name not in found.violated:
                continue
            meant = least(system, claim, found, RUNS)
            if meant is None:
                event("too many runs")
                continue
            run = least_run(system, claim, len(meant[1]))
            assert run is not None
            event(f"{claim.kind}, {len(run.steps)} steps, {key(run.steps)[0]} changes")
            assert (meant[0], key(meant[1])) == (run.init, key(run.steps))
            build_trace(system, run)
            if meant[1]:
                assert least_run(system, claim, len(meant[1]) - 1) is None


def two_machines(text: str) -> str:
    """The text of the model with every second action in another machine."""
    parts = text.split("@action(m)")
    marks = ["@action(m)", "@action(other)"]
    joined = parts[0] + "".join(marks[at % 2] + part for at, part in enumerate(parts[1:]))
    return joined.replace('m = Machine("m", "")', 'm = Machine("m", "")\nother = Machine("other", "")')


def test_the_least_run_is_no_longer_than_allowed() -> None:
    """And there is none where nothing breaks the claim."""
    _, _, system = world_of("outline@0.5.19")
    claim = system.claim("reads_own_writes")

    assert least_run(system, claim, 8) is None
    assert len((least_run(system, claim, 20) or fail()).steps) == 9


# --- other orders of one run ---------------------------------------------------------------------------------


@st.composite
def small_runs(draw: st.DrawFn) -> list[Step]:
    """Steps that read and write three variables."""
    paths = st.lists(st.sampled_from(["x", "y", "z"]), max_size=2).map(tuple)
    lanes = st.sampled_from(["left", "right", "wire"])
    count = draw(st.integers(0, 6))
    return [Step("a", {}, draw(lanes), "", "", draw(paths), draw(paths), {}) for _ in range(count)]


@relaxed
@given(small_runs(), st.data())
def test_orders_of_random_runs(steps: list[Step], data: st.DataObject) -> None:
    """The best of all orders that keep dependent steps apart; with no room for that one that is allowed."""
    texts = data.draw(st.permutations(["p", "q", "r", "s", "t", "u"][: len(steps)]))
    needs = needs_of(steps)
    allowed = [o for o in permutations(range(len(steps))) if keeps(o, needs)]

    exact, greedy = best_order(steps, texts), best_order(steps, texts, most=0)

    assert exact.exact and not greedy.exact
    assert greedy.steps in allowed
    assert exact.steps in allowed
    assert measured(exact.steps, steps, texts) == min(measured(order, steps, texts) for order in allowed)
    assert all(effect(order, steps) == effect(tuple(range(len(steps))), steps) for order in allowed)


def effect(order: tuple[int, ...], steps: list[Step]) -> tuple[dict[str, object], dict[int, object]]:
    """What the variables hold in the end, and what each step has read: who wrote it, having read what."""
    held: dict[str, object] = dict.fromkeys("xyz")
    seen: dict[int, object] = {}
    for n in order:
        seen[n] = tuple(held[path] for path in steps[n].reads)
        held |= dict.fromkeys(steps[n].writes, (n, seen[n]))
    return held, seen


def keeps(order: tuple[int, ...], needs: list[int]) -> bool:
    done = 0
    for n in order:
        if needs[n] & ~done:
            return False
        done |= 1 << n
    return True


def measured(order: tuple[int, ...], steps: list[Step], texts: list[str]) -> tuple[int, list[str]]:
    lanes = [steps[n].lane for n in order]
    return sum(a != b for a, b in pairwise(lanes)), [texts[n] for n in order]


@pytest.mark.parametrize(
    "name",
    ["sglang-0.5.19-writes_land_in_own_pages", "outline-0.5.19-reads_own_writes", "sglang-0.5.23-reads_own_writes"],
)
def test_recorded_runs_in_another_order(name: str) -> None:
    """Still runs that break the claim, with fewer changes of machine; the least of all runs has no more of them."""
    _, _, system, trace = recorded(name)
    run = counterexample(system, trace)

    other, exact = reordered(system, run)

    assert exact and key(other.steps) < key(run.steps)
    assert len(build_trace(system, other).steps) == len(run.steps)
    best = least_run(system, run.claim, len(run.steps))
    assert best is not None and key(best.steps) <= key(other.steps)


# --- runs that are not shortest ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("outline@0.5.19", "writes_land_in_own_pages"),
        ("sglang@0.5.19", "writes_land_in_own_pages"),
    ],
)
def test_random_walks_are_shortened(target: str, name: str) -> None:
    """What is left breaks the claim and cannot do without any step."""
    _, _, system = world_of(target)
    walker = Walker(system, system.claim(name))
    found = walked(walker, seed=1)

    shorter = shortened(system, found)

    assert 0 < len(shorter.steps) < len(found.steps)
    assert len(build_trace(system, shorter).steps) == len(shorter.steps)
    for at in range(len(shorter.steps)):
        assert walker.walk(shorter.init, shorter.steps[:at] + shorter.steps[at + 1 :]) is None


def walked(walker: Walker, seed: int) -> Counterexample:
    """A long random walk that ends in a violation."""
    draw, machine = random.Random(seed), walker.machine
    instances = [(action, args) for action in walker.system.actions for args in choices(action.params)]
    for _ in range(400):
        state: State = draw.choice(list(machine.initial()))
        init, steps = state, []
        for _ in range(60):
            draw.shuffle(instances)
            after = ((a, args, machine.step(a.params, a.body, state, args)) for a, args in instances)
            action, args, following = next((step for step in after if step[2] is not None), (None, (), None))
            if action is None or following is None:
                break
            steps.append((action, args))
            state = following
            if walker.broken(state):
                if len(steps) < 8:
                    break
                return Counterexample(walker.claim, init, tuple(steps))
    raise AssertionError("no walk breaks the claim")


def test_a_trace_that_is_not_shortest_is_minimised_all_the_same() -> None:
    """Steps of the other request are of no use and go."""
    model, chosen, system = world_of("outline@0.5.19")
    claim = system.claim("writes_land_in_own_pages")
    long = walked(Walker(system, claim), seed=3)

    smaller = minimise_trace(model, chosen, system, build_trace(system, long))

    assert smaller is not None
    assert smaller.order == "runs" and len(smaller.world.found.steps) == 7 < len(long.steps)
    assert smaller.gains[0] == f"steps {len(long.steps)} -> 7"


# --- smaller worlds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reads_own_writes", "writes_spare_other_requests"])
def test_no_size_of_the_smallest_world_can_be_lowered(name: str) -> None:
    """Each lowered by one, a complete search finds no run of as many steps."""
    model, chosen, system = world_of("outline@0.5.19")
    run = found_by_search(system, name)

    smaller = minimise(model, World(chosen, system, run))

    assert smaller is not None and not smaller.undecided
    assert smaller.after < smaller.before
    assert smaller.after == sort_key(model, smaller.world.chosen, smaller.world.found)
    assert len(build_trace(smaller.world.system, smaller.world.found).steps) <= len(run.steps)
    for size, value in sizes(model, smaller.world.chosen).items():
        if value > 1:
            other = build(model, with_size(smaller.world.chosen, size, value - 1))
            options = Options(properties=(name,), max_depth=len(smaller.world.found.steps) + 1)
            assert search(other, options).findings[0].verdict != "violated", size


def test_requests_that_a_run_does_not_need_are_gone() -> None:
    """A read of pages never written needs one request; a write into another one's pages needs two."""
    model, chosen, system = world_of("outline@0.5.19")

    alone = minimise(model, World(chosen, system, found_by_search(system, "reads_own_writes")))
    two = minimise(model, World(chosen, system, found_by_search(system, "writes_spare_other_requests")))

    assert alone is not None and alone.world.system.parameters["Req"] == 1
    assert two is not None and two.world.system.parameters["Req"] == 2
    assert "Req 2 -> 1" in alone.gains
    assert any("Req 2 -> 1" in sentence for sentence in alone.words())


def test_a_budget_that_is_too_small_is_told() -> None:
    """Nothing is lowered for which there was no room; the run is put in order by itself."""
    model, chosen, system = world_of("outline@0.5.19")
    run = found_by_search(system, "writes_spare_other_requests")

    smaller = minimise(model, World(chosen, system, run), Budget(states=60))

    assert smaller is not None
    assert smaller.order == "orders"
    assert any("orders of these steps" in sentence for sentence in smaller.words())
    assert "Req = 1" in smaller.undecided
    assert any("Not decided" in sentence and "Req = 1" in sentence for sentence in smaller.words())
    build_trace(smaller.world.system, smaller.world.found)


# --- switches ------------------------------------------------------------------------------------------------


def test_switches_that_are_not_needed_can_be_off_together() -> None:
    """The same steps break the claim without them; without any one of the others they do not."""
    model, chosen, system = world_of("sglang@0.5.19")
    run = found_by_search(system, "writes_land_in_own_pages")

    off = needless(Variants(model), chosen, run)

    assert {"timeouts", "transfer_failures"} & set(off)
    fewer = build(model, choose(model, preset="0.5.19", sets=dict.fromkeys(off, False)))
    actions = {action.name: action for action in fewer.actions}
    steps = tuple((actions[action.name], args) for action, args in run.steps)
    assert len(build_trace(fewer, replace(run, claim=fewer.claim(run.claim.name), steps=steps)).steps) == len(steps)
    assert "client_disconnects" not in off, "nothing is given back before its time unless a client leaves"


EITHER = """\
from kvproto.lang import Bool, Machine, Model, Params, Record, action, flag, invariant, require


class Config(Params):
    one: bool = flag(True, "")
    two: bool = flag(True, "")


cfg = Config()


class State(Record):
    done: Bool


m = Machine("m", "")


@action(m)
def act(s):
    require(cfg.one or cfg.two)
    s.done = True


@invariant("")
def undone(s):
    return not s.done


model = Model("either", "", state=State, parts=[__name__], params=Config)
"""


def test_of_two_switches_that_do_the_same_one_is_needed(tmp_path: Path) -> None:
    """Each could be off, but not both: the one that is declared first is."""
    with imported(EITHER, tmp_path) as module:
        run = found_by_search(system_of(module), "undone")

        assert needless(Variants(module.model), choose(module.model), run) == ("one",)


def test_claims_about_runs_and_witnesses_are_left_alone() -> None:
    """A lasso has no last step."""
    model, chosen, system, trace = recorded("sglang-0.5.19-rooms_are_cleared")

    assert minimise_trace(model, chosen, system, trace) is None


# --- helpers -------------------------------------------------------------------------------------------------


def world_of(target: str) -> tuple[Model, Chosen, System]:
    """A shipped model under a preset."""
    found = find(target)
    chosen = choose(found.model, preset=found.preset)
    return found.model, chosen, build(found.model, chosen)


def recorded(name: str) -> tuple[Model, Chosen, System, Trace]:
    """A recorded trace with its system."""
    trace = codec.read(ROOT / "traces" / f"{name}{codec.SUFFIX}")
    model = find(trace.model).model
    chosen = choose(model, preset=trace.preset, scope=trace.scope, sets=trace.parameters)
    return model, chosen, build(model, chosen), trace


def counterexample(system: System, trace: Trace) -> Counterexample:
    """The run of a trace."""
    from kvproto.whatif.runs import walk_of

    return walk_of(system, trace).found(system.claim(trace.property))


def found_by_search(system: System, name: str) -> Counterexample:
    """The run that a search comes upon."""
    return search(system, Options(properties=(name,))).findings[0].counterexample or fail()


def fail() -> Counterexample:
    raise AssertionError("there is no run")


RETURNED = '''
from kvproto.lang import Bool, Int, Machine, Model, Record, action, require

class State(Record):
    a: Bool
    b: Bool
    n: Int(0, 3)

one = Machine("one", "acts")

def pick(s):
    """A helper that returns from a branch, after an assertion."""
    if s.a:
        assert s.b, "b holds where a does"
        return 1
    return 2

@action(one)
def turn(s, a: Bool, b: Bool):
    """Anything may be."""
    require(s.n == 0)
    s.a = a
    s.b = b

@action(one)
def use(s):
    """What the helper returns is used after it."""
    x = pick(s)
    s.n = x

model = Model("returned", "a value from a branch that may fail", state=State, parts=[__name__])
'''


def test_what_a_failing_branch_returns_is_used_after_it(tmp_path: Path) -> None:
    """The failing step is a step of the watched system: what its branch would have set has a value all the same."""
    with imported(RETURNED, tmp_path) as module:
        system = system_of(module)
        [claim] = [claim for claim in system.claims if claim.kind == "assert"]
        run = least_run(system, claim, 2)
        assert run is not None
        assert [action.name for action, _ in run.steps] == ["turn", "use"]
        build_trace(system, run)
