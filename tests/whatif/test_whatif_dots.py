"""Red dots are what brute force finds, on counterexamples of random and of shipped models, and of runs without end."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, reject, settings
from random_models import models
from schedule_oracle import taken
from searching import imported, system_of
from whatif_samples import WRONG, found_by, sample

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Fault
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.nodes import LIVENESS, System
from kvproto.ir.types import show_path
from kvproto.trace.build import build_trace
from kvproto.whatif.dots import dots
from kvproto.whatif.subject import Replayed, replayed

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=60)

LIMIT = 2000
"""States of a random model at most."""


def expected(run: Replayed) -> dict[tuple[int, str], tuple[str, int]]:
    """(step, variable) -> (effect, step at which that shows), by brute force."""
    leaves = run.course.machine.leaves
    claim = run.system.claim(run.trace.property)
    found = {}
    for step in range(1, len(run.states)):
        before, after = run.states[step - 1], run.states[step]
        for slot, (path, _) in enumerate(leaves):
            if before[slot] != after[slot]:
                put = (step, slot, before[slot])
                ending = taken(run.system, claim, run.states[0], run.calls, put)
                if ending.end in ("refused", "holds"):
                    effect = "harmless" if ending.end == "holds" else "refused"
                    found[step, show_path(path, run.system.state)] = effect, ending.step
    return found


def agree(run: Replayed) -> int:
    """The dots are those of brute force; gives how many there are."""
    found = {(dot.step, dot.path): (dot.effect, dot.at) for dot in dots(run)}
    assert expected(run) == found
    for dot in dots(run):
        assert (dot.instead, dot.value) == run.trace.steps[dot.step - 1].delta[dot.path]
        assert bool(dot.condition) == (dot.effect == "refused")
    return len(found)


def counterexamples(system: System) -> list[Replayed]:
    """Runs that break claims about states and steps."""
    result = search(system, Options(max_states=LIMIT, keep_going=True, tier="python"))
    runs = [finding.counterexample for finding in result.findings if finding.claim.kind not in LIVENESS]
    return [replayed(build_trace(system, run), system) for run in runs if run is not None and run.steps]


@relaxed
@given(models())
def test_random_models(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    with imported(text, tmp_path_factory.getbasetemp()) as module:
        try:
            runs = counterexamples(system_of(module))
        except (KvError, Fault):
            reject()
        for run in runs:
            event(f"{run.course.claim.kind}: {min(agree(run), 9)} dots")


@pytest.mark.parametrize("name", [name for name in WRONG if not WRONG[name].about_runs])
def test_wrong_presets(name: str) -> None:
    run = found_by(name)

    assert agree(run) > 0
    assert {dot.step for dot in dots(run)} <= set(range(1, len(run.calls) + 1))


def test_the_write_that_freed_the_page_is_a_dot() -> None:
    """Without the release of page 0 nothing would have been read that is not the reader's."""
    run = sample("kv_transfer@vulnerable", "no_stray")
    harmless = {(dot.step, dot.path) for dot in dots(run) if dot.effect == "harmless"}
    freed = [
        (number, path)
        for number, step in enumerate(run.trace.steps, 1)
        for path, (old, new) in step.delta.items()
        if path.startswith("owner[") and old is not None and new is None
    ]

    assert freed
    assert set(freed) & harmless
