"""Lowering: a folded system becomes a `Program`.  The only way from the IR to anything that runs fast.

Loops and quantifiers are unrolled, action parameters become constants, and values known at lowering time never
reach a register.  Intervals of numbers are tracked so that range checks appear only where they can fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvproto.diagnostics import KvError, Loc
from kvproto.engine.evaluate import Args, choices
from kvproto.engine.layout import Layout, plan
from kvproto.engine.lower_code import FaultInfo
from kvproto.engine.lower_expr import Shape
from kvproto.engine.lower_stmt import Lowering
from kvproto.engine.program import Block, Program
from kvproto.ir.nodes import Action, Claim, Expr, System

__all__ = ["MAX_INSTANCES", "FaultInfo", "Lowered", "lower"]

MAX_INSTANCES = 32_000


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program with what its numbers stand for."""

    program: Program
    layout: Layout
    instances: tuple[tuple[Action, Args], ...]
    invariants: tuple[Claim, ...]
    deadlock: Claim | None
    faults: tuple[FaultInfo, ...]
    probes: tuple[Expr, ...] = ()
    predicates: tuple[Expr, ...] = ()


def lower(
    system: System, claims: tuple[Claim, ...], probes: Sequence[Expr] = (), predicates: Sequence[Expr] = ()
) -> Lowered:
    """Lower a folded system for a search of the given claims, with further conditions on states to ask about.

    Raises KvError KV018 where a scope unrolls to too many action instances, KV150 where a number has no bound.
    """
    layout = plan(system.state)
    instances = tuple(
        (action, args) for action in system.actions if not action.switched_off for args in choices(action.params)
    )
    if len(instances) > MAX_INSTANCES:
        raise KvError(
            "KV018",
            f"{len(instances)} action instances, more than {MAX_INSTANCES}",
            reason="every action is unrolled over all choices of its parameters",
            cure="use a smaller scope, or fewer parameters an action",
        )
    faults: dict[tuple[str, str, Loc], FaultInfo] = {}
    numbers: dict[tuple[str, str, Loc], int] = {}
    shape = Shape(system.state)

    def number(info: FaultInfo) -> int:
        key = (info.claim, info.code, info.loc)
        faults.setdefault(key, info)
        return numbers.setdefault(key, len(numbers))

    def start() -> Lowering:
        return Lowering(shape, number)

    def action_block(action: Action, args: Args) -> Block:
        lowering = start()
        lowering.parameters(action.params, args)
        return lowering.action(action.body)

    actions = tuple(action_block(action, args) for action, args in instances)
    invariants = tuple(c for c in claims if c.kind == "invariant")
    deadlock = next((c for c in claims if c.kind == "deadlock"), None)
    blocks = tuple(start().condition(c.cond) for c in invariants if c.cond is not None)
    terminal = None
    if deadlock is not None:
        terminal = start().constant_false() if deadlock.cond is None else start().condition(deadlock.cond)
    asked = tuple(start().condition(probe) for probe in probes)
    tested = tuple(start().condition(predicate) for predicate in predicates)
    constraint = None if system.constraint is None else start().condition(system.constraint)
    program = Program(layout.words, layout.leaves, actions, blocks, terminal, len(numbers), asked, tested, constraint)
    return Lowered(
        program, layout, instances, invariants, deadlock, tuple(faults.values()), tuple(probes), tuple(predicates)
    )
