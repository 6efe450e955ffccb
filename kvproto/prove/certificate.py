"""Certificates: proofs as files that a checker follows without searching (`kvproto.proof/1`, docs/certificates.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kvproto.prove.codec import Json, formula_to_json, step_to_json
from kvproto.prove.conditions import Condition, conditions
from kvproto.prove.ground_steps import Refutation, grounded, take
from kvproto.prove.recheck import SCHEMA, check, elements, header
from kvproto.prove.refutation import NotRefuted, refute
from kvproto.prove.theory import Clause, Theory


def certificate(
    theory: Theory,
    clauses: Sequence[Clause],
    cores: Mapping[str, Sequence[str]] | None = None,
    *,
    left_out: Sequence[str] = (),
    target: str = "",
    witnesses: Sequence[Json] = (),
) -> Json:
    """The certificate that the clauses prove the theory's claims, those left out aside.

    `cores` tells, by condition, hypotheses that suffice.  The result has been followed by the checker.  Raises
    `NotRefuted` if a condition is not valid, or needs more arithmetic than a certificate can hold.
    """
    claims = tuple(claim for claim in theory.claims if claim.name not in left_out)
    wanted = replace(theory, claims=claims)
    data = {
        "schema": SCHEMA,
        "target": target,
        **header(theory),
        "claims": [{"name": claim.name, "text": claim.text} for claim in claims],
        "left_out": list(left_out),
        "clauses": [{"name": c.name, "text": c.text, "formula": formula_to_json(c.formula)} for c in clauses],
        "conditions": [_entry(condition, cores or {}) for condition in conditions(wanted, clauses)],
        "witnesses": list(witnesses),
    }
    check(data, theory)
    return data


def _entry(condition: Condition, cores: Mapping[str, Sequence[str]]) -> Json:
    found = _refuted(condition, cores.get(condition.name))
    ground = grounded(condition, found.uses)
    for step in found.steps:
        take(ground, step)
    return {
        "name": condition.name,
        "uses": list(found.uses),
        "elements": elements(ground),
        "steps": [step_to_json(step) for step in found.steps],
        "clauses": [list(clause) for clause in found.clauses],
    }


def _refuted(condition: Condition, core: Sequence[str] | None) -> Refutation:
    """From the hypotheses of the core if they are enough, which is quicker."""
    if core is not None:
        try:
            return refute(condition.assuming(core))
        except NotRefuted:
            pass
    return refute(condition)
