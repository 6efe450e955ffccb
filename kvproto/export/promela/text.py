"""Promela expressions as text: just enough parentheses, and constants worked out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ATOM, UNARY, TIMES, PLUS, SHIFT, COMPARE, BITS, AND, OR = range(9, 0, -1)
"""How tightly an operator binds.  Bit operators and comparisons are never mixed without parentheses."""


@dataclass(frozen=True, slots=True)
class Text:
    """An expression, how tightly its outermost operator binds, and which one it is if that matters."""

    text: str
    level: int = ATOM
    op: str = ""

    def __str__(self) -> str:
        return self.text

    def at(self, level: int) -> str:
        """As an operand of an operator of that level."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def number(self) -> int | None:
        """Its value if it is a literal."""
        digits = self.text.strip("()")
        return int(digits) if digits.removeprefix("-").isdecimal() else None


TRUE, FALSE = Text("true"), Text("false")


def literal(value: int) -> Text:
    """A number."""
    return Text(str(value) if value >= 0 else f"({value})")


def truth(value: bool) -> Text:
    """A truth value."""
    return TRUE if value else FALSE


def conj(parts: Iterable[Text]) -> Text:
    """`a && b && c`."""
    found: list[Text] = []
    for part in parts:
        if part == FALSE:
            found.append(FALSE)
            break
        if part != TRUE and part not in found:
            found.append(part)
    if found and found[-1] == FALSE:
        return FALSE  # conditions have no effects, so what stands before it does not matter
    if len(found) <= 1:
        return found[0] if found else TRUE
    return Text(" && ".join(p.at(AND) for p in found), AND)


def disj(parts: Iterable[Text]) -> Text:
    """`a || b || c`."""
    found: list[Text] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        if part != FALSE and part not in found:
            found.append(part)
    if len(found) <= 1:
        return found[0] if found else FALSE
    return Text(" || ".join(p.at(BITS) if p.level == AND else p.at(OR) for p in found), OR)


def neg(part: Text) -> Text:
    """`!a`."""
    if part in (TRUE, FALSE):
        return truth(part == FALSE)
    if part.level == UNARY and part.text.startswith("!"):
        return Text(part.text[1:])
    opposite = {" == ": " != ", " != ": " == "}
    for sign, other in opposite.items():
        if part.op == sign.strip():
            one, _, two = part.text.rpartition(sign)
            return Text(f"{one}{other}{two}", COMPARE, other.strip())
    return Text(f"!{part.at(ATOM)}", UNARY)


def choose(test: Text, then: Text, orelse: Text) -> Text:
    """`(test -> then : orelse)`."""
    if test in (TRUE, FALSE):
        return then if test == TRUE else orelse
    if then == orelse:
        return then
    return Text(f"({test.at(OR)} -> {then.at(OR)} : {orelse.at(OR)})")


def decide(test: Text, then: Text, orelse: Text) -> Text:
    """The same for truth values, which need no arrow where one side is known."""
    if then == FALSE:
        return conj([neg(test), orelse])
    if orelse == FALSE:
        return conj([test, then])
    if then == TRUE:
        return disj([test, orelse])
    if orelse == TRUE:
        return disj([neg(test), then])
    return choose(test, then, orelse)


def infix(op: str, left: Text, right: Text) -> Text:
    """Arithmetic, bit operators and comparisons."""
    one, other = left.number, right.number
    if one is not None and other is not None:
        settled = _settled(op, one, other)
        if settled is not None:
            return settled
    match op:
        case "+" | "-":
            if other == 0:
                return left
            if op == "+" and one == 0:
                return right
            return Text(f"{left.at(PLUS)} {op} {right.at(TIMES)}", PLUS)
        case "*" | "/" | "%":
            return Text(f"{left.at(TIMES)} {op} {right.at(UNARY)}", TIMES)
        case "<<" | ">>":
            return left if other == 0 else Text(f"{left.at(PLUS)} {op} {right.at(PLUS)}", SHIFT)
        case "&" | "|":
            if op == "|" and 0 in (one, other):
                return right if one == 0 else left
            sides = [part.text if part.op == op else part.at(PLUS) for part in (left, right)]
            return Text(f" {op} ".join(sides), BITS, op)
        case _:
            return Text(f"{left.at(PLUS)} {op} {right.at(PLUS)}", COMPARE, op if f" {op} " not in right.text else "")


def _settled(op: str, left: int, right: int) -> Text | None:
    match op:
        case "+":
            return literal(left + right)
        case "-":
            return literal(left - right)
        case "*":
            return literal(left * right)
        case "<<":
            return literal(left << right if 0 <= right < 32 else 0)  # nonsense is for `faults` to notice
        case "|":
            return literal(left | right)
        case "&":
            return literal(left & right)
        case "==":
            return truth(left == right)
        case "!=":
            return truth(left != right)
        case "<":
            return truth(left < right)
        case "<=":
            return truth(left <= right)
        case _:
            return None
