"""Verdicts on sets of switches against the reference checker, and every way to a verdict by itself."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvproto.engine.outcome import Options
from kvproto.engine.reference import Explored, explore
from kvproto.engine.search import search
from kvproto.ir.nodes import System
from kvproto.lang.load import find
from kvproto.mitigations.answer import Answer, answer
from kvproto.mitigations.inclusion import outline
from kvproto.mitigations.judge import Examined, Goal, Judge, Told, examine
from kvproto.mitigations.lattice import subsets
from kvproto.mitigations.rerun import Stage
from kvproto.mitigations.switches import Question, question
from kvproto.passes import run as run_passes

PAGES = str(Path(__file__).with_name("pages.py"))

HEAD = """
from kvproto.lang import *

m = Machine("m", "the machine")

class Config(Params):
    a: bool = flag(False, "a", kind="mitigation")
    b: bool = flag(False, "b", kind="mitigation")
    c: bool = flag(False, "c", kind="mitigation")

cfg = Config()

class State(Record):
    x: Int(0, 3)
    y: Int(0, 3)
    gone: Bool

"""

TAIL = """
@invariant("x and y do not meet")
def apart(s):
    return not (s.x == {x} and s.y == {y})

@invariant("nothing is gone")
def here(s):
    return not s.gone

model = Model("random", "a random model", state=State, parts=[__name__], params=Config, deadlock=True)
"""

FLAGS = ["cfg.a", "cfg.b", "cfg.c", "not cfg.a", "not cfg.b", "cfg.a and cfg.b", "cfg.b or not cfg.c"]
FACTS = ["s.x < s.y", "s.y < 2", "s.x > 0", "not s.gone", "s.x == s.y"]
EFFECTS = ["s.x = min(s.x + 1, 3)", "s.y = min(s.y + 1, 3)", "s.x = 0", "s.y = s.x", "s.gone = True", "s.gone = False"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A model with three switches that stand in guards, in branches and in an assertion."""
    flag, fact, effect = st.sampled_from(FLAGS), st.sampled_from(FACTS), st.sampled_from(EFFECTS)
    actions = []
    for number in range(draw(st.integers(2, 4))):
        lines = [f"    require(({draw(flag)}) or {draw(fact)})"] if draw(st.booleans()) else []
        lines += [f"    require({draw(fact)})"] if draw(st.booleans()) else []
        lines += [f"    if {draw(flag)}:", f"        {draw(effect)}"] if draw(st.booleans()) else []
        lines += [f"    assert ({draw(flag)}) or {draw(fact)}, 'never'"] if draw(st.integers(0, 4)) == 0 else []
        lines.append(f"    {draw(effect)}")
        actions.append(f"@action(m)\ndef step{number}(s):\n" + "\n".join(lines) + "\n")
    place = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    return HEAD + "\n".join(actions) + TAIL.format(x=place[0], y=place[1])


def asked_of(text: str) -> Question:
    """The question about all switches of a model that is written to a file of its own."""
    path = Path(tempfile.mkdtemp(prefix="kvproto-mitigations-")) / "random_model.py"
    path.write_text(text)
    return question(find(str(path)))


def by_reference(system: System) -> dict[str, bool]:
    """Verdicts of the reference checker."""
    found: Explored = explore(system)
    assert found.error is None
    return {claim.name: claim.name not in found.violated for claim in system.claims}


def names_of(what: Question) -> list[str]:
    return [claim.name for claim in what.system(0).claims]


def table(what: Question) -> dict[int, dict[str, bool]]:
    return {chosen: by_reference(what.system(chosen)) for chosen in subsets(what.everything)}


def check_against(found: Answer, expected: dict[int, dict[str, bool]], everything: int) -> None:
    """The answer is that of all subsets, by definition."""
    for goal in found.goals:
        good = {s for s, verdicts in expected.items() if all(verdicts[name] for name in goal.names)}
        bad = expected.keys() - good
        assert set(goal.boundary.sufficient) == {s for s in good if not any(t != s and t & s == t for t in good)}
        assert set(goal.boundary.insufficient) == {s for s in bad if not any(t != s and t & s == s for t in bad)}
        for chosen in goal.boundary.insufficient:
            assert any((chosen, name) in found.runs for name in goal.names)
    for (chosen, name), run in found.runs.items():
        system = found.systems[chosen]
        stage = Stage(system)
        assert stage.again(system.claim(name), stage.strip(run)) is not None


