"""Partial-order reduction in searches of models: the same verdicts as without, real runs, and notes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import random_models
import symmetric_models
from searching import imported, system_of

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Machine
from kvproto.engine.native import Unavailable, load_engine
from kvproto.engine.outcome import Finding, Options, Result
from kvproto.engine.search import search
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

CORPUS = Path(__file__).parent.parent / "corpus"

LIMIT = 2000
"""Models with more states are left alone."""

needs_c = pytest.mark.skipif(isinstance(load_engine(), Unavailable), reason="the C engine does not work here")


def system(target: str, *, preset: str | None = None, scope: str | None = None, **sets: int) -> System:
    """A model under a binding."""
    model = find(target).model
    return build(model, choose(model, preset=preset, scope=scope, sets=sets))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reduction must not change; for an error of the model only of which kind it is."""

    verdicts: dict[str, str] = field(default_factory=dict)
    never_fired: tuple[str, ...] = ()
    vacuous: tuple[str, ...] = ()
    error: str = ""


def answer(searched: System, options: Options) -> tuple[Answer, Result | None]:
    """The outcome of a search, and its result unless the model goes wrong."""
    try:
        result = search(searched, options)
    except KvError as problem:
        return Answer(error=problem.diagnostic.code[:3]), None
    gaps = tuple(sorted(map(str, result.vacuous)))
    return Answer({f.claim.name: f.verdict for f in result.findings}, result.never_fired, gaps), result


def check_run(searched: System, finding: Finding) -> None:
    """Assert that a run of the model shows what the finding says, as far as single states can show it."""
    run = finding.counterexample or finding.witness
    if run is None or finding.claim.cond is None or finding.claim.kind == "assert":
        return
    machine, state = Machine(searched), run.init
    actions = {action.name: action for action in searched.actions}
    for action, args in run.steps:
        after = machine.step(action.params, actions[action.name].body, state, args)
        assert after is not None, f"{action.name} cannot happen here"
        state = after
    assert machine.holds(finding.claim.cond, state) == (finding.claim.kind == "sometimes")


def compare(searched: System, **options: object) -> int:
    """Assert that the reduction changes no answer; number of states that it saves."""
    plain = Options(keep_going=True, max_states=LIMIT, symmetry=False)
    right, full = answer(searched, plain)
    if full is not None and not full.complete:
        return 0
    found, some = answer(searched, Options(keep_going=True, por=True, **options))  # type: ignore[arg-type]
    assert right == found
    if some is None or full is None:
        return 0
    assert some.por
    for finding in some.findings:
        check_run(searched, finding)
    return full.states - some.states


def model_of(write: object, seed: int, folder: Path) -> System | None:
    """A random model, None if it is refused."""
    draw = random.Random(seed)
    text = write(lambda low, high: draw.randint(low, high))  # type: ignore[operator]
    try:
        with imported(text, folder) as module:
            return system_of(module)
    except KvError:
        return None


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_random_models(first: int, tmp_path: Path) -> None:
    """Random models."""
    systems = [model_of(random_models.write, seed, tmp_path) for seed in range(first, first + 30)]

    assert sum(compare(each, symmetry=False) for each in systems if each is not None) > 0


@pytest.mark.parametrize("symmetry", [None, False])
@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_symmetric_models(first: int, symmetry: bool | None, tmp_path: Path) -> None:
    """Random models most of whose sorts are symmetric, with both reductions."""
    systems = [model_of(symmetric_models.write, seed, tmp_path) for seed in range(first, first + 20)]

    assert sum(compare(each, symmetry=symmetry) for each in systems if each is not None) > 0


