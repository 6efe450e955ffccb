"""Syntax that is outside the language: what it is called, why it is refused, and what to write instead."""

from __future__ import annotations

import ast

Refusal = tuple[str, str, str, str]
"""Code, what it is, reason, cure."""

ENDLESS = "a step must end, and how long a loop runs must be seen before the search"
UNROLLED = "loops are unrolled and always run over their whole domain"
HIDDEN = "a variable outside the state would not tell states apart"
ATOMIC = "an action is one atomic step: guards, then stores"
TOP_LEVEL = "models are read from module level, where every name has one meaning"
PLACES = "every place of the state holds a value at all times"
FINITE = "a model has finitely many values, and this is none of them"

STATEMENTS: dict[type[ast.stmt], Refusal] = {
    ast.While: ("KV103", "a `while` loop", ENDLESS, "loop over a sort or a range with `for`, and use `if` inside"),
    ast.Break: ("KV104", "`break`", UNROLLED, "choose first: x = next((x for x in Sort if ...), None)"),
    ast.Continue: ("KV104", "`continue`", UNROLLED, "put the rest of the body under `if`"),
    ast.Global: ("KV115", "`global`", HIDDEN, "make it a field of the state"),
    ast.Nonlocal: ("KV115", "`nonlocal`", HIDDEN, "make it a field of the state"),
    ast.Try: ("KV116", "`try`", "a step that goes wrong is an error of the model", "test the condition with `if`"),
    ast.TryStar: ("KV116", "`try`", "a step that goes wrong is an error of the model", "test the condition with `if`"),
    ast.With: ("KV116", "`with`", "a model has no resources", "drop it"),
    ast.AsyncWith: ("KV116", "`async with`", ATOMIC, "drop it"),
    ast.AsyncFor: ("KV116", "`async for`", ATOMIC, "write a plain `for`"),
    ast.Raise: ("KV116", "`raise`", "a model has no exceptions", "use `require` for guards and `assert` for claims"),
    ast.Delete: ("KV116", "`del`", PLACES, "store None, False or the empty set"),
    ast.Import: ("KV116", "an import inside a function", TOP_LEVEL, "import at the top of the module"),
    ast.ImportFrom: ("KV116", "an import inside a function", TOP_LEVEL, "import at the top of the module"),
    ast.FunctionDef: ("KV116", "a function inside a function", TOP_LEVEL, "move it to the top level of the module"),
    ast.AsyncFunctionDef: ("KV116", "an async function", ATOMIC, "write two actions"),
    ast.ClassDef: ("KV116", "a class inside a function", TOP_LEVEL, "move it to the top level of the module"),
}

EXPRESSIONS: dict[type[ast.expr], Refusal] = {
    ast.Lambda: ("KV116", "a lambda", "functions are no values of a model", "write a helper with `def`"),
    ast.Dict: ("KV145", "a dictionary", FINITE, "use Array(index, element), or set() for the empty set"),
    ast.DictComp: ("KV145", "a dictionary", FINITE, "use Array(index, element)"),
    ast.List: ("KV134", "a list as a value", FINITE, "use a set, an array of the state, or a loop over a sort"),
    ast.ListComp: (
        "KV134",
        "a list as a value",
        FINITE,
        "count with sum(...), choose with next(...), collect in a set {... for ...}",
    ),
    ast.GeneratorExp: (
        "KV134",
        "a generator as a value",
        FINITE,
        "put it inside any, all, sum, min, max or next, or collect a set {... for ...}",
    ),
    ast.JoinedStr: ("KV132", "a formatted string", FINITE, "use an Enum"),
    ast.NamedExpr: (
        "KV102",
        "an assignment inside an expression",
        "expressions have no effects, so that their order cannot matter",
        "assign in a line of its own",
    ),
    ast.Await: ("KV116", "`await`", ATOMIC, "write two actions"),
    ast.Yield: ("KV116", "`yield`", ATOMIC, "write two actions"),
    ast.YieldFrom: ("KV116", "`yield from`", ATOMIC, "write two actions"),
    ast.Starred: ("KV102", "a starred expression", "a model has no tuples to unpack", "name the values one by one"),
    ast.Slice: ("KV102", "a slice", "an array has one index type", "loop over the index sort"),
}


def statement(node: ast.stmt) -> Refusal:
    """How a statement is refused."""
    unknown = ("KV101", f"`{type(node).__name__}`", "it has no meaning in a model", "see docs/language.md")
    return STATEMENTS.get(type(node), unknown)


def expression(node: ast.expr) -> Refusal:
    """How an expression is refused."""
    unknown = ("KV102", f"`{type(node).__name__}`", "it has no meaning in a model", "see docs/language.md")
    return EXPRESSIONS.get(type(node), unknown)
