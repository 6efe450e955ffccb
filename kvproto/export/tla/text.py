"""TLA+ expressions as text: just enough parentheses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

ATOM, TIMES, PLUS, SETS, COMPARE, NOT, AND, OPEN = range(8, 0, -1)
"""How tightly an operator binds.  `OPEN` is what reaches to the right as far as it can: IF, LET, quantifiers."""


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


TRUE, FALSE, NONE = Text("TRUE"), Text("FALSE"), Text("None")


def number(value: int) -> Text:
    """An integer."""
    return Text(str(value)) if value >= 0 else Text(f"(-{-value})")


def string(value: str) -> Text:
    """A member of an enumeration."""
    return Text(f'"{value}"')


def truth(value: bool) -> Text:
    """A truth value."""
    return TRUE if value else FALSE


def conj(parts: Iterable[Text]) -> Text:
    """`a /\\ b`."""
    return _joined(parts, "/\\", TRUE, FALSE)


def disj(parts: Iterable[Text]) -> Text:
    """`a \\/ b`."""
    return _joined(parts, "\\/", FALSE, TRUE)


def _joined(parts: Iterable[Text], op: str, neutral: Text, final: Text) -> Text:
    """Left to right, as TLC evaluates it: what stands before the final value may be an error, so it stays."""
    found: list[Text] = []
    for part in parts:
        if part != neutral and part not in found:
            found.append(part)
        if part == final:
            break
    if len(found) <= 1:
        return found[0] if found else neutral
    return Text(f" {op} ".join(p.text if p.op == op else p.at(NOT) for p in found), AND, op)


def neg(part: Text) -> Text:
    """`~a`, or the opposite comparison."""
    if part in (TRUE, FALSE):
        return truth(part == FALSE)
    if part.op == "~":
        return Text(part.text[1:])
    opposite = {"=": "#", "#": "=", "\\in": "\\notin", "\\notin": "\\in"}
    if part.op in opposite:
        left, right = part.text.rsplit(f" {part.op} ", 1)
        return Text(f"{left} {opposite[part.op]} {right}", COMPARE, opposite[part.op])
    return Text(f"~{part.at(ATOM)}", NOT, "~")


def implies(test: Text, then: Text) -> Text:
    """`a => b`."""
    if test == TRUE or then == TRUE:
        return then
    if test == FALSE:
        return TRUE
    return Text(f"{test.at(AND)} => {then.at(AND)}", OPEN)


def choose(test: Text, then: Text, orelse: Text) -> Text:
    """`IF test THEN a ELSE b`."""
    if test in (TRUE, FALSE):
        return then if test == TRUE else orelse
    if then == orelse:
        return then
    if (then, orelse) == (TRUE, FALSE):
        return test
    if (then, orelse) == (FALSE, TRUE):
        return neg(test)
    return Text(f"IF {test} THEN {then.at(AND) if then.text.startswith('IF ') else then} ELSE {orelse}", OPEN)


def decide(test: Text, then: Text, orelse: Text) -> Text:
    """The same for truth values, which need no IF where one side is known."""
    if then == TRUE:
        return disj([test, orelse])
    if then == FALSE:
        return conj([neg(test), orelse])
    if orelse == FALSE:
        return conj([test, then])
    return disj([neg(test), then]) if orelse == TRUE else choose(test, then, orelse)


def equal_to(value: Text) -> str:
    """The right side of an equation."""
    return value.text if value.text.startswith(("IF ", "LET ")) else value.at(SETS)


def is_literal(text: Text) -> bool:
    """Whether it is a member, a number, a truth value or None."""
    return text in (TRUE, FALSE, NONE) or re.fullmatch(r'"[^"]*"|\d+|\(-\d+\)', text.text) is not None


def infix(op: str, left: Text, right: Text) -> Text:
    """Arithmetic, comparisons, set operators."""
    if op in ("=", "#") and is_literal(left) and is_literal(right):
        return truth((left == right) == (op == "="))
    match op:
        case "+" | "-":
            return Text(f"{left.at(PLUS)} {op} {right.at(TIMES)}", PLUS)
        case "*":
            return Text(f"{left.text if left.op == '*' else left.at(ATOM)} * {right.at(ATOM)}", TIMES, op)
        case "\\div" | "%":
            return Text(f"{left.at(ATOM)} {op} {right.at(ATOM)}", SETS)  # % and + are of about the same precedence
        case "\\cup" | "\\cap" | "\\":
            chained = left.text if left.op == op != "\\" else left.at(ATOM)
            return Text(f"{chained} {op} {right.at(ATOM)}", SETS, op)
        case _:
            plain = f" {op} " not in right.text
            return Text(f"{left.at(SETS)} {op} {right.at(SETS)}", COMPARE, op if plain else "")
