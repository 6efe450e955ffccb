"""One schedule with integers left open: what has to be true of them for every step to happen and the claim to break.

Elements are numbers, relations have truth values, and only integers are symbols: parameters, the amounts that steps
choose, and what initial states leave open.  Truth values may depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kvproto.prove.exact.world import Cell, NotExact, Place, World, cells, shown
from kvproto.prove.logic.formula import BOOL, INT, Apply, Formula, Term, Truth, Var, conj, neg
from kvproto.prove.logic.theory import Theory, Transition


@dataclass(frozen=True, slots=True)
class Move:
    """A step of a schedule: its action, the elements that it is about, and the relations that it chooses.

    Amounts, which are integers, are left open.
    """

    action: str
    elements: Mapping[str, int] = field(default_factory=dict)
    chosen: Mapping[str, frozenset[Cell]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Sizes of sorts, the relations that are true at the start (those of the orders, too), and steps."""

    sizes: Mapping[str, int]
    relations: Mapping[str, frozenset[Cell]]
    moves: tuple[Move, ...]


def path_condition(theory: Theory, schedule: Schedule, claim: Formula) -> Formula:
    """What has to hold of the integers for the schedule to be a run at whose end the claim is false.

    Free variables of sort Int in it are amounts; integer functions without arguments that are rigid are parameters.
    """
    world = _start(theory, schedule)
    found = [world.truth(axiom.formula, {}) for axiom in theory.axioms]
    found.append(world.truth(theory.init, {}))
    for number, move in enumerate(schedule.moves, 1):
        action = next((step for step in theory.transitions if step.name == move.action), None)
        if action is None:
            raise NotExact(f"there is no action {move.action}")
        env = _arguments(action, move, number)
        world.chosen = {
            (symbol.name, cell): Truth(cell in move.chosen.get(symbol.name, frozenset()))
            for symbol in action.chosen
            for cell in cells(schedule.sizes, symbol.args)
        }
        found.append(world.truth(action.guard, env))
        world = world.after(action, env)
    found.append(neg(world.truth(claim, {})))
    return conj(found)


def _arguments(action: Transition, move: Move, number: int) -> dict[Var, int | Term]:
    env: dict[Var, int | Term] = {}
    for param in action.params:
        if param.sort == INT:
            env[param] = Var(f"{param.name}#{number}", INT)
        elif param.name in move.elements:
            env[param] = move.elements[param.name]
        else:
            raise NotExact(f"step {number}, {action.name}, does not say which {param.name}")
    return env


def _start(theory: Theory, schedule: Schedule) -> World:
    relations: dict[Place, Formula] = {}
    integers: dict[Place, Term] = {}
    for symbol in (*theory.state, *theory.rigid):
        for cell in cells(schedule.sizes, symbol.args):
            if symbol.result == BOOL:
                relations[symbol.name, cell] = Truth(cell in schedule.relations.get(symbol.name, frozenset()))
            elif not cell and symbol in theory.rigid:
                integers[symbol.name, cell] = Apply(symbol)
            else:
                integers[symbol.name, cell] = Var(f"{shown(symbol.name, cell)}#0", INT)
    return World(schedule.sizes, relations, integers)
