"""The reference checker, the compiled tiers and plain Python stepping agree on random models."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from random_models import models
from searching import agree, imported, reference, reported, search, system_of, tiers
from single_steps import any_states, same_level, same_outcomes
from stepping import same_steps, sampled

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Fault
from kvproto.engine.tier0 import PythonExplorer

LIMIT = 3000
"""Models with more states are not searched by the slow checkers."""

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=250)


@relaxed
@given(models())
def test_all_checkers_agree(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Same states in the same order, same verdicts, same errors; and Python steps as the model does."""
    with imported(text, tmp_path_factory.getbasetemp()) as module:
        try:
            system = system_of(module)
            first = search(system, PythonExplorer, LIMIT)
        except KvError:
            assume(False)
            raise
        except Fault as fault:
            error = reference(system).error
            assert error is not None and (error[2].loc, error[4]) == (fault.node.loc, fault.code)
            return
        assume(first is not None)
        assert first is not None
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