slow = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(texts())
@slow
def test_every_set_is_judged_as_the_reference_checker_does(text: str) -> None:
    what = asked_of(text)
    expected = table(what)
    names = names_of(what)

    with Judge(what, names, Options(tier="bytecode")) as judge:
        found = answer(what, judge, all_sets=True)

    for chosen, verdicts in expected.items():
        assert {name: judge.verdict(chosen, (name,)) for name in names} == verdicts
    check_against(found, expected, what.everything)


@given(texts())
@slow
def test_the_walk_decides_single_sets_rightly(text: str) -> None:
    what = asked_of(text)
    expected = table(what)

    with Judge(what, names_of(what), Options(tier="bytecode")) as judge:
        found = answer(what, judge, all_sets=False)

    for chosen, key in judge.keys.items():
        for name, verdict in judge.verdicts[key].items():
            assert verdict is expected[chosen][name]
    for goal in found.goals:
        assert all(all(expected[s][name] for name in goal.names) for s in goal.boundary.sufficient)
        assert all(not all(expected[s][name] for name in goal.names) for s in goal.boundary.insufficient)


@given(texts())
@slow
def test_what_restricts_another_system_reaches_less(text: str) -> None:
    what = asked_of(text)
    systems = {chosen: what.system(chosen) for chosen in subsets(what.everything)}
    sketches = {chosen: outline(run_passes(system)) for chosen, system in systems.items()}
    reached = {chosen: explore(system) for chosen, system in systems.items()}

    for one, other in itertools.permutations(systems, 2):
        if sketches[one].restricts(sketches[other], []):
            assert set(reached[one].order) <= set(reached[other].order)
            safe = {c.name for c in systems[one].claims if c.kind in ("invariant", "assert")}
            assert reached[one].violated.keys() & safe <= reached[other].violated.keys()
        if sketches[one].key() == sketches[other].key():
            assert reached[one].order == reached[other].order
            assert reached[one].violated == reached[other].violated


# --- one way at a time ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages() -> Question:
    return question(find(PAGES))


def nothing_known(names: tuple[str, ...]) -> Told:
    return Told(names, (), {}, {}, ())


def looked_at(what: Question, chosen: int, *names: str) -> Examined:
    return examine(what, chosen, nothing_known(names), Options())


def test_a_search_is_the_last_way(pages: Question) -> None:
    found = looked_at(pages, 0, "reads_clean", "one_read")

    assert found.verdicts == {"reads_clean": False, "one_read": True}
    assert found.ways == {"search": 2}
    assert found.runs.keys() == {"reads_clean"}


def test_a_run_that_happens_again_saves_a_search(pages: Question) -> None:
    run = looked_at(pages, 0, "no_stray").runs["no_stray"]

    told = Told(("no_stray",), (), {}, {"no_stray": (run,)}, ())

    found = examine(pages, pages.mask(["tagged", "rotate"]), told, Options())

    assert found.verdicts == {"no_stray": False}
    assert found.ways == {"run": 1}


def test_a_run_that_is_impossible_decides_nothing(pages: Question) -> None:
    run = looked_at(pages, 0, "no_stray").runs["no_stray"]
    told = Told(("no_stray",), (), {}, {"no_stray": (run,)}, ())

    found = examine(pages, pages.mask(["drain", "bounded"]), told, Options())

    assert found.verdicts == {"no_stray": True}
    assert found.ways == {"search": 1}


def test_a_system_with_more_guards_needs_no_search(pages: Question) -> None:
    weak = looked_at(pages, pages.mask(["drain"]), "one_read")
    told = Told(("one_read",), (), {}, {}, [(weak.outline, frozenset({"one_read"}))])

    found = examine(pages, pages.mask(["drain", "bounded"]), told, Options())

    assert found.verdicts == {"one_read": True}
    assert found.ways == {"inclusion": 1}


