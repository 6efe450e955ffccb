"""Formulas over a fixed number of elements, as SMT-LIB text of propositions and integers, folded as far as possible.

Text, because Z3 reads it many times faster than Python can build expressions one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from kvproto.prove.logic.formula import (
    INT,
    And,
    Apply,
    Atom,
    Choose,
    Compare,
    Exists,
    ForAll,
    Formula,
    Not,
    Num,
    Or,
    Plus,
    Same,
    Symbol,
    Term,
    Times,
    Truth,
    Var,
)

Cell = tuple[int, ...]
Choice = Mapping[Var, "int | str"]
"""Values of variables: elements, or the name of an integer."""

Lookup = Callable[[Symbol, Cell], str]
"""The text of a symbol at a cell: its own name, or its value after a step."""

YES, NO = "true", "false"


@dataclass(frozen=True)
class Universe:
    """Numbers of elements, and the texts of formulas over them."""

    sizes: Mapping[str, int]

    def cells(self, symbol: Symbol) -> list[Cell]:
        """All arguments of the symbol."""
        return list(product(*(range(self.sizes[sort]) for sort in symbol.args)))

    def choices(self, variables: Iterable[Var], choice: Choice) -> Iterator[dict[Var, int | str]]:
        """All elements for the variables, on top of `choice`."""
        bound = tuple(variables)
        for values in product(*(range(self.sizes[var.sort]) for var in bound)):
            yield {**choice, **dict(zip(bound, values, strict=True))}

    def formula(self, formula: Formula, choice: Choice, lookup: Lookup) -> str:
        """The formula with its variables fixed and its quantifiers written out."""
        match formula:
            case Truth():
                return YES if formula.value else NO
            case Atom():
                return lookup(formula.symbol, _cell(formula.args, choice))
            case Same():
                return YES if choice[formula.left] == choice[formula.right] else NO
            case Compare():
                left, right = self.term(formula.left, choice, lookup), self.term(formula.right, choice, lookup)
                return f"({'=' if formula.op == '==' else formula.op} {left} {right})"
            case Not():
                return negated(self.formula(formula.body, choice, lookup))
            case And() | Or():
                parts = (self.formula(part, choice, lookup) for part in formula.parts)
                return all_of(parts) if isinstance(formula, And) else any_of(parts)
            case ForAll() | Exists():
                inner = self.choices(formula.vars, choice)
                parts = (self.formula(formula.body, env, lookup) for env in inner)
                return all_of(parts) if isinstance(formula, ForAll) else any_of(parts)

    def term(self, term: Term, choice: Choice, lookup: Lookup) -> str:
        """The same for an integer."""
        match term:
            case Var():
                return str(choice[term])
            case Num():
                return str(term.value) if term.value >= 0 else f"(- {-term.value})"
            case Apply():
                return lookup(term.symbol, _cell(term.args, choice))
            case Plus():
                return f"(+ {self.term(term.left, choice, lookup)} {self.term(term.right, choice, lookup)})"
            case Times():
                factor = self.term(Num(term.factor), choice, lookup)
                return f"(* {factor} {self.term(term.term, choice, lookup)})"
            case Choose():
                test = self.formula(term.test, choice, lookup)
                if test in (YES, NO):
                    return self.term(term.then if test == YES else term.other, choice, lookup)
                then, other = self.term(term.then, choice, lookup), self.term(term.other, choice, lookup)
                return then if then == other else f"(ite {test} {then} {other})"


def named(symbol: Symbol, cell: Cell) -> str:
    """The proposition, or integer, that stands for a symbol at a cell."""
    return f"|{'!'.join((symbol.name, *map(str, cell)))}|"


def negated(text: str) -> str:
    """Negation, folded."""
    if text in (YES, NO):
        return NO if text == YES else YES
    return text[5:-1] if text.startswith("(not ") else f"(not {text})"


def all_of(parts: Iterable[str]) -> str:
    """Conjunction, folded; stops at the first part that is false."""
    return _joined("and", YES, NO, parts)


def any_of(parts: Iterable[str]) -> str:
    """Disjunction, folded; stops at the first part that is true."""
    return _joined("or", NO, YES, parts)


def _joined(word: str, neutral: str, decided: str, parts: Iterable[str]) -> str:
    kept: dict[str, None] = {}
    for part in parts:
        if part == decided:
            return decided
        if part != neutral:
            kept[part] = None
    if not kept:
        return neutral
    return next(iter(kept)) if len(kept) == 1 else f"({word} {' '.join(kept)})"


def _cell(args: tuple[Var, ...], choice: Choice) -> Cell:
    cell = []
    for var in args:
        element = choice[var]
        assert isinstance(element, int) and var.sort != INT
        cell.append(element)
    return tuple(cell)


def different(variables: Iterable[Var], universe: Universe, used: Mapping[str, int]) -> Iterator[dict[Var, int]]:
    """Elements for the variables, of choices that differ by names of elements only the first.

    The first `used[sort]` elements have a meaning already; every other element is as good as the next.
    """
    bound = tuple(variables)
    return _different(bound, universe, dict(used), {})


def _different(
    rest: tuple[Var, ...], universe: Universe, used: dict[str, int], choice: dict[Var, int]
) -> Iterator[dict[Var, int]]:
    if not rest:
        yield choice
        return
    var, known = rest[0], used.get(rest[0].sort, 0)
    for element in range(min(known + 1, universe.sizes[var.sort])):
        inner = {**used, var.sort: max(known, element + 1)}
        yield from _different(rest[1:], universe, inner, {**choice, var: element})
