"""Proving the claims of a theory: candidates from few to many until some of them suffice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from kvproto.diagnostics import KvError
from kvproto.prove.inference.attempt import Attempt, Guided, Mined, Stuck
from kvproto.prove.inference.discharge import Proved
from kvproto.prove.inference.groundwork import Groundwork
from kvproto.prove.inference.smallest import smallest
from kvproto.prove.logic.conditions import INIT, Condition, conditions
from kvproto.prove.logic.evaluate import holds
from kvproto.prove.logic.formula import FALSE
from kvproto.prove.logic.readable import render
from kvproto.prove.logic.theory import Clause, Structure, Theory
from kvproto.prove.proof import Deadline, Limits, OutOfTime, Proof, Rejected, Statistics, Undecided
from kvproto.prove.solver import Solver, Valid

_MANY = 600
"""Short clauses with integers that are too many to start with."""


def prove(
    theory: Theory,
    seeds: Sequence[Structure],
    *,
    user: Sequence[Clause] = (),
    limits: Limits | None = None,
) -> Proof | Undecided:
    """An inductive invariant that implies all claims and obligations, or where the search for one is stuck.

    `seeds` are reachable states of small instances: they suggest clauses and are not trusted.  `user` clauses are
    candidates like others; those that do not survive are in `rejected`.  Same arguments, same answer, unless
    `limits` has seconds.
    """
    bounds = limits or Limits()
    solver = Solver(theory, bounds.resources, Deadline.after(bounds.seconds))
    tried: list[str] = []
    try:
        return _tried(theory, seeds, user, bounds, solver, tried)
    except OutOfTime:
        return Undecided(f"the limit of {bounds.seconds:g} s was reached", None, (), tuple(tried), Statistics())
    except ArithmeticError as gave_up:
        return Undecided(f"Z3 gave a question up: {gave_up}", None, (), tuple(tried), Statistics())


def _tried(
    theory: Theory,
    seeds: Sequence[Structure],
    user: Sequence[Clause],
    bounds: Limits,
    solver: Solver,
    tried: list[str],
) -> Proof | Undecided:
    """One attempt after the other; `tried` gets a line for each that failed."""
    begins(theory, solver)
    if not seeds:
        return Undecided("there are no seeds to mine", None, (), (), Statistics())
    work = Groundwork.of(theory, seeds, user, bounds, solver)
    stuck: tuple[Attempt, Stuck] | None = None
    for attempt in attempts(work):
        found = attempt.run()
        if isinstance(found, Proved):
            return _proof(attempt, found)
        tried.append(f"{attempt.text}: {found.reason}")
        stuck = attempt, found
    assert stuck is not None
    return _undecided(*stuck, tried)


def attempts(work: Groundwork) -> Iterator[Attempt]:
    """Short clauses over all variables first; then longer ones on demand, and all longer ones over few variables."""
    short = min(3, work.limits.literals)
    if work.counts and len(work.mined(short, None)) > _MANY:
        short -= 1
    first = Mined(work, short)
    yield first
    parts = [Mined(work, short, part) for part in islice(work.parts(short + 1), 4)]
    if not work.counts:
        yield from parts[:1]
    base = first.settled()
    for extra, depth in ((0, 2), (0, 4), (1, 2)):
        yield Guided(work, base, work.limits.literals + extra, depth)
    yield from parts if work.counts else parts[1:]


def begins(theory: Theory, solver: Solver) -> None:
    """A theory without initial states would be proved by anything, and is refused."""
    nothing = Condition("begins", "initial", (*theory.axioms, Clause(INIT, theory.init)), FALSE, INIT)
    if isinstance(solver.decide(nothing), Valid):
        raise KvError(
            "KV304",
            f"{theory.model}:{theory.preset} has no initial state",
            reason="what its parameters are assumed to be and what @init asks for contradict each other",
            cure="weaken one of the assumptions; a proof would be about nothing",
        )


def _proof(attempt: Attempt, found: Proved) -> Proof:
    """The proof under names that last: claims, typing and clauses of users keep theirs, mined ones are numbered."""
    theory = attempt.work.theory
    given = {clause.name for clause in (*theory.claims, *theory.typing, *attempt.work.user)}
    taken = given | {axiom.name for axiom in theory.axioms}
    names = {clause.name: clause.name for clause in found.clauses if clause.name in given}
    free = (name for name in (f"inv{number}" for number in range(1, 10_000)) if name not in taken)
    for clause in found.clauses:
        if clause.name not in names:
            names[clause.name] = next(free)
    clauses = tuple(replace(clause, name=names[clause.name], text=render(clause)) for clause in found.clauses)
    cores: dict[str, tuple[str, ...]] = {}
    kept = []
    for old, new in zip(conditions(theory, found.clauses), conditions(theory, clauses), strict=True):
        cores[new.name] = tuple(names.get(name, name) for name in found.cores[old.name])
        kept.append(new.assuming(cores[new.name]))
    return Proof(clauses, tuple(kept), cores, _statistics(attempt, len(kept)), _rejected(attempt))


def _undecided(attempt: Attempt, stuck: Stuck, tried: Sequence[str]) -> Undecided:
    where = stuck.where and smallest(attempt.work.theory, stuck.hypotheses, stuck.where)
    nearest: tuple[Clause, ...] = ()
    if where is not None:
        excluding = [clause for clause in stuck.dropped if not holds(clause.formula, where.before)]
        nearest = tuple(replace(clause, text=render(clause)) for clause in excluding[:10])
    return Undecided(stuck.reason, where, nearest, tuple(tried), _statistics(attempt, 0), _rejected(attempt))


def _rejected(attempt: Attempt) -> tuple[Rejected, ...]:
    return tuple(
        Rejected(clause, attempt.rejected[clause.name])
        for clause in attempt.work.user
        if clause.name in attempt.rejected
    )


def _statistics(attempt: Attempt, proved: int) -> Statistics:
    work = attempt.work
    sizes = {tuple(sorted(seed.sizes.items())): seed.sizes for seed in work.seeds}
    return Statistics(
        seeds=len(work.seeds),
        sizes=tuple(sizes.values()),
        atoms=len(work.template.atoms),
        candidates=attempt.pool.total,
        dropped=len(attempt.pool.dropped),
        checks=work.finite.checks + work.solver.checks,
        conditions=proved,
        template=attempt.text,
    )
