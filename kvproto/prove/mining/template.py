"""Templates: the atoms that clauses of an invariant may be made of.

Variables are a few for each sort.  Atoms are relations of the state and rigid relations applied to them, equalities,
and differences of integers: `x <= y + c`, where c is zero or a sum of rigid integers that the theory itself writes.
A literal is a number: 2n says atom n, 2n + 1 says its negation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from kvproto.prove.logic.formula import (
    INT,
    Apply,
    Atom,
    Compare,
    Formula,
    Num,
    Plus,
    Same,
    Symbol,
    Term,
    Times,
    Var,
    children,
    disj,
    forall,
    free_variables,
    neg,
    walk,
)
from kvproto.prove.logic.theory import Theory


@dataclass(frozen=True)
class Template:
    """Variables and the atoms over them, in a fixed order."""

    vars: tuple[Var, ...]
    atoms: tuple[Formula, ...]

    def literal(self, number: int) -> Formula:
        """The atom or its negation."""
        atom = self.atoms[number // 2]
        return neg(atom) if number % 2 else atom

    def formula(self, literals: Iterable[int]) -> Formula:
        """The universally closed clause of these literals."""
        parts = [self.literal(number) for number in literals]
        used = {var for part in parts for var in free_variables(part)}
        return forall((var for var in self.vars if var in used), disj(parts))

    @cached_property
    def usable(self) -> tuple[int, ...]:
        """All literals but unequal variables: one would replace the other instead."""
        numbers = range(2 * len(self.atoms))
        return tuple(n for n in numbers if not (n % 2 and isinstance(self.atoms[n // 2], Same)))

    @cached_property
    def numbers(self) -> Mapping[Formula, int]:
        """Where an atom stands."""
        return {atom: number for number, atom in enumerate(self.atoms)}

    @cached_property
    def substitutions(self) -> tuple[tuple[int | None, ...], ...]:
        """Every way to replace variables by variables of their sort, as a table from literals to literals.

        None is a literal that becomes true (equal variables), or an atom that the template lacks.
        """
        choices = [[other for other in self.vars if other.sort == var.sort] for var in self.vars]
        return tuple(self._table(dict(zip(self.vars, image, strict=True))) for image in product(*choices))

    @cached_property
    def renamings(self) -> tuple[tuple[int | None, ...], ...]:
        """Those of the substitutions that only swap names."""
        choices = [[other for other in self.vars if other.sort == var.sort] for var in self.vars]
        return tuple(
            self._table(dict(zip(self.vars, image, strict=True)))
            for image in product(*choices)
            if len(set(image)) == len(image)
        )

    def _table(self, image: Mapping[Var, Var]) -> tuple[int | None, ...]:
        table: list[int | None] = []
        for atom in self.atoms:
            number = self.numbers.get(_renamed(atom, image))
            table += (None, None) if number is None else (2 * number, 2 * number + 1)
        return tuple(table)


def template(theory: Theory, counts: Mapping[str, int]) -> Template:
    """The template with so many variables of each sort."""
    variables = tuple(var for sort in theory.sorts for var in names(sort, theory.sorts, counts.get(sort, 1)))
    by_sort = {sort: [var for var in variables if var.sort == sort] for sort in theory.sorts}
    atoms: list[Formula] = []
    for symbol in (*theory.state, *theory.rigid):
        if symbol.result != INT:
            atoms += (Atom(symbol, args) for args in product(*(by_sort[sort] for sort in symbol.args)))
    for sort in theory.sorts:
        atoms += (Same(left, right) for left, right in combinations(by_sort[sort], 2))
    return Template(variables, (*atoms, *differences(theory, by_sort)))


def names(sort: str, sorts: Iterable[str], count: int) -> tuple[Var, ...]:
    """r, r2, r3: as short as tells the sorts apart."""
    others = [other.lower() for other in sorts if other != sort]
    own = sort.lower()
    length = next((n for n in range(1, len(own)) if not any(other.startswith(own[:n]) for other in others)), len(own))
    return tuple(Var(own[:length] + (str(n) if n > 1 else ""), sort) for n in range(1, count + 1))


def differences(theory: Theory, by_sort: Mapping[str, list[Var]]) -> list[Formula]:
    """Comparisons of two integers of the state, up to an offset, and of one with what the theory compares one to.

    Integer functions are applied to the first variable of each sort only: their number grows too fast otherwise.
    """
    terms = [
        Apply(symbol, tuple(by_sort[sort][0] for sort in symbol.args))
        for symbol in (*theory.state, *theory.rigid)
        if symbol.result == INT and (symbol in theory.state or symbol.args)
    ]
    amounts = offsets(theory)
    found: list[Formula] = []
    for left, right in combinations(terms, 2):
        for offset in amounts:
            found.append(Compare("<=", left, _plus(right, offset)))
            found.append(Compare("<=", right, _plus(left, offset)))
    for term in terms:
        for amount in single_bounds(theory):
            found += (Compare("<=", term, amount), Compare("<=", amount, term))
    return list(dict.fromkeys(found))


def offsets(theory: Theory) -> list[Term]:
    """Zero, and the rigid amounts that the theory adds to integers of the state, or sums up in its axioms."""
    constants = {symbol for symbol in theory.rigid if symbol.result == INT and not symbol.args}
    written: dict[Term, None] = {Num(0): None}
    for text in _conditions_of(theory):
        for node in walk(text):
            if isinstance(node, Plus) and not _rigid(node, constants):
                parts = (node.left, node.right)
                written.update(dict.fromkeys(part for part in parts if _rigid(part, constants)))
    for text in (*(axiom.formula for axiom in theory.axioms), *_conditions_of(theory)):
        written.update(dict.fromkeys(_rigid_sums(text, constants)))
    return list(written)


def _conditions_of(theory: Theory) -> list[Formula]:
    """Claims, guards and obligations."""
    texts = [clause.formula for clause in theory.claims]
    texts += [action.guard for action in theory.transitions]
    return texts + [duty.formula for action in theory.transitions for duty in action.obligations]


def single_bounds(theory: Theory) -> list[Term]:
    """Amounts that the theory compares with one integer of the state, zero among them."""
    constants = {symbol for symbol in theory.rigid if symbol.result == INT and not symbol.args}
    found: dict[Term, None] = {Num(0): None}
    for node in (node for text in _conditions_of(theory) for node in walk(text) if isinstance(node, Compare)):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(other, Apply) and other.symbol not in constants and _fixed(side, constants):
                found[side] = None
    return list(found)


def _fixed(term: Term, constants: set[Symbol]) -> bool:
    return isinstance(term, Num) or _rigid(term, constants)


def _rigid_sums(node: Formula | Term, constants: set[Symbol]) -> Iterable[Term]:
    """Largest terms inside that are sums or multiples of rigid constants."""
    if isinstance(node, Plus | Times) and _rigid(node, constants):
        yield node
        return
    for child in children(node):
        yield from _rigid_sums(child, constants)


def _rigid(term: Formula | Term, constants: set[Symbol]) -> bool:
    match term:
        case Apply():
            return term.symbol in constants
        case Plus() | Times():
            return all(_rigid(child, constants) for child in children(term))
        case _:
            return False


def _plus(term: Term, offset: Term) -> Term:
    return term if offset == Num(0) else Plus(term, offset)


def _renamed(atom: Formula, image: Mapping[Var, Var]) -> Formula:
    match atom:
        case Atom():
            return Atom(atom.symbol, tuple(image[var] for var in atom.args))
        case Same():
            left, right = sorted((image[atom.left], image[atom.right]), key=lambda var: (len(var.name), var.name))
            return Same(left, right)
        case Compare():
            return Compare(atom.op, _renamed_term(atom.left, image), _renamed_term(atom.right, image))
        case _:
            return atom


def _renamed_term(term: Term, image: Mapping[Var, Var]) -> Term:
    match term:
        case Apply():
            return Apply(term.symbol, tuple(image[var] for var in term.args))
        case Plus():
            return Plus(_renamed_term(term.left, image), _renamed_term(term.right, image))
        case Times():
            return Times(term.factor, _renamed_term(term.term, image))
        case _:
            return term
