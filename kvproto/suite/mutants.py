"""A system with one part of one guard left out: does any property notice?

A part that nobody misses is a guard that the properties do not need, or a property that is missing.  Both are worth
knowing of a model that is to find bugs by what it forbids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.engine.written import written
from kvproto.ir.nodes import Action, Const, Expr, Logic, Require, Stmt, System
from kvproto.ir.types import BoolT
from kvproto.passes import run as run_passes
from kvproto.suite.steps import Likeness, Steps, likeness, steps_of


@dataclass(frozen=True, slots=True)
class Mutant:
    """The system without a part of a guard: `part`, in the model's words, of action `action` in line `line`."""

    action: str
    part: str
    line: str
    system: System


Kind = Literal["caught", "redundant", "shortcut", "survivor", "undecided"]
"""What becomes of a mutant.

- caught: a property breaks, or an action makes an error;
- redundant: it takes the same steps, so the other guards imply the one that is left out;
- shortcut: no state is new, and its new steps only do at once what others do one after the other;
- survivor: it does what could not be done before, and no property minds;
- undecided: the search was cut.
"""


@dataclass(frozen=True, slots=True)
class Fate:
    """The mutant without `part` of the guard of `action`; `by` are properties that break, or the code of an error."""

    action: str
    part: str
    line: str
    kind: Kind
    by: tuple[str, ...] = ()

    @property
    def guard(self) -> str:
        """The part with its action, which is what reasons are given for."""
        return f"{self.action}: {self.part}"


def mutants(system: System) -> Iterator[Mutant]:
    """One for each part of the guards at the head of each action that is not switched off."""
    for place, action in enumerate(system.actions):
        if action.switched_off:
            continue
        for at, stmt in enumerate(action.body):
            if not isinstance(stmt, Require):
                continue
            parts = list(_conjuncts(stmt.cond))
            for left_out, part in enumerate(parts):
                if isinstance(part, Const):
                    continue
                rest = [*parts[:left_out], *parts[left_out + 1 :]]
                body: tuple[Stmt, ...] = (*action.body[:at], *_guard(stmt, rest), *action.body[at + 1 :])
                changed: Action = replace(action, body=body)
                others = (*system.actions[:place], changed, *system.actions[place + 1 :])
                text = written(part, system.sources)
                yield Mutant(action.name, text, str(part.loc), replace(system, actions=others))


def _conjuncts(cond: Expr) -> Iterator[Expr]:
    if isinstance(cond, Logic) and cond.op == "and":
        for arg in cond.args:
            yield from _conjuncts(arg)
    else:
        yield cond


def _guard(stmt: Require, parts: list[Expr]) -> list[Require]:
    if not parts:
        return []
    cond = parts[0] if len(parts) == 1 else Logic(BoolT(), "and", tuple(parts), stmt.loc)
    return [replace(stmt, cond=cond)]


def fates(system: System, options: Options) -> Iterator[Fate]:
    """Search the system without each of the guards that it has, one after the other."""
    steps = steps_of(system)
    for mutant in mutants(system):
        if not same(mutant, system):
            kind, by = _fate(mutant, steps, options)
            yield Fate(mutant.action, mutant.part, mutant.line, kind, by)


def _fate(mutant: Mutant, steps: Steps, options: Options) -> tuple[Kind, tuple[str, ...]]:
    try:
        result = search(mutant.system, options)
    except KvError as problem:
        return "caught", (problem.diagnostic.code,)
    by = tuple(f.claim.name for f in result.findings if f.verdict == "violated")
    if by:
        return "caught", by
    if not result.complete or any(f.verdict == "inconclusive" for f in result.findings):
        return "undecided", ()
    kinds: dict[Likeness, Kind] = {"same": "redundant", "shortcuts": "shortcut", "more": "survivor"}
    return kinds[likeness(steps, steps_of(mutant.system))], ()


def same(mutant: Mutant, system: System) -> bool:
    """Whether the part was switched off anyway: without it the folded system is the same."""
    return run_passes(mutant.system).actions == run_passes(system).actions
