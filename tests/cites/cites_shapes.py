"""Whether a recorded fact is true of a release: each shape says what is wrong, or nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cites_names import matching, missing, names_in, option_field
from cites_patterns import inside, matches, nearest, pattern, places, position
from kvproto.shipped.models.sglang.facts.shapes import (
    Absent,
    Before,
    Contains,
    Default,
    Fact,
    Guards,
    Lacks,
    Returns,
    Shape,
    Unguarded,
    Value,
)

from kvproto.lang.cites import Cite, parse, releases, version

if TYPE_CHECKING:
    from cites_wheels import Wheel


def difference(fact: Fact, wheel: Wheel) -> str:
    """The first difference between a fact and a release, with file, name and line; empty if it is true."""
    release = version(wheel.release)
    shapes = [shape for span, shape in fact.expected if releases(span).cover(release)]
    wheres = [cite for cite in map(parse, fact.where) if cite.releases.cover(release)]
    if len(shapes) != 1 or len(wheres) != 1:
        return f"{wheel.release}: {len(shapes)} shapes and {len(wheres)} places are recorded, not one of each"
    found = find(wheres[0], wheel)
    said = _compare(shapes[0], found) or ("" if found or shapes[0] == Absent() else missing(wheres[0], wheel))
    return f"{wheel.release} {wheres[0].source}: {said}" if said else ""


def find(where: Cite, wheel: Wheel) -> dict[str, ast.AST]:
    """The nodes that a citation may mean, by qualified name."""
    if where.path not in wheel.files:
        return {}
    if where.kind == "option":
        field = option_field(wheel, where.path, where.name)
        return {} if field is None else {where.name: field}
    known = names_in(wheel, where.path)
    return {name: known[name] for name in matching(known, where.name)}


def _compare(shape: Shape, found: dict[str, ast.AST]) -> str:
    if isinstance(shape, Absent):
        return f"it is there, as {', '.join(found)}" if found else ""
    if len(found) > 1:
        return f"it may be {' or '.join(found)}"
    return "".join(wrong(shape, scope) for scope in found.values())


def wrong(shape: Shape, scope: ast.AST) -> str:
    """What of the shape is not so in a function, or in the declaration of a constant; empty if all is."""
    match shape:
        case Contains(code):
            return _missing(code, scope)
        case Lacks(codes):
            return next((said for code in codes if (said := _present(code, scope))), "")
        case Before(first, then):
            return _out_of_order(first, then, scope)
        case Guards(test, then):
            return _unguarded(test, then, scope)
        case Unguarded(test, code):
            return _missing(code, scope) or _guarded(test, code, scope)
        case Returns(code):
            return _returned(code, scope)
        case Default(name, value):
            return _default(name, value, scope)
        case Value(value):
            return _value(value, scope)
    raise TypeError(f"{shape!r} is no shape of source text")


def _missing(code: str, scope: ast.AST) -> str:
    wanted = pattern(code)
    return "" if places(wanted, scope) else f"there is no  {code}  (nearest: {nearest(wanted, scope)})"


def _present(code: str, scope: ast.AST) -> str:
    found = places(pattern(code), scope)
    return f"line {position(found[0])[0]} has  {code}" if found else ""


def _out_of_order(first: str, then: str, scope: ast.AST) -> str:
    said = _missing(first, scope) or _missing(then, scope)
    if said:
        return said
    one, two = (position(places(pattern(code), scope)[0]) for code in (first, then))
    return "" if one < two else f"{first}  (line {one[0]}) comes after  {then}  (line {two[0]})"


def _unguarded(test: str, then: str, scope: ast.AST) -> str:
    """An `if` whose condition contains `test` and whose body contains `then`."""
    wanted, consequence = pattern(test), pattern(then)
    choices = [node for node in inside(scope) if isinstance(node, ast.If)]
    asked = [node for node in choices if matches(wanted, node.test) or places(wanted, node.test)]
    if not asked:
        return f"no `if` asks  {test}  (nearest: {nearest(wanted, scope)})"
    bodies = [ast.Module(node.body, []) for node in asked]
    if any(places(consequence, body) for body in bodies):
        return ""
    lines = ", ".join(str(node.lineno) for node in asked)
    return f"the `if` that asks  {test}  (line {lines}) does not lead to  {then}"


def _guarded(test: str, code: str, scope: ast.AST) -> str:
    wanted, consequence = pattern(test), pattern(code)
    for node in inside(scope):
        if isinstance(node, ast.If) and (matches(wanted, node.test) or places(wanted, node.test)):
            if places(consequence, ast.Module(node.body, [])):
                return f"the `if` that asks  {test}  (line {node.lineno}) leads to  {code}"
    return ""


def _returned(code: str, scope: ast.AST) -> str:
    """Every `return` of the function, which has one at least, gives `code`."""
    wanted = pattern(code)
    found = [node for node in inside(scope) if isinstance(node, ast.Return)]
    other = next((node for node in found if not matches(wanted, node.value)), None)
    if other is not None:
        return f"line {other.lineno} returns  {ast.unparse(other.value) if other.value else 'nothing'},  not  {code}"
    return "" if found else f"nothing is returned, where  {code}  was"


def _default(name: str, value: str, scope: ast.AST) -> str:
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return "it is no function"
    arguments = [*scope.args.posonlyargs, *scope.args.args]
    last = arguments[len(arguments) - len(scope.args.defaults) :]
    pairs: dict[str, ast.expr | None] = {a.arg: d for a, d in zip(last, scope.args.defaults, strict=True)}
    pairs |= {a.arg: d for a, d in zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True)}
    given = pairs.get(name)
    if given is None:
        return f"there is no parameter {name} with a default"
    return "" if matches(pattern(value), given) else f"the default of {name} is {ast.unparse(given)}, not {value}"


def _value(value: str, scope: ast.AST) -> str:
    given = scope.value if isinstance(scope, ast.Assign | ast.AnnAssign) else None
    if given is None:
        return "it has no value"
    return "" if matches(pattern(value), given) else f"the value is {ast.unparse(given)}, not {value}"
