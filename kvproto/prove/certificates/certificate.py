"""Certificates: proofs as files that a checker follows without searching (`kvproto.proof/1`, docs/certificates.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvproto.prove.certificates.codec import Json, formula_to_json, step_to_json
from kvproto.prove.certificates.ground_steps import Refutation, grounded, take
from kvproto.prove.certificates.recheck import SCHEMA, check, elements, header
from kvproto.prove.certificates.refutation import NotRefuted, refute
from kvproto.prove.logic.conditions import Condition, conditions
from kvproto.prove.logic.readable import reading
from kvproto.prove.logic.theory import Clause, Theory


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a theory comes from: what the checker needs to obtain it again, and runs that show what it is about.

    `settings` are parameters set beyond the preset, `fixed` names of numbers that keep their values, `left_out` the
    invariants of the model that nobody has tried to prove.
    """

    target: str
    settings: Mapping[str, bool | int | str] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    witnesses: tuple[Json, ...] = ()


def certificate(
    theory: Theory,
    clauses: Sequence[Clause],
    cores: Mapping[str, Sequence[str]] | None = None,
    origin: Origin | None = None,
) -> dict[str, Json]:
    """The certificate that the clauses prove the theory's claims; the checker has followed it.

    `cores` tells, by condition, hypotheses that suffice.  Raises `NotRefuted` if a condition is not valid, or needs
    more arithmetic than a certificate can hold.
    """
    source = origin or Origin("")
    entries = [
        {"name": clause.name, "text": reading(clause.formula), "formula": formula_to_json(clause.formula)}
        for clause in clauses
    ]
    data = {
        "schema": SCHEMA,
        "target": source.target,
        "settings": dict(source.settings),
        "fixed": list(source.fixed),
        "left_out": list(source.left_out),
        **header(theory),
        "clauses": entries,
        "witnesses": list(source.witnesses),
        "conditions": [_entry(condition, cores or {}) for condition in conditions(theory, clauses)],
    }
    check(data, theory)
    return data


def write(path: Path, data: Mapping[str, Json]) -> None:
    """Write a certificate so that it can be read and compared: a clause, a condition, a witness a line."""
    lines = []
    for name, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join(f"    {_json(row)}" for row in value)
            lines.append(f"  {_json(name)}: [\n{rows}\n  ]")
        else:
            lines.append(f"  {_json(name)}: {_json(value)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


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
