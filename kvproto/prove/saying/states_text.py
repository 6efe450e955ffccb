"""Finite structures in the words of the model: what is true in a state, what a step changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kvproto.lang.bind import sorts_of
from kvproto.prove.logic.formula import INT, Symbol, Var
from kvproto.prove.logic.readable import spelled
from kvproto.prove.logic.theory import Structure, Theory, Transition
from kvproto.prove.lowering.system import Lowered

Labels = Mapping[str, Sequence[str]]
"""Names of the elements of each sort; those that have none are numbered."""


def labels_of(lowered: Lowered) -> dict[str, Sequence[str]]:
    """The labels that the model gives to elements."""
    return {name: sort.labels for name, sort in sorts_of(lowered.source.model).items()}


def element(sort: str, number: int, labels: Labels) -> str:
    """How an element is called."""
    given = labels.get(sort, ())
    return given[number] if number < len(given) else f"{sort.lower()}{number}"


def state_lines(theory: Theory, structure: Structure, labels: Labels) -> Iterator[str]:
    """Sizes, numbers, then what is true, a line for each field."""
    sizes = ", ".join(f"{size} {sort}" for sort, size in structure.sizes.items() if sort in theory.sorts)
    yield sizes
    for symbol in (*theory.rigid, *theory.state):
        told = list(_cells(symbol, structure, labels))
        if told:
            yield ", ".join(told)


def changes(theory: Theory, before: Structure, after: Structure, labels: Labels) -> Iterator[str]:
    """What a step has made true, and which numbers it has changed; what is no longer true, with `not`."""
    for symbol in theory.state:
        if symbol.result == INT:
            old, new = before.integers[symbol.name], after.integers[symbol.name]
            told = [f"{_applied(symbol, c, labels)} == {value}" for c, value in sorted(new.items()) if old[c] != value]
        else:
            was, now = before.relations[symbol.name], after.relations[symbol.name]
            told = [_applied(symbol, cell, labels) for cell in sorted(now - was)]
            told += [f"not {_applied(symbol, cell, labels)}" for cell in sorted(was - now)]
        if told:
            yield ", ".join(told)


def step_text(action: Transition, choice: Mapping[Var, int], before: Structure, labels: Labels) -> str:
    """`land(A, page0)`, and the sets and booleans that the step chooses."""
    given = [
        f"{var.name}={choice[var] if var.sort == INT else element(var.sort, choice[var], labels)}"
        for var in action.params
        if var in choice
    ]
    chosen = []
    for symbol in action.chosen:
        cells = sorted(before.relations.get(symbol.name, frozenset()))
        if symbol.args:
            inside = ", ".join(element(symbol.args[0], cell[0], labels) for cell in cells)
            chosen.append(f"{symbol.name.rpartition('.')[2]}={{{inside}}}")
        else:
            chosen.append(f"{symbol.name.rpartition('.')[2]}={bool(cells)}")
    return f"{action.name}({', '.join([*given, *chosen])})"


def _cells(symbol: Symbol, structure: Structure, labels: Labels) -> Iterator[str]:
    if symbol.result == INT:
        for cell, value in sorted(structure.integers[symbol.name].items()):
            yield f"{_applied(symbol, cell, labels)} == {value}"
    else:
        for cell in sorted(structure.relations[symbol.name]):
            yield _applied(symbol, cell, labels)


def _applied(symbol: Symbol, cell: tuple[int, ...], labels: Labels) -> str:
    names = tuple(Var(element(sort, at, labels), sort) for sort, at in zip(symbol.args, cell, strict=True))
    return spelled(symbol, names)
