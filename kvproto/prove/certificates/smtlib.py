"""Conditions as SMT-LIB 2 text, one script each, for solvers that know nothing of kvproto: all answer unsat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from kvproto.prove.logic.conditions import Condition
from kvproto.prove.logic.formula import (
    BOOL,
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
    Same,
    Symbol,
    Term,
    Times,
    Truth,
    Var,
    free_variables,
    neg,
    walk,
)

# Words of the language and of its core and integer theories, which no declaration may give another meaning.
_TAKEN = frozenset(
    {"!", "_", "as", "let", "exists", "forall", "match", "par", "true", "false", "not", "and", "or", "xor", "distinct"}
    | {"ite", "abs", "div", "mod", "BINARY", "DECIMAL", "HEXADECIMAL", "NUMERAL", "STRING", "assert", "Bool", "Int"}
)
_PLAIN = re.compile(r"[A-Za-z~!@$%^&*_+=<>.?/-][A-Za-z0-9~!@$%^&*_+=<>.?/-]*")


def script(condition: Condition) -> str:
    """The condition's hypotheses and its goal negated; `unsat` says that the condition is valid."""
    formulas = [*(hypothesis.formula for hypothesis in condition.hypotheses), neg(condition.goal)]
    lines = [f"; {_line(condition.name)}", "; unsat: it holds for every size", f"(set-logic {_logic(formulas)})"]
    lines += _declarations(formulas)
    for hypothesis in condition.hypotheses:
        lines.append(f"; {_line(f'{hypothesis.name}: {hypothesis.text}' if hypothesis.text else hypothesis.name)}")
        lines.append(f"(assert {shown(hypothesis.formula)})")
    lines += ["; and not what is to be shown", f"(assert {shown(neg(condition.goal))})", "(check-sat)"]
    return "\n".join(lines) + "\n"


def write(folder: Path, conditions: Sequence[Condition]) -> list[Path]:
    """A script for every condition, numbered in their order; the files are returned."""
    folder.mkdir(parents=True, exist_ok=True)
    width = len(str(len(conditions)))
    written = []
    for number, condition in enumerate(conditions, 1):
        slug = re.sub(r"[^A-Za-z0-9]+", "-", condition.name).strip("-")[:80]
        written.append(folder / f"{number:0{width}}-{slug}.smt2")
        written[-1].write_text(script(condition), encoding="utf-8")
    return written


def shown(formula: Formula) -> str:
    """A formula as a term of sort Bool.

    >>> r = Var("r", "Req")
    >>> shown(ForAll((r,), Not(Atom(Symbol("done", ("Req",)), (r,)))))
    '(forall ((?r Req)) (not (done ?r)))'
    """
    match formula:
        case Truth(value):
            return "true" if value else "false"
        case Atom(symbol, args):
            return _applied(symbol, args)
        case Same(left, right):
            return f"(= {_variable(left)} {_variable(right)})"
        case Compare(op, left, right):
            return f"({'=' if op == '==' else op} {term(left)} {term(right)})"
        case Not(body):
            return f"(not {shown(body)})"
        case And(parts):
            return _all("and", "true", parts)
        case Or(parts):
            return _all("or", "false", parts)
        case ForAll(variables, body) | Exists(variables, body):
            word = "forall" if isinstance(formula, ForAll) else "exists"
            bound = " ".join(f"({_variable(v)} {_name(v.sort)})" for v in variables)
            return f"({word} ({bound}) {shown(body)})" if variables else shown(body)


def term(node: Term) -> str:
    """An integer term, or a variable of a sort."""
    match node:
        case Var():
            return _variable(node)
        case Num(value):
            return _number(value)
        case Apply(symbol, args):
            return _applied(symbol, args)
        case Plus(left, right):
            return f"(+ {term(left)} {term(right)})"
        case Times(factor, inner):
            return f"(* {_number(factor)} {term(inner)})"
        case Choose(test, then, other):
            return f"(ite {shown(test)} {term(then)} {term(other)})"


def _declarations(formulas: Sequence[Formula]) -> list[str]:
    """Sorts, symbols and constants in the order in which they occur."""
    nodes = [node for formula in formulas for node in walk(formula)]
    symbols = dict.fromkeys(node.symbol for node in nodes if isinstance(node, Atom | Apply))
    bound = [v for node in nodes if isinstance(node, ForAll | Exists) for v in node.vars]
    free = sorted({v for formula in formulas for v in free_variables(formula)}, key=lambda v: v.name)
    sorts = dict.fromkeys([*(s for symbol in symbols for s in symbol.args), *(v.sort for v in (*bound, *free))])
    lines = [f"(declare-sort {_name(sort)} 0)" for sort in sorts if sort not in (INT, BOOL)]
    for symbol in symbols:
        args = " ".join(map(_name, symbol.args))
        lines.append(f"(declare-fun {_name(symbol.name)} ({args}) {_name(symbol.result)})")
    return lines + [f"(declare-const {_variable(v)} {_name(v.sort)})" for v in free]


def _logic(formulas: Iterable[Formula]) -> str:
    """UF with quantifiers, with integers if there are any."""
    nodes = (node for formula in formulas for node in walk(formula))
    integers = any(isinstance(node, Compare | Apply) or (isinstance(node, Var) and node.sort == INT) for node in nodes)
    return "UFLIA" if integers else "UF"


def _all(word: str, empty: str, parts: Sequence[Formula]) -> str:
    if len(parts) < 2:
        return shown(parts[0]) if parts else empty
    return f"({word} {' '.join(map(shown, parts))})"


def _applied(symbol: Symbol, args: Sequence[Var]) -> str:
    name = _name(symbol.name)
    return f"({name} {' '.join(map(_variable, args))})" if args else name


def _variable(variable: Var) -> str:
    """Variables have names of their own, so that none hides a symbol."""
    return _quoted(f"?{variable.name}")


def _name(name: str) -> str:
    return name if name in (INT, BOOL) else _quoted(f"{name}'" if name in _TAKEN else name)


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"|{name.replace('|', '/').replace(chr(92), '/')}|"


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


def _line(text: str) -> str:
    """Text that fits into a comment."""
    return " ".join(text.split())
