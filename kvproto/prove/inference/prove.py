"""Proving the claims of a theory: templates from small to large until one suffices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kvproto.diagnostics import KvError
from kvproto.prove.conditions import INIT, Condition, conditions
from kvproto.prove.formula import FALSE
from kvproto.prove.inference.attempt import Attempt, Proved, Stuck
from kvproto.prove.mining.template import Template, template
from kvproto.prove.proof import Limits, Proof, Rejected, Statistics, Undecided
from kvproto.prove.readable import render
from kvproto.prove.solver import Solver, Valid
from kvproto.prove.theory import Clause, Structure, Theory

_ATOMS = {3: 64, 4: 44}
"""Most atoms of a template for clauses of so many literals: the number of clauses grows with that power."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Variables for each sort, and literals for each clause."""

    counts: Mapping[str, int]
    literals: int

    @property
    def text(self) -> str:
        """How a report names it."""
        variables = ", ".join(f"{count} {sort}" for sort, count in self.counts.items())
        return f"clauses of at most {self.literals} literals over {variables}"


def prove(
    theory: Theory,
    seeds: Sequence[Structure],
    *,
    user: Sequence[Clause] = (),
    limits: Limits | None = None,
) -> Proof | Undecided:
    """An inductive invariant that implies all claims and obligations, or where the search for one is stuck.

    `seeds` are reachable states of small instances: they suggest clauses and are not trusted.  `user` clauses are
    candidates like others; those that do not survive are in `rejected`.  Same arguments, same answer.
    """
    bounds = limits or Limits()
    solver = Solver(theory, bounds.resources)
    _begins(theory, solver)
    tried: list[str] = []
    last: tuple[Attempt, Stuck] | None = None
    for stage in stages(theory, seeds, bounds):
        attempt = Attempt(theory, seeds, template(theory, stage.counts), stage.literals, user, bounds, solver)
        found = attempt.run()
        if isinstance(found, Proved):
            return _proof(attempt, found, stage)
        tried.append(f"{stage.text}: {found.reason}")
        last = attempt, found
    if last is None:
        return Undecided("there are no seeds to mine", None, (), (), Statistics())
    return _undecided(*last, tried)


def stages(theory: Theory, seeds: Sequence[Structure], limits: Limits) -> Iterator[Stage]:
    """Templates in the order in which they are tried.

    A sort that has one element in all seeds gets one variable: two would always be equal there.
    """
    if not seeds:
        return
    largest = {sort: max(seed.sizes[sort] for seed in seeds) for sort in theory.sorts}
    done: set[tuple[tuple[int, ...], int]] = set()
    for literals in range(min(3, limits.literals), limits.literals + 1):
        for wide in range(2, limits.variables + 1):
            for counts in _counts(theory.sorts, largest, wide):
                key = (tuple(counts.values()), literals)
                if key not in done and _fits(template(theory, counts), literals):
                    done.add(key)
                    yield Stage(counts, literals)


def _counts(sorts: Sequence[str], largest: Mapping[str, int], wide: int) -> Iterator[dict[str, int]]:
    """`wide` variables of every sort, then of all but one, and so on to one sort alone."""
    full = {sort: min(wide, largest[sort]) for sort in sorts}
    yield full
    for narrow in range(1, len(sorts) + 1):
        for start in range(len(sorts)):
            thin = {sorts[(len(sorts) - 1 - start + n) % len(sorts)] for n in range(narrow)}
            yield {sort: 1 if sort in thin else full[sort] for sort in sorts}


def _fits(found: Template, literals: int) -> bool:
    return len(found.atoms) <= _ATOMS.get(literals, _ATOMS[4])


def _begins(theory: Theory, solver: Solver) -> None:
    """A theory without initial states would be proved by anything."""
    nothing = Condition("begins", "initial", (*theory.axioms, Clause(INIT, theory.init)), FALSE, INIT)
    if isinstance(solver.decide(nothing), Valid):
        raise KvError(
            "KV304",
            f"{theory.model}:{theory.preset} has no initial state",
            reason="what its parameters are assumed to be and what @init asks for contradict each other",
            cure="weaken one of the assumptions; a proof would be about nothing",
        )


def _proof(attempt: Attempt, found: Proved, stage: Stage) -> Proof:
    """The proof under names that last: claims and typing keep theirs, mined clauses are numbered."""
    theory = attempt.theory
    names: dict[str, str] = {}
    given = {clause.name for clause in (*theory.claims, *theory.typing, *attempt.user)}
    taken = given | {axiom.name for axiom in theory.axioms}
    for clause in found.clauses:
        if clause.name in given:
            names[clause.name] = clause.name
        else:
            number = 1 + sum(name not in given for name in names)
            name = f"inv{number}"
            names[clause.name] = name if name not in taken else f"{name}_"
    clauses = tuple(replace(clause, name=names[clause.name], text=render(clause)) for clause in found.clauses)
    cores: dict[str, tuple[str, ...]] = {}
    kept = []
    for old, new in zip(conditions(theory, found.clauses), conditions(theory, clauses), strict=True):
        cores[new.name] = tuple(names.get(name, name) for name in found.cores[old.name])
        kept.append(new.assuming(cores[new.name]))
    return Proof(clauses, tuple(kept), cores, _statistics(attempt, len(kept), stage.text), _rejected(attempt))


def _undecided(attempt: Attempt, stuck: Stuck, tried: Sequence[str]) -> Undecided:
    where = stuck.where
    nearest: tuple[Clause, ...] = ()
    if where is not None:
        excluding = [clause for clause in stuck.dropped if attempt.false_in(clause, where.before)]
        nearest = tuple(replace(clause, text=render(clause)) for clause in excluding[:10])
    return Undecided(stuck.reason, where, nearest, tuple(tried), _statistics(attempt, 0, ""), _rejected(attempt))


def _rejected(attempt: Attempt) -> tuple[Rejected, ...]:
    return tuple(
        Rejected(clause, attempt.rejected[clause.name]) for clause in attempt.user if clause.name in attempt.rejected
    )


def _statistics(attempt: Attempt, proved: int, text: str) -> Statistics:
    sizes = {tuple(sorted(seed.sizes.items())): seed.sizes for seed in attempt.seeds}
    return Statistics(
        seeds=len(attempt.seeds),
        sizes=tuple(sizes.values()),
        atoms=len(attempt.template.atoms),
        candidates=attempt.pool.total,
        dropped=len(attempt.pool.dropped),
        checks=attempt.finite.checks + attempt.solver.checks,
        conditions=proved,
        template=text,
    )
