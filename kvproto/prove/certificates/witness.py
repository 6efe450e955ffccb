"""Runs that show what a proof is about: found by the search on a small instance, in the words of the model."""

from __future__ import annotations

from collections.abc import Mapping

from kvproto.engine.evaluate import Machine
from kvproto.engine.outcome import Counterexample, Options
from kvproto.engine.search import search
from kvproto.ir.types import label
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import Target
from kvproto.prove.certificates.codec import Json
from kvproto.prove.certificates.recheck_witness import beginning


def witnesses(target: Target, settings: Mapping[str, Json], scope: str | None = None) -> list[Json]:
    """A shortest run to each `sometimes` of the model in a scope; those that are not reached there are missing."""
    chosen = choose(target.model, preset=target.preset, scope=scope, sets=settings)
    system = build(target.model, chosen)
    names = tuple(claim.name for claim in system.claims if claim.kind == "sometimes")
    if not names:
        return []
    result = search(system, Options(properties=names))
    runs = [finding.witness for finding in result.findings if finding.witness is not None]
    machine = Machine(system)
    return [_written(machine, run, chosen.scope) for run in runs]


def _written(machine: Machine, run: Counterexample, scope: str) -> Json:
    steps = [
        [action.name, *(label(arg, param.type) for arg, param in zip(args, action.params, strict=True))]
        for action, args in run.steps
    ]
    return {"claim": run.claim.name, "scope": scope, "start": beginning(machine, run.init), "steps": steps}
