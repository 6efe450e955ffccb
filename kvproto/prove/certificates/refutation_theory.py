"""Facts about equality and integers that clauses leave out: found where an assignment needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from kvproto.prove.certificates.ground import Ground, Known, Linear
from kvproto.prove.certificates.ground_steps import Congruent, Contradiction, Equal, Step, Transitive
from kvproto.prove.certificates.refutation_farkas import Inequality, weights
from kvproto.prove.logic.formula import Apply, Atom, Same, Var


class Facts:
    """Steps that rule an assignment out, if equality or integers do."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.done: set[Step] = set()

    def against(self, literals: Sequence[int]) -> list[Step]:
        """Steps to take, none if the assignment is possible."""
        links = _Links([self._atom(literal) for literal in literals if literal > 0])
        for rule in (self._unequal, self._relations, self._functions):
            steps = [step for step in dict.fromkeys(rule(links, literals)) if step not in self.done]
            if steps:
                self.done.update(steps)
                return steps
        return list(self._integers(literals))

    def _atom(self, literal: int) -> Known:
        return self.ground.atom(abs(literal))

    def _unequal(self, links: _Links, literals: Sequence[int]) -> Iterator[Step]:
        """Elements that are said to differ, and are the same."""
        for literal in literals:
            atom = self._atom(literal)
            if literal < 0 and isinstance(atom, Same):
                yield from links.chain(atom.left, atom.right)

    def _relations(self, links: _Links, literals: Sequence[int]) -> Iterator[Step]:
        """A relation that is true of some elements and false of the same ones."""
        atoms = [(literal, atom) for literal in literals if isinstance(atom := self._atom(literal), Atom)]
        for (one, left), (other, right) in permutations(atoms, 2):
            if one > 0 > other and left.symbol == right.symbol and links.joined(left.args, right.args):
                yield from links.chains(left.args, right.args)
                yield Congruent(one, -other)

    def _functions(self, links: _Links, literals: Sequence[int]) -> Iterator[Step]:
        """Integers that belong to the same elements."""
        bases: dict[Apply, None] = {}
        for literal in literals:
            atom = self._atom(literal)
            for base, _ in atom.parts if isinstance(atom, Linear) else ():
                if isinstance(base, Apply):
                    bases[base] = None
        for left, right in combinations(bases, 2):
            if left.symbol == right.symbol and links.joined(left.args, right.args):
                yield from links.chains(left.args, right.args)
                yield Equal(left.symbol, left.args, right.args)

    def _integers(self, literals: Sequence[int]) -> Iterator[Step]:
        """Inequalities that add up to a false one."""
        found = [literal for literal in literals if isinstance(self._atom(literal), Linear)]
        shown = [Inequality(*self.ground.inequality(literal)) for literal in found]
        weighted = weights(shown)
        if weighted:
            yield Contradiction(tuple((found[at], weight) for at, weight in weighted.items()))


class _Links:
    """Which constants are the same, and by way of which others."""

    def __init__(self, atoms: Sequence[Known]) -> None:
        self.next: dict[Var, list[Var]] = {}
        for atom in atoms:
            if isinstance(atom, Same):
                self.next.setdefault(atom.left, []).append(atom.right)
                self.next.setdefault(atom.right, []).append(atom.left)

    def path(self, start: Var, end: Var) -> list[Var]:
        """A shortest chain of equal constants, both ends included; empty if there is none."""
        came: dict[Var, Var | None] = {start: None}
        todo = [start]
        for here in todo:
            for there in self.next.get(here, ()):
                if there not in came:
                    came[there] = here
                    todo.append(there)
        path: list[Var] = []
        at: Var | None = end if end in came else None
        while at is not None:
            path.append(at)
            at = came[at]
        return path[::-1]

    def joined(self, left: Sequence[Var], right: Sequence[Var]) -> bool:
        """Whether the constants are the same, pair by pair."""
        return all(a == b or self.path(a, b) for a, b in zip(left, right, strict=True))

    def chain(self, start: Var, end: Var) -> Iterator[Step]:
        """Transitivity along a path, up to the equality of its ends."""
        path = self.path(start, end)
        for at in range(2, len(path)):
            yield Transitive(path[0], path[at - 1], path[at])

    def chains(self, left: Sequence[Var], right: Sequence[Var]) -> Iterator[Step]:
        """The same for every pair."""
        for a, b in zip(left, right, strict=True):
            yield from self.chain(a, b)