def test_a_system_with_fewer_guards_is_searched(pages: Question) -> None:
    strong = looked_at(pages, pages.mask(["drain", "bounded"]), "no_stray")
    told = Told(("no_stray",), (), {}, {}, [(strong.outline, frozenset({"no_stray"}))])

    found = examine(pages, pages.mask(["drain"]), told, Options())

    assert found.verdicts == {"no_stray": False}
    assert found.ways == {"search": 1}


def test_inclusion_says_nothing_about_runs_and_deadlock(pages: Question) -> None:
    weak = looked_at(pages, pages.mask(["drain"]), "served", "can_read")
    told = Told(("served", "can_read"), (), {}, {}, [(weak.outline, frozenset({"served", "can_read"}))])

    found = examine(pages, pages.mask(["drain", "bounded"]), told, Options())

    assert found.ways == {"search": 2}


def test_switches_that_change_nothing_share_a_verdict(pages: Question) -> None:
    first = looked_at(pages, 0, "no_stray")
    told = Told(("no_stray",), (), {first.key: frozenset({"no_stray"})}, {}, ())

    found = examine(pages, pages.mask(["rotate", "bounded"]), told, Options())

    assert found.key == first.key
    assert found.verdicts == {}


def test_a_lasso_happens_again() -> None:
    """Runs without end are tried on other systems, too: steps, return and fairness."""
    what = asked_of(
        HEAD
        + "@action(m)\ndef go(s):\n    require(s.x < 3)\n    s.x += 1\n\n"
        + "@action(m)\ndef back(s):\n    require(not cfg.a and s.x > 0)\n    s.x -= 1\n\n"
        + "@action(m)\ndef other(s):\n    require(cfg.b)\n    s.y = 1\n\n"
        + '@eventually("x is at the top")\ndef top(s):\n    return s.x == 3\n\n'
        + 'model = Model("lasso", "runs", state=State, parts=[__name__], params=Config, fairness=[weak(go)])\n'
    )
    run = looked_at(what, 0, "top").runs["top"]
    told = Told(("top",), (), {}, {"top": (run,)}, ())

    assert run.loop is not None
    assert examine(what, what.mask(["b"]), told, Options()).ways == {"run": 1}
    assert examine(what, what.mask(["a"]), told, Options()).verdicts == {"top": True}


def test_budgets_leave_sets_undecided(pages: Question) -> None:
    with Judge(pages, ["no_stray"], Options(max_states=2)) as judge:
        assert judge.verdict(pages.mask(["drain", "bounded"]), ("no_stray",)) is None
        found = answer(pages, judge, all_sets=False)

    assert found.goals[0].verdict == "inconclusive"
    assert found.goals[0].boundary.sufficient == ()
    assert found.goals[0].boundary.open


def test_several_processes_find_the_same(pages: Question) -> None:
    answers = []
    for jobs in (1, 2):
        with Judge(pages, names_of(pages), Options(), jobs=jobs) as judge:
            answers.append(answer(pages, judge))

    assert answers[0].goals == answers[1].goals
    assert answers[0].sets == answers[1].sets
    assert answers[0].runs == answers[1].runs


def test_a_goal_of_several_properties_needs_no_more_than_one_that_fails(pages: Question) -> None:
    with Judge(pages, ["one_read", "no_stray"], Options()) as judge:
        judge.verdict(0, ("no_stray",))
        searches = judge.work.searches
        assert Goal(judge, ["no_stray", "one_read"]).decide(pages.mask(["tagged"])) is False

    assert judge.work.searches == searches


def test_reported_runs_are_shortest(pages: Question) -> None:
    with Judge(pages, names_of(pages), Options()) as judge:
        found = answer(pages, judge)

    for (chosen, name), run in found.runs.items():
        expected = search(pages.system(chosen), Options(properties=(name,))).finding(name).counterexample
        assert expected is not None
        assert len(run.steps) == len(expected.steps)
