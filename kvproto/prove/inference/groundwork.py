"""What all attempts of one proof share: the template, its truth rows, the finite conditions, the solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kvproto.prove.inference.finite import Finite
from kvproto.prove.logic.formula import INT, ForAll, free_variables
from kvproto.prove.logic.theory import Clause, Structure, Theory
from kvproto.prove.mining.differences import Implied, strongest
from kvproto.prove.mining.minimal import Literals, instances_of, minimal_clauses
from kvproto.prove.mining.rows import Bits, rows
from kvproto.prove.mining.template import Template, template
from kvproto.prove.proof import Limits
from kvproto.prove.solver import Solver

_ATOMS = {3: 110, 4: 48}
"""Most atoms, of those that change, for clauses of so many literals: the work grows with that power."""

Part = frozenset[int]
"""Literals over some of the variables."""


@dataclass(frozen=True)
class Groundwork:
    """One template for all attempts, as wide as its atoms allow."""

    theory: Theory
    seeds: Sequence[Structure]
    user: Sequence[Clause]
    limits: Limits
    solver: Solver
    template: Template
    truth: Bits

    @classmethod
    def of(
        cls, theory: Theory, seeds: Sequence[Structure], user: Sequence[Clause], limits: Limits, solver: Solver
    ) -> Groundwork:
        """With the first of the choices of variables that is not too large."""
        largest = {sort: max(seed.sizes[sort] for seed in seeds) for sort in theory.sorts}
        work = None
        for counts in _counts(theory.sorts, {sort: min(limits.variables, n) for sort, n in largest.items()}):
            found = template(theory, counts)
            work = cls(theory, seeds, user, limits, solver, found, rows(found, seeds))
            if len(work.changing) <= _ATOMS[3]:
                break
        assert work is not None
        return work

    @cached_property
    def changing(self) -> frozenset[int]:
        """Atoms that hold in some rows and not in others."""
        return frozenset(n for n, column in enumerate(self.truth.T) if column.any() and not column.all())

    @property
    def counts(self) -> bool:
        """Whether the state has integers: there are too many longer clauses with them to try all."""
        return any(symbol.result == INT for symbol in self.theory.state)

    @cached_property
    def finite(self) -> Finite:
        """Conditions over a few elements."""
        return Finite(self.theory, universe(self.theory, self.template, self.user), self.solver.deadline)

    @cached_property
    def implied(self) -> Implied:
        """Which integer literals say more than others."""
        return Implied(self.theory, self.template, self.solver.valid)

    def mined(self, most: int, within: Part | None) -> list[Literals]:
        """Candidates: the shortest valid clauses, the strongest of those with integers."""
        self.solver.deadline.look()
        found = minimal_clauses(self.template, self.truth, most, within)
        return strongest(self.implied, lambda clause: instances_of(self.template, clause), found)

    def variables(self, literals: Iterable[int]) -> str:
        """How many variables of each sort the literals speak of, in words."""
        used = {var for n in literals for var in free_variables(self.template.literal(n))}
        counts = {sort: sum(var.sort == sort for var in used) for sort in self.theory.sorts}
        return ", ".join(f"{count} {sort}" for sort, count in counts.items())

    def parts(self, literals: int) -> Iterator[Part]:
        """Views with so few atoms that all clauses of so many literals can be tried."""
        if literals <= self.limits.literals:
            for part in self.views():
                if len({n // 2 for n in part} & self.changing) <= _ATOMS.get(literals, _ATOMS[4]):
                    yield part

    def views(self) -> list[Part]:
        """Literals over one variable of each sort, then over two of one sort, and so on to all."""
        full = {sort: sum(var.sort == sort for var in self.template.vars) for sort in self.theory.sorts}
        return list(dict.fromkeys(self._over(counts) for counts in reversed(list(_counts(self.theory.sorts, full)))))

    def _over(self, counts: Mapping[str, int]) -> Part:
        """Literals over the first so many variables of each sort."""
        kept = set()
        for sort in self.theory.sorts:
            kept |= set([var for var in self.template.vars if var.sort == sort][: counts[sort]])
        return frozenset(n for n in self.template.usable if free_variables(self.template.atoms[n // 2]) <= kept)


def _counts(sorts: Sequence[str], full: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """All variables, then one alone of one sort, of two, and so on."""
    seen = set()
    for narrow in range(len(sorts) + 1):
        for start in range(len(sorts) if narrow else 1):
            thin = {sorts[(len(sorts) - 1 - start + n) % len(sorts)] for n in range(narrow)}
            counts = {sort: 1 if sort in thin else full[sort] for sort in sorts}
            if tuple(counts.values()) not in seen:
                seen.add(tuple(counts.values()))
                yield counts


def universe(theory: Theory, template: Template, user: Sequence[Clause]) -> dict[str, int]:
    """Elements of each sort: as many as a step names, and a clause speaks of, together."""
    sizes = {}
    for sort in theory.sorts:
        named = max((sum(var.sort == sort for var in action.params) for action in theory.transitions), default=0)
        clauses = [sum(var.sort == sort for var in template.vars)]
        for clause in (*theory.claims, *theory.typing, *user):
            if isinstance(clause.formula, ForAll):
                clauses.append(sum(var.sort == sort for var in clause.formula.vars if var.sort != INT))
        sizes[sort] = max(1, named + max(clauses))
    return sizes
