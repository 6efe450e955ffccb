"""States of a theory over a small structure: seeds for tests that have no model text.

Theories of relations alone are explored completely, by code that is generated for each step and choice; those with
integers are walked through at random, by definition of evaluation, so that the two never share a mistake.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import product

from kvproto.prove.logic.evaluate import after, choices, holds
from kvproto.prove.logic.formula import (
    BOOL,
    INT,
    And,
    Apply,
    Atom,
    Exists,
    ForAll,
    Formula,
    Not,
    Or,
    Same,
    Symbol,
    Truth,
    Var,
    walk,
)
from kvproto.prove.logic.theory import Structure, Theory, Transition

Cells = dict[str, dict[tuple[int, ...], int]]


def cells(symbol: Symbol, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    return list(product(*(range(sizes[sort]) for sort in symbol.args)))


def states(theory: Theory, sizes: Mapping[str, int], most: int = 20_000) -> list[Structure]:
    """Reachable states in breadth-first order from the state in which all relations are empty, at most so many."""
    places: Cells = {}
    for symbol in theory.state:
        assert symbol.result == BOOL
        offset = sum(map(len, places.values()))
        places[symbol.name] = {cell: offset + n for n, cell in enumerate(cells(symbol, sizes))}
    steps = [step for action in theory.transitions for step in _steps(action, sizes, places)]
    seen, order = {0}, [0]
    for state in order:
        for guard, change in steps:
            if guard(state):
                following = change(state)
                if following not in seen and len(order) < most:
                    seen.add(following)
                    order.append(following)
    return [_structure(state, sizes, places) for state in order]


def walks(theory: Theory, sizes: Mapping[str, int], rigid: Mapping[str, int], seed: int, many: int) -> list[Structure]:
    """States along random walks; integers that a step chooses are small."""
    randomly = random.Random(seed)
    found = []
    while len(found) < many:
        state = _arbitrary(theory, sizes, rigid, randomly)
        for _ in range(25):
            found.append(state)
            following = [_taken(action, state, randomly) for action in theory.transitions for _ in range(3)]
            enabled = [other for other in following if other is not None]
            if not enabled:
                break
            state = randomly.choice(enabled)
    return found


def _taken(action: Transition, state: Structure, randomly: random.Random) -> Structure | None:
    choice = {
        var: randomly.randint(0, 4) if var.sort == INT else randomly.randrange(state.sizes[var.sort])
        for var in action.params
    }
    picked = {symbol.name: _some(cells(symbol, state.sizes), randomly, 0.6) for symbol in action.chosen}
    extended = Structure(state.sizes, {**state.relations, **picked}, state.integers)
    if not holds(action.guard, extended, choice):
        return None
    result = after(extended, action, choice)
    kept = {name: held for name, held in result.relations.items() if name not in picked}
    return Structure(state.sizes, kept, result.integers)


def _some(found: list[tuple[int, ...]], randomly: random.Random, share: float) -> frozenset[tuple[int, ...]]:
    return frozenset(cell for cell in found if randomly.random() < share)


def _arbitrary(
    theory: Theory, sizes: Mapping[str, int], rigid: Mapping[str, int], randomly: random.Random
) -> Structure:
    """An initial state: what `init` does not fix is arbitrary."""
    integers = {
        symbol.name: {
            cell: rigid.get(symbol.name, 0 if _fixed(theory, symbol) else randomly.randint(-3, 9))
            for cell in cells(symbol, sizes)
        }
        for symbol in (*theory.state, *theory.rigid)
        if symbol.result == INT
    }
    names = [symbol for symbol in theory.state if symbol.result == BOOL]
    relations = {
        symbol.name: _some(cells(symbol, sizes), randomly, 0.0 if _fixed(theory, symbol) else 0.4) for symbol in names
    }
    state = Structure(sizes, relations, integers)
    assert holds(theory.init, state)
    return state


def _fixed(theory: Theory, symbol: Symbol) -> bool:
    """What the theories here say anything of initially is empty, or zero."""
    return any(isinstance(node, Atom | Apply) and node.symbol == symbol for node in walk(theory.init))


def _structure(state: int, sizes: Mapping[str, int], places: Cells) -> Structure:
    relations = {
        name: frozenset(cell for cell, bit in bits.items() if state >> bit & 1) for name, bits in places.items()
    }
    return Structure(dict(sizes), relations)


def _steps(action: Transition, sizes: Mapping[str, int], places: Cells) -> Iterator[tuple]:  # type: ignore[type-arg]
    """Guard and change of every choice of the step, as functions of the state's bits."""
    empty = Structure(sizes, {})
    options = [_subsets(cells(symbol, sizes)) for symbol in action.chosen]
    for choice in choices(action.params, empty):
        for picked in product(*options):
            chosen = {symbol.name: held for symbol, held in zip(action.chosen, picked, strict=True)}
            writer = _Writer(sizes, places, chosen)
            guard = writer.text(action.guard, choice)
            if guard == "False":
                continue
            kept = (1 << sum(map(len, places.values()))) - 1
            parts = []
            for update in action.updates:
                for env in choices(update.formals, empty, choice):
                    bit = places[update.symbol.name][tuple(env[var] for var in update.formals)]
                    new = writer.text(update.value, env)  # type: ignore[arg-type]
                    if new == f"(s >> {bit} & 1)":
                        continue
                    kept &= ~(1 << bit)
                    if new != "False":
                        parts.append(f"({1 << bit} if {new} else 0)")
            text = " | ".join((f"s & {kept}", *parts))
            yield eval(f"lambda s: {guard}"), eval(f"lambda s: {text}")


def _subsets(found: list[tuple[int, ...]]) -> list[frozenset[tuple[int, ...]]]:
    return [frozenset(cell for n, cell in enumerate(found) if mask >> n & 1) for mask in range(1 << len(found))]


class _Writer:
    """Formulas as Python expressions over the bits `s`, as far as they do not fold."""

    def __init__(self, sizes: Mapping[str, int], places: Cells, chosen: Mapping[str, frozenset[tuple[int, ...]]]):
        self.empty, self.places, self.chosen = Structure(sizes, {}), places, chosen

    def text(self, formula: Formula, env: Mapping[Var, int]) -> str:
        match formula:
            case Truth():
                return str(formula.value)
            case Same():
                return str(env[formula.left] == env[formula.right])
            case Atom():
                cell = tuple(env[var] for var in formula.args)
                if formula.symbol.name in self.chosen:
                    return str(cell in self.chosen[formula.symbol.name])
                return f"(s >> {self.places[formula.symbol.name][cell]} & 1)"
            case Not():
                inner = self.text(formula.body, env)
                return {"True": "False", "False": "True"}.get(inner, f"(not {inner})")
            case And() | Or():
                return self._joined(isinstance(formula, And), [self.text(part, env) for part in formula.parts])
            case ForAll() | Exists():
                parts = [self.text(formula.body, inner) for inner in choices(formula.vars, self.empty, env)]
                return self._joined(isinstance(formula, ForAll), parts)
        raise AssertionError(formula)

    @staticmethod
    def _joined(every: bool, parts: list[str]) -> str:
        neutral, decided = ("True", "False") if every else ("False", "True")
        if decided in parts:
            return decided
        rest = [part for part in dict.fromkeys(parts) if part != neutral]
        return f"({(' and ' if every else ' or ').join(rest)})" if rest else neutral
