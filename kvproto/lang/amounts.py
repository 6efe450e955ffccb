"""Sizes and parameters in arithmetic, where they are bounds: `Int(0, 2 * Page)`, `Queue(Msg, Config.limit + 1)`.

What they come to is known once a scope is in force, so a sum is kept as it was written.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

OPERATORS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
}


class Amount:
    """What may be an operand: a sort (its size), a number parameter (its value), and what is computed of them."""

    def __add__(self, other: object) -> Computed:
        return Computed("+", self, other) if _operand(other) else NotImplemented

    def __radd__(self, other: object) -> Computed:
        return Computed("+", other, self) if _operand(other) else NotImplemented

    def __sub__(self, other: object) -> Computed:
        return Computed("-", self, other) if _operand(other) else NotImplemented

    def __rsub__(self, other: object) -> Computed:
        return Computed("-", other, self) if _operand(other) else NotImplemented

    def __mul__(self, other: object) -> Computed:
        return Computed("*", self, other) if _operand(other) else NotImplemented

    def __rmul__(self, other: object) -> Computed:
        return Computed("*", other, self) if _operand(other) else NotImplemented

    def __floordiv__(self, other: object) -> Computed:
        return Computed("//", self, other) if _operand(other) else NotImplemented

    def __rfloordiv__(self, other: object) -> Computed:
        return Computed("//", other, self) if _operand(other) else NotImplemented


class Computed(Amount):
    """`left op right`, not yet computed."""

    def __init__(self, op: str, left: Any, right: Any) -> None:
        self.op = op
        self.left = left
        self.right = right

    def number(self, number: Callable[[Any], int]) -> int:
        """What it comes to; `number` gives the operands."""
        left, right = number(self.left), number(self.right)
        if self.op == "//" and right == 0:
            raise TypeError(f"a bound is divided by 0: {self!r}")
        return OPERATORS[self.op](left, right)

    def operands(self) -> tuple[Any, ...]:
        """Sorts and parameters in it."""
        sides = (self.left, self.right)
        return tuple(
            one for side in sides for one in (side.operands() if isinstance(side, Computed) else (side,))
            if isinstance(one, Amount)
        )

    @property
    def linear(self) -> bool:
        """Whether its operands are only added, subtracted and multiplied by known numbers."""
        sides = [side for side in (self.left, self.right) if isinstance(side, Amount)]
        if self.op == "//" or (self.op == "*" and len(sides) > 1):
            return False
        return all(side.linear for side in sides if isinstance(side, Computed))

    def __repr__(self) -> str:
        return f"{_shown(self.left)} {self.op} {_shown(self.right)}"


def _operand(other: object) -> bool:
    return isinstance(other, int | Amount) and not isinstance(other, bool)


def _shown(operand: object) -> str:
    return f"({operand!r})" if isinstance(operand, Computed) else str(getattr(operand, "name", operand))
