"""The answer as `kvproto.mitigations/1`, and the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from kvproto import __version__
from kvproto.lang.binding import Flag
from kvproto.mitigations.answer import Answer, GoalAnswer

SCHEMA = "kvproto.mitigations/1"

VERDICTS = {True: "holds", False: "violated", None: "inconclusive"}


def as_json(answer: Answer, traces: Mapping[tuple[int, str], str]) -> dict[str, object]:
    """One object; sets are lists of names."""
    asked, system, work = answer.question, answer.base, answer.work
    return {
        "schema": SCHEMA,
        "kvproto": __version__,
        "target": asked.target,
        "model": system.model,
        "preset": system.preset,
        "scope": system.scope,
        "parameters": {name: value for name, value in system.parameters.items() if name not in asked.switches},
        "switches": [_switch(answer, name) for name in asked.switches],
        "sets": 1 << len(asked.switches),
        "goals": [_goal(answer, goal, traces) for goal in answer.goals],
        "verdicts": [
            {"set": list(asked.names(chosen)), **{name: VERDICTS[verdict] for name, verdict in verdicts.items()}}
            for chosen, verdicts in answer.sets.items()
        ],
        "traces": [
            {"set": list(asked.names(key[0])), "property": key[1], "length": len(run.steps), "trace": traces.get(key)}
            for key, run in answer.runs.items()
        ],
        "never_fired": list(answer.never_fired),
        "work": {
            "sets": work.sets,
            "systems": work.systems,
            "searches": work.searches,
            "verdicts": dict(sorted(work.ways.items())),
            "states": work.states,
            "seconds": round(work.seconds, 3),
        },
    }


def _switch(answer: Answer, name: str) -> dict[str, object]:
    params = answer.question.model.params
    flag = params.parameters()[name] if params else None
    assert isinstance(flag, Flag)
    return {"name": name, "kind": flag.kind or None, "doc": flag.doc}


def _goal(answer: Answer, goal: GoalAnswer, traces: Mapping[tuple[int, str], str]) -> dict[str, object]:
    asked, boundary = answer.question, goal.boundary
    return {
        "name": goal.name,
        "claim": goal.claim,
        "properties": list(goal.names),
        "verdict": goal.verdict,
        "assumes": "nothing" if boundary.exact else "no other switch does harm",
        "sufficient": [list(asked.names(chosen)) for chosen in boundary.sufficient],
        "vacuous": [list(asked.names(chosen)) for chosen in goal.vacuous],
        "insufficient": [
            {
                "set": list(asked.names(chosen)),
                "missing": list(asked.names(asked.everything & ~chosen)),
                "violated": [
                    {"property": name, "length": len(answer.runs[key].steps), "trace": traces.get(key)}
                    for name in goal.names
                    if (key := (chosen, name)) in answer.runs
                ],
            }
            for chosen in boundary.insufficient
        ],
        "harm": [
            {"switch": asked.names(bit)[0], "holds_with": list(asked.names(chosen))} for chosen, bit in boundary.hurts
        ],
        "undecided": [list(asked.names(chosen)) for chosen in boundary.open],
    }


def exit_code(answer: Answer) -> Literal[0, 1, 3]:
    """0 for every goal some set suffices (or every set asked for does), 1 for some goal none does, 3 inconclusive."""
    if answer.goals:
        verdicts = {goal.verdict for goal in answer.goals}
        return 1 if "none suffices" in verdicts else 3 if "inconclusive" in verdicts else 0
    found = [verdict for verdicts in answer.sets.values() for verdict in verdicts.values()]
    return 1 if False in found else 3 if None in found or not found else 0
