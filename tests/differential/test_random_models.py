"""The reference checker, the compiled tiers and plain Python stepping agree on random models."""

from __future__ import annotations

import pytest  # noqa: TC002 -- annotations of tests are evaluated
from hypothesis import HealthCheck, event, given, reject, settings
from random_models import models
from searching import agree, imported, reference, reported, search, system_of, tiers
from single_steps import any_states, same_level, same_outcomes
from stepping import same_steps, sampled

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Fault
from kvproto.engine.tier0 import PythonExplorer
from kvproto.ir.nodes import System

LIMIT = 3000
"""Models with more states are not searched by the slow checkers."""

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=200)


@relaxed
@given(models())
def test_all_checkers_agree(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Same states in the same order, same verdicts, same errors; and Python steps as the model does."""
    with imported(text, tmp_path_factory.getbasetemp()) as module:
        try:
            system = system_of(module)
            first = search(system, PythonExplorer, LIMIT)
        except KvError as refused:
            event(f"refused: {refused.diagnostic.code}")
            reject()
        except Fault as fault:
            same_failed_start(system, fault)
            return
        if first is None:
            event("too many states")
            reject()
        found = reference(system)
        for tier in tiers():
            again = search(system, tier)
            assert again is not None
            agree(system, found, again)
            if tier is PythonExplorer:
                assert reported(again) == reported(first)
        states = any_states(system, 40, len(text))
        same_outcomes(system, first.lowered, states)
        same_level(first.lowered, states)
        same_steps(module, system, [*sampled(found.order), *states[:12]])


def same_failed_start(system: System, fault: Fault) -> None:
    """An init function fails; the reference says so too."""
    error = reference(system).error
    assert error is not None
    assert (error[2].loc, error[4]) == (fault.node.loc, fault.code)
