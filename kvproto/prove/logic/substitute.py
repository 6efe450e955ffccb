"""Putting terms in place of variables, and what a clause says before a step: no variable is ever captured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

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
    Renaming,
    Same,
    Symbol,
    Term,
    Times,
    Truth,
    Var,
    conj,
    disj,
    free_variables,
    neg,
    walk,
)
from kvproto.prove.logic.theory import Transition, Update


def substitute(formula: Formula, renaming: Renaming) -> Formula:
    """The formula with the terms of `renaming` in place of its free variables; bound variables step aside.

    >>> from kvproto.prove.logic.formula import Atom, Exists, Same, Symbol, Var
    >>> x, y = Var("x", "Req"), Var("y", "Req")
    >>> substitute(Exists((y,), Same(x, y)), {x: y}).vars[0].name
    'y2'
    """
    match formula:
        case Truth():
            return formula
        case Atom():
            return Atom(formula.symbol, _variables(formula.args, renaming))
        case Same():
            left, right = _variables((formula.left, formula.right), renaming)
            return Truth(True) if left == right else Same(left, right)
        case ForAll() | Exists():
            bound, inner = _stepping_aside(formula, renaming)
            return type(formula)(bound, substitute(formula.body, inner))
        case _:
            return rebuilt(formula, lambda part: substitute(part, renaming), lambda term: in_term(term, renaming))


def in_term(term: Term, renaming: Renaming) -> Term:
    """The same for an integer term."""
    match term:
        case Var():
            return renaming.get(term, term)
        case Apply():
            return Apply(term.symbol, _variables(term.args, renaming))
        case _:
            return rebuilt_term(term, lambda part: substitute(part, renaming), lambda inner: in_term(inner, renaming))


def rebuilt(
    formula: Not | And | Or | Compare | ForAll | Exists,
    on_formula: Callable[[Formula], Formula],
    on_term: Callable[[Term], Term],
) -> Formula:
    """A formula that is no atom, with what is directly inside replaced."""
    match formula:
        case Not():
            return neg(on_formula(formula.body))
        case And():
            return conj(map(on_formula, formula.parts))
        case Or():
            return disj(map(on_formula, formula.parts))
        case Compare():
            return Compare(formula.op, on_term(formula.left), on_term(formula.right))
        case ForAll() | Exists():
            return type(formula)(formula.vars, on_formula(formula.body))


def rebuilt_term(
    term: Num | Plus | Times | Choose, on_formula: Callable[[Formula], Formula], on_term: Callable[[Term], Term]
) -> Term:
    """A term that is neither a variable nor an application, with what is directly inside replaced."""
    match term:
        case Num():
            return term
        case Plus():
            return Plus(on_term(term.left), on_term(term.right))
        case Times():
            return Times(term.factor, on_term(term.term))
        case Choose():
            return Choose(on_formula(term.test), on_term(term.then), on_term(term.other))


def fresh(var: Var, taken: Iterable[str]) -> Var:
    """The variable under the first name that is not taken: r, r2, r3."""
    names = set(taken)
    if var.name not in names:
        return var
    stem, number = var.name.rstrip("0123456789") or var.name, 2
    while f"{stem}{number}" in names:
        number += 1
    return Var(f"{stem}{number}", var.sort)


def before(formula: Formula, step: Transition) -> Formula:
    """Weakest precondition of the step's updates: what has to hold before, for `formula` to hold after.

    The new values stand in place of the symbols; there is no second copy of the state.  Parameters of the step stay
    free, so bound variables of the formula that share a name with one are renamed first.
    """
    updates = {update.symbol: update for update in step.updates}
    return _after(formula, updates, frozenset(step.params))


def changes(formula: Formula, step: Transition) -> bool:
    """Whether the step updates a symbol of the formula."""
    symbols = {update.symbol for update in step.updates}
    return any(isinstance(node, Atom | Apply) and node.symbol in symbols for node in walk(formula))


def _after(formula: Formula, updates: Mapping[Symbol, Update], params: frozenset[Var]) -> Formula:
    """`formula` about the state after, said about the state before."""
    match formula:
        case Truth() | Same():
            return formula
        case Atom():
            update = updates.get(formula.symbol)
            return formula if update is None else substitute(_relation(update), _actual(update, formula.args))
        case ForAll() | Exists():
            bound, renaming = _apart(formula, params)
            body = substitute(formula.body, renaming) if renaming else formula.body
            return type(formula)(bound, _after(body, updates, params))
        case _:
            return rebuilt(
                formula,
                lambda part: _after(part, updates, params),
                lambda term: _term_after(term, updates, params),
            )


def _term_after(term: Term, updates: Mapping[Symbol, Update], params: frozenset[Var]) -> Term:
    match term:
        case Var():
            return term
        case Apply():
            update = updates.get(term.symbol)
            return term if update is None else in_term(_integer(update), _actual(update, term.args))
        case _:
            return rebuilt_term(
                term,
                lambda part: _after(part, updates, params),
                lambda inner: _term_after(inner, updates, params),
            )


def _actual(update: Update, args: tuple[Var, ...]) -> dict[Var, Term]:
    return dict(zip(update.formals, args, strict=True))


def _relation(update: Update) -> Formula:
    value = update.value
    if isinstance(value, Var | Num | Apply | Plus | Times | Choose):
        raise TypeError(f"relation {update.symbol.name} is given an integer")
    return value


def _integer(update: Update) -> Term:
    value = update.value
    if not isinstance(value, Var | Num | Apply | Plus | Times | Choose):
        raise TypeError(f"integer {update.symbol.name} is given a truth value")
    return value


def _variables(args: tuple[Var, ...], renaming: Renaming) -> tuple[Var, ...]:
    """Arguments of a symbol; a variable of a sort is only ever replaced by a variable."""
    found = []
    for var in args:
        term = renaming.get(var, var)
        if not isinstance(term, Var) or term.sort == INT != var.sort:
            raise TypeError(f"{var.name} of sort {var.sort} is an argument and cannot become {term}")
        found.append(term)
    return tuple(found)


def _stepping_aside(quantified: ForAll | Exists, renaming: Renaming) -> tuple[tuple[Var, ...], dict[Var, Term]]:
    """Bound variables under names that nothing that comes in from outside has, and the renaming inside."""
    here = free_variables(quantified)
    inner: dict[Var, Term] = {var: term for var, term in renaming.items() if var in here}
    arriving = {var for term in inner.values() for var in free_variables(term)}
    taken = {var.name for var in arriving}
    bound, names = [], taken | {var.name for var in here} | {var.name for var in quantified.vars}
    for var in quantified.vars:
        new = fresh(var, names) if var.name in taken else var
        names.add(new.name)
        bound.append(new)
        if new != var:
            inner[var] = new
    return tuple(bound), inner


def _apart(quantified: ForAll | Exists, params: frozenset[Var]) -> tuple[tuple[Var, ...], dict[Var, Term]]:
    """Bound variables under names that no parameter of the step has."""
    taken = {var.name for var in params}
    names = taken | {var.name for var in free_variables(quantified.body)} | {var.name for var in quantified.vars}
    bound, renaming = [], {}
    for var in quantified.vars:
        new = fresh(var, names) if var.name in taken else var
        names.add(new.name)
        bound.append(new)
        if new != var:
            renaming[var] = new
    return tuple(bound), dict[Var, Term](renaming)
