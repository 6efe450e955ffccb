"""Initial states, packed: every choice of an init function and its arguments.

Few choices are made by the reference evaluator.  Many are made by the lowered body of the function, printed as
Python, with the arguments in fields beside the state; where that faults the reference evaluator has the word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any

from kvproto.engine.evaluate import Args, Machine, choices
from kvproto.engine.layout import Layout, encode, plan
from kvproto.engine.lower_code import Val
from kvproto.engine.lower_expr import Shape, raw_bounds
from kvproto.engine.lower_stmt import Lowering
from kvproto.engine.program import Leaf, Op, Program
from kvproto.engine.starting import InitFault, run_init
from kvproto.ir.nodes import Init, System
from kvproto.ir.types import RecordT, cardinality, values_of

FEW = 1000
"""Choices that the reference evaluator makes sooner than a function can be printed and compiled."""

Start = tuple[Init, Args, "int | InitFault"]
"""An init function, its arguments, and the packed state that it makes or the way in which it fails."""


def initial(system: System, folded: System, layout: Layout, *, few: int = FEW) -> Iterator[Start]:
    """What the choices make that are not refused, in order; without init functions there is none.

    `folded` is the system after all passes.  One state may be made by several choices.
    """
    machine = Machine(system)
    for init, lowered in zip(system.inits, folded.inits, strict=True):
        if prod(cardinality(p.type) for p in init.params) <= few:
            yield from _by_reference(machine, init, layout)
        else:
            yield from _by_program(machine, init, lowered, layout)


def _by_reference(machine: Machine, init: Init, layout: Layout) -> Iterator[Start]:
    for args in choices(init.params):
        made = _made(machine, init, args, layout)
        if made is not None:
            yield init, args, made


def _made(machine: Machine, init: Init, args: Args, layout: Layout) -> int | InitFault | None:
    try:
        state = run_init(machine, init, args)
    except InitFault as problem:
        return problem
    return None if state is None else layout.pack(state)


def _by_program(machine: Machine, init: Init, lowered: Init, layout: Layout) -> Iterator[Start]:
    beside = plan(RecordT("parameters", tuple((p.name, p.type) for p in init.params)))
    run = _compiled(machine.system, lowered, layout, beside)
    first, last = 64 * layout.words, (1 << 64 * layout.words) - 1
    zero = layout.pack(machine.zero())
    fields = [
        [encode(value, p.type) << (first + 64 * leaf.word + leaf.shift) for value in values_of(p.type)]
        for p, leaf in zip(init.params, beside.leaves, strict=True)
    ]
    for args, given in zip(choices(init.params), product(*fields), strict=True):
        for _, made in run(sum(given, zero)):
            if made >= 0:
                yield init, args, made & last
            elif (failure := _made(machine, init, args, layout)) is not None:
                yield init, args, failure


def _compiled(system: System, init: Init, layout: Layout, beside: Layout) -> Callable[[int], list[tuple[int, int]]]:
    """The body as a function from a zero state with arguments to what it makes of it."""
    from kvproto.engine.tier0 import print_program  # few searches have so many choices

    fields = tuple(Leaf(layout.words + leaf.word, leaf.shift, leaf.bits) for leaf in beside.leaves)
    lowering = Lowering(Shape(system.state), lambda _: 0)
    for number, param in enumerate(init.params, len(layout.leaves)):
        register = lowering.register()
        lowering.emit(Op.LOAD, register, imm=number)
        lowering.env[param.name] = lowering.unbiased(Val(*raw_bounds(param.type), register), param.type)
    block = lowering.action(init.body)
    program = Program(layout.words + beside.words, (*layout.leaves, *fields), (block,), (), None, 1)
    names: dict[str, Any] = {}
    exec(compile(print_program(program), "<kvproto init>", "exec"), names)  # our own text
    expand: Callable[[int], list[tuple[int, int]]] = names["expand"]
    return expand