@pytest.mark.parametrize("symmetry", [None, False])
def test_every_tier(symmetry: bool | None) -> None:
    """All tiers visit the same states, the reference checker among them."""
    small = system("kv_transfer", preset="vulnerable", scope="S", Req=2, Page=3)
    ways = [{"engine": "reference"}, {"tier": "python"}, {"tier": "bytecode"}, {"tier": "compiled"}]
    found = [search(small, Options(por=True, symmetry=symmetry, keep_going=True, **way)) for way in ways]  # type: ignore[arg-type]

    figures = {(r.states, r.transitions, r.depth, r.violating_states, str(r.fired)) for r in found}
    assert len(figures) == 1
    runs = [{f.claim.name: f.counterexample and f.counterexample.steps for f in r.findings} for r in found]
    names = [
        {name: steps and [(action.name, args) for action, args in steps] for name, steps in run.items()} for run in runs
    ]
    assert all(run == names[0] for run in names)


# --- how much is saved -----------------------------------------------------------------------------------


@needs_c
def test_pipeline_that_sorts() -> None:
    """The published figure of SPIN: 135 of 107,713 states."""
    result = search(system(str(CORPUS / "sort_pipeline.py")), Options(por=True))

    assert result.complete
    assert 135 == result.states
    assert {"holds"} == {f.verdict for f in result.findings}


@needs_c
@pytest.mark.parametrize("preset", ["safe", "vulnerable"])
def test_benchmark(preset: str) -> None:
    """Less than half of the states, and less than half of the orbits."""
    protocol = system("kv_transfer", preset=preset, scope="S")
    for symmetry in (False, None):
        full, some = (search(protocol, Options(keep_going=True, symmetry=symmetry, por=por)) for por in (False, True))

        assert {f.claim.name: f.verdict for f in full.findings} == {f.claim.name: f.verdict for f in some.findings}
        assert 2 * some.states < full.states
        for finding in some.findings:
            check_run(protocol, finding)


# --- what is said ----------------------------------------------------------------------------------------


def test_notes() -> None:
    """A search says what the reduction means, and that there is one worker."""
    small = system("kv_transfer", preset="safe", scope="S", Req=2, Page=2)
    result = search(small, Options(por=True))
    assert result.por
    assert "counterexamples and witnesses need not be shortest ones" == result.por_note

    assert result.por_note + ", and there is one worker" == search(small, Options(por=True, workers=2)).por_note
    assert ("", False) == (search(small, Options()).por_note, search(small, Options()).por)


def test_off_for_claims_about_runs() -> None:
    """What is said of whole runs is judged on all states."""
    result = search(system(str(CORPUS / "dining_philosophers.py")), Options(por=True))

    assert not result.por
    assert "off, because claims about runs are judged on all states" == result.por_note


@needs_c
def test_off_with_fingerprints() -> None:
    """Fingerprints cannot be found by number; states that are kept whole anyway are no fingerprints."""
    wide = system(str(CORPUS / "sort_pipeline.py"))
    result = search(wide, Options(por=True, fingerprints=True, max_states=1000))
    assert not result.por
    assert "off, because fingerprints do not tell which states are still to be expanded" == result.por_note

    narrow = system("kv_transfer", preset="safe", scope="S", Req=2, Page=2)
    assert search(narrow, Options(por=True, fingerprints=True)).por


def test_off_where_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """With very many action instances the tables would cost more than they save."""
    monkeypatch.setattr("kvproto.engine.por.relations.MOST_ACTIONS", 3)
    result = search(system("kv_transfer", preset="safe", scope="S", Req=2, Page=2), Options(por=True))

    assert not result.por
    assert result.complete
    assert result.por_note.startswith("off, because this model is too large for it: ")


@needs_c
def test_resumed(tmp_path: Path) -> None:
    """A search that is interrupted and resumed visits the same states, and not without the reduction."""
    journal = tmp_path / "journal"
    protocol = system("kv_transfer", preset="safe", scope="S")
    whole = search(protocol, Options(por=True, symmetry=False))
    part = search(protocol, Options(por=True, symmetry=False, max_states=3000, checkpoint=journal))
    assert part.stopped
    with pytest.raises(KvError, match="belongs to another search"):
        search(protocol, Options(symmetry=False, resume=journal))

    resumed = search(protocol, Options(por=True, symmetry=False, resume=journal))
    assert (whole.states, whole.transitions, whole.fired) == (resumed.states, resumed.transitions, resumed.fired)
