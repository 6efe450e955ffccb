"""Why a step cannot happen, in the words of the model."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kvproto.engine.blame import blame, conjuncts, refusal
from kvproto.engine.evaluate import Machine
from kvproto.engine.written import opposite, written
from kvproto.ir.fold import fold_expr
from kvproto.ir.nodes import Const, Expr, Logic, System, Unary
from kvproto.ir.types import show_path
from kvproto.whatif.schedule import Calls, Outcome

LONGEST = 90
"""Characters of a condition that can be read at a glance."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The part of a guard that had to be true and was not, as it is written in the model, and what it read."""

    condition: str
    loc: str
    reads: tuple[str, ...]


def refusing(system: System, calls: Calls, outcome: Outcome) -> Refused:
    """Why the step at which the schedule ended could not happen.

    From the system as it is written, in which switches are still there: they may be what refuses.
    """
    action = next(action for action in system.actions if action.name == calls[outcome.step - 1][0])
    machine = Machine(system)
    refused = refusal(machine, action, calls[outcome.step - 1][1], outcome.states[-1])
    assert refused is not None, "folding changes no meaning"
    parts = conjuncts(machine, refused)
    texts = [_text(part, wanted, system) for part, wanted in parts]
    # The smallest part, unless that is a long one inside of a helper that has a name.
    short = [at for at, text in enumerate(texts) if len(text) <= LONGEST]
    at = short[-1] if short else len(texts) - 1
    paths = blame(machine, refused.guard, refused.state, refused.env)
    reads = tuple(show_path(path, system.state) for path in paths)
    return Refused(texts[at], str(parts[at][0].loc), reads)


def _text(part: Expr, wanted: bool, system: System) -> str:
    """The part, or its opposite, without what the switches have settled."""
    if isinstance(part, Unary) and part.op == "not":
        return _text(part.arg, not wanted, system)
    text = written(part, system.sources)
    if isinstance(part, Logic):
        text = _open(text, [isinstance(fold_expr(arg), Const) for arg in part.args])
    return text if wanted else _not(text)


def _not(text: str) -> str:
    """The opposite; a call stays as it is written."""
    try:
        call = isinstance(ast.parse(text, mode="eval").body, ast.Call)
    except SyntaxError:  # the words of the IR
        call = False
    return f"not {text}" if call else opposite(text)


def _open(text: str, settled: Sequence[bool]) -> str:
    """`source_in_use(s, r)` of `cfg.source_hold and source_in_use(s, r)`, of which the first is settled."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:  # the words of the IR
        return text
    if not isinstance(tree, ast.BoolOp) or len(tree.values) != len(settled) or all(settled) or not any(settled):
        return text
    left = [value for value, known in zip(tree.values, settled, strict=True) if not known]
    return ast.unparse(left[0] if len(left) == 1 else ast.BoolOp(tree.op, left))
