"""Which models a proof can be about: those whose text means the same for every size.

A model is read under several sizes of its sorts and values of its numbers.  Where the typed trees differ in nothing
but the values of sorts, the text does not depend on sizes, and one tree stands for all of them.  A number whose value
changes the tree (the length of a loop) keeps its value; all others become symbols.  Sizes in arithmetic, which could
agree by chance, are looked for in the text.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from kvproto.diagnostics import Diagnostic, KvError, Loc
from kvproto.ir.nodes import Action, Const, Domain, Expr, Init, Local, Place, Stmt, System, Unary
from kvproto.ir.types import ArrayT, IntT, OptT, RecordT, SetT, SortT, Type
from kvproto.ir.walk import map_children, map_place
from kvproto.lang.bind import Chosen, sorts_of
from kvproto.lang.binding import Binding, Number, noting_shape
from kvproto.lang.frontend.build import build
from kvproto.lang.model import Model
from kvproto.lang.source import load
from kvproto.passes.fold import fold
from kvproto.prove.logic.formula import INT, Apply, Num, Plus, Symbol, Term, Times
from kvproto.prove.lowering.fail import SIZES_ONLY, NotGeneral, placed
from kvproto.prove.lowering.state import HOLE, Key, keys_of

BASE = 2
"""The size under which a model is read."""

SIZES = (3, 5, 17)
"""Sizes under which it is read again."""

STEPS = (1, 2, 7, 1000)
"""What numbers are increased by when it is read again."""


@dataclass(frozen=True, slots=True)
class General:
    """A model under its switches, read without regard to sizes.

    `system` is folded, and in it symbolic numbers are locals with the names in `numbers`.  `bounds` are those of
    integers, by leaf of the state and by `param_key`: numbers, sums of symbols, or None.
    """

    model: Model
    system: System
    plain: System
    """The same before numbers became locals: what the digest is taken of."""
    numbers: Mapping[str, Symbol]
    least: Mapping[str, int]
    bounds: Mapping[Key, tuple[Term | None, Term | None]]
    assumptions: tuple[str, ...]


def general(model: Model, chosen: Chosen, fixed: frozenset[str] = frozenset()) -> General:
    """The model under the switches of `chosen`; numbers named in `fixed` keep their values.

    Raises NotGeneral (KV160) where the text depends on a size.
    """
    readings = _Readings(model, chosen)
    # What is plain in the text tells more than where its traces are.
    problems = list(sizes_in_text(model, readings.base)) or readings.differences()
    if problems:
        raise NotGeneral(placed(problems, readings.base.sources))
    symbolic = [name for name in readings.numbers if name not in fixed and readings.is_symbolic(name)]
    symbols = {_local(name): Symbol(f"cfg.{name}", (), INT, name) for name in symbolic}
    values = chosen.binding.values
    kept = [name for name in readings.numbers if name not in symbolic]
    told = tuple(f"{name} is {values[name]}" for name in kept)
    least = {_local(name): readings.numbers[name].least for name in symbolic}
    return General(
        model,
        fold(_hidden(readings.base, frozenset(symbolic))),
        readings.base,
        symbols,
        least,
        readings.bounds(symbolic),
        told,
    )


def _local(name: str) -> str:
    """What stands in the tree for a symbolic number; no name of the language has a space in it."""
    return f"cfg {name}"


class _Readings:
    """The model under one choice of sizes and numbers after the other."""

    def __init__(self, model: Model, chosen: Chosen) -> None:
        self.model, self.chosen = model, chosen
        self.sorts = tuple(sorts_of(model))
        parameters = model.params.parameters() if model.params else {}
        self.numbers: dict[str, Number] = {name: p for name, p in parameters.items() if isinstance(p, Number)}
        with noting_shape() as self.shaping:
            self.base = self._base()

    def _base(self) -> System:
        """The model with few elements of each sort.  Raises NotGeneral where it cannot be read so."""
        try:
            return self._reading({}, {})
        except KvError as problem:
            build(self.model, self.chosen)  # a model that cannot be read at all says so itself
            one = problem.diagnostic
            text = f"with {BASE} elements of each sort the model cannot be read: {one.message}"
            cure = f"write it so that any size will do; {SIZES_ONLY}"
            raise NotGeneral([Diagnostic("KV160", text, one.reason, cure, one.loc, one.line)]) from None

    def _reading(self, sizes: Mapping[str, int], values: Mapping[str, int]) -> System:
        binding = self.chosen.binding
        standard = dict.fromkeys(self.sorts, BASE)
        return build(
            self.model,
            Chosen(
                self.chosen.preset,
                "",
                Binding({**standard, **sizes}, {**binding.values, **values}),
            ),
        )

    def _tried(self, sizes: Mapping[str, int], values: Mapping[str, int]) -> System | None:
        """None where the language refuses these sizes: a set parameter has to be small."""
        try:
            return self._reading(sizes, values)
        except KvError:
            return None

    def differences(self) -> list[Diagnostic]:
        """Places at which the tree depends on the size of a sort."""
        found: list[Diagnostic] = []
        for sort in self.sorts:
            for size in SIZES:
                other = self._tried({sort: size}, {})
                if other is not None:
                    found += [_depends(sort, where) for where in differing(self.base, other)]
        found += [_computed(sort, self.shaping[sort]) for sort in self.sorts if sort in self.shaping]
        return [one for one in found if one.loc is not None] or found

    def values_of(self, name: str) -> list[int]:
        """Values under which a number is tried."""
        number, value = self.numbers[name], int(self.chosen.binding.values[name])
        near = [value + step for step in STEPS if value + step <= number.most]
        return [v for v in [*near, number.least] if v != value]

    def is_symbolic(self, name: str) -> bool:
        """Whether the tree is the same for all values of a number, but for the places where it stands."""
        if name in self.shaping:
            return False
        others = [self._tried({}, {name: value}) for value in self.values_of(name)]
        read = [other for other in others if other is not None]
        return len(read) >= 2 and not any(list(differing(self.base, other, name)) for other in read)

    def bounds(self, symbolic: list[str]) -> dict[Key, tuple[Term | None, Term | None]]:
        """Bounds of integers as sums of numbers, as far as they are."""
        here = dict(_integers(self.base))
        changed = {name: self._bounds_at(name) for name in symbolic}
        together = self._tried({}, {name: self._next(name, 3 + at) for at, name in enumerate(symbolic)})
        check = None if together is None else dict(_integers(together))
        return {
            key: (
                self._linear(key, 0, here, changed, check),
                self._linear(key, 1, here, changed, check),
            )
            for key in here
        }

    def _next(self, name: str, step: int) -> int:
        value = int(self.chosen.binding.values[name])
        return value + step if value + step <= self.numbers[name].most else value

    def _bounds_at(self, name: str) -> dict[Key, IntT]:
        found = self._tried({}, {name: self._next(name, 1)})
        return {} if found is None else dict(_integers(found))

    def _linear(
        self,
        key: Key,
        side: int,
        here: Mapping[Key, IntT],
        changed: Mapping[str, Mapping[Key, IntT]],
        check: Mapping[Key, IntT] | None,
    ) -> Term | None:
        """One bound as a sum of numbers; None where it is none, so that there is no bound at all."""
        base = _side(here[key], side)
        slopes = {name: _side(found[key], side) - base for name, found in changed.items() if key in found}
        used = {name: slope for name, slope in slopes.items() if slope}
        if check is None or len(slopes) < len(changed):
            return None
        values = self.chosen.binding.values
        order = list(changed)
        moved = sum(s * (self._next(name, 3 + order.index(name)) - int(values[name])) for name, s in used.items())
        if key not in check or _side(check[key], side) != base + moved:
            return None
        rest = base - sum(slope * int(values[name]) for name, slope in used.items())
        term: Term = Num(rest)
        for name, slope in used.items():
            one: Term = Apply(Symbol(f"cfg.{name}", (), INT, name))
            one = one if slope == 1 else Times(slope, one)
            term = one if term == Num(0) else Plus(one, term)
        return term


def _side(kind: IntT, side: int) -> int:
    bound = kind.hi if side else kind.lo
    assert bound is not None
    return bound


def _computed(sort: str, text: str) -> Diagnostic:
    """What is computed of a size before there is a tree, which then shows nothing of it."""
    one = _depends(sort, None)
    return replace(one, message=f"{text} depends on the size of {sort}")


def _depends(sort: str, loc: Loc | None) -> Diagnostic:
    return Diagnostic(
        "KV160",
        f"what is written here depends on the size of {sort}",
        "a proof is about every size at once, so the model has to mean the same for all of them",
        f"say it of the elements: any(...), all(...), a set; {SIZES_ONLY}",
        loc,
    )


# --- comparing trees ----------------------------------------------------------------------------------


def differing(one: System, other: System, number: str = "") -> Iterator[Loc | None]:
    """Places where two readings differ in more than sizes, bounds of integers and the values of `number`."""
    for part in ("state", "inits", "actions", "claims", "constraint", "fairness"):
        yield from _differing(getattr(one, part), getattr(other, part), None, number)


def _differing(one: Any, other: Any, loc: Loc | None, number: str) -> Iterator[Loc | None]:
    if isinstance(one, tuple) and isinstance(other, tuple):
        if len(one) != len(other):
            yield loc
            return
        for left, right in zip(one, other, strict=True):
            yield from _differing(left, right, loc, number)
    elif type(one) is not type(other):
        yield loc
    elif isinstance(one, SortT):
        if one.name != other.name:
            yield loc
    elif isinstance(one, Loc):
        pass
    elif isinstance(one, Domain):
        yield from _domains(one, other)
    elif isinstance(one, Const) and number and one.parameter == other.parameter == number:
        pass
    elif isinstance(one, RecordT):
        yield from _records(one, other, loc, number)
    elif isinstance(one, ArrayT | SetT):
        yield from _containers(one, other, loc, number)
    elif is_dataclass(one):
        yield from _fields(one, other, loc, number)
    elif one != other:
        yield loc


def _fields(one: Any, other: Any, loc: Loc | None, number: str) -> Iterator[Loc | None]:
    here = getattr(one, "loc", None) or loc
    kind = getattr(one, "type", None)
    for part in fields(one):
        if (isinstance(one, IntT) and number) or (part.name == "type" and isinstance(kind, IntT) and _is_expr(one)):
            continue  # the range of an expression, or a bound, which is looked at for itself
        yield from _differing(getattr(one, part.name), getattr(other, part.name), here, number)


def _is_expr(node: object) -> bool:
    """Whether the type is that of a result: what is stored or compared shows in the node itself."""
    return not isinstance(node, Place) and hasattr(node, "loc")


def _records(one: RecordT, other: RecordT, loc: Loc | None, number: str) -> Iterator[Loc | None]:
    """Names of queues and bags hold their sizes."""
    if one.shape != other.shape or (one.shape == "record" and one.name != other.name):
        yield loc
    yield from _differing(one.fields, other.fields, loc, number)


def _containers(one: Any, other: Any, loc: Loc | None, number: str) -> Iterator[Loc | None]:
    """What indices and elements of sets there are must not depend on a number."""
    if isinstance(one, ArrayT):
        yield from _differing(one.index, other.index, loc, "")
        yield from _differing(one.element, other.element, loc, number)
    else:
        yield from _differing(one.element, other.element, loc, "")


def _domains(one: Domain, other: Domain) -> Iterator[Loc | None]:
    yield from _differing(one.type, other.type, one.loc, "")
    by_size = one.whole and other.whole and _has_sort(one.type)
    if one.whole != other.whole or (not by_size and one.values != other.values):
        yield one.loc


def _has_sort(kind: Type) -> bool:
    match kind:
        case SortT():
            return True
        case OptT(inner=inner):
            return _has_sort(inner)
        case SetT(element=element):
            return _has_sort(element)
        case _:
            return False


# --- sizes in the text --------------------------------------------------------------------------------


def sizes_in_text(model: Model, system: System) -> Iterator[Diagnostic]:
    """`len(Page)` and `Page - 1` in the files of a model: their values could be the same for the sizes tried."""
    sorts = set(sorts_of(model))
    for shown, text in system.sources.items():
        for node in ast.walk(ast.parse(text)):
            for operand in _operands(node):
                if isinstance(operand, ast.Name) and operand.id in sorts:
                    end = node.end_col_offset if node.end_lineno == node.lineno else node.col_offset + 1  # type: ignore[attr-defined]
                    yield _depends(operand.id, Loc(shown, node.lineno, node.col_offset, end))  # type: ignore[attr-defined]


def _operands(node: ast.AST) -> list[ast.expr]:
    """Where a sort stands for its size."""
    match node:
        case ast.Call(func=ast.Name(id="len" | "range" | "Int"), args=args):
            return args
        case ast.Call(func=ast.Name(id="Queue" | "Bag"), args=[_, *sizes]):
            return sizes
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case _:
            return []


def at_its_field(problem: NotGeneral, model: Model) -> NotGeneral:
    """The same error, where it is about a part of the state at the annotation of that field."""
    return NotGeneral([_at_field(one, model) for one in problem.all])


def _at_field(one: Diagnostic, model: Model) -> Diagnostic:
    names = re.findall(r"[A-Za-z_]\w*", one.message.split(" ")[0])
    for cls in model.state.__mro__:
        file = inspect.getsourcefile(cls) if one.loc is None and names and cls is not object else None
        for node in ast.walk(load(Path(file)).tree) if file else ():
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == names[0]:
                assert file is not None
                source = load(Path(file))
                loc = source.loc(node.annotation)
                return replace(one, loc=loc, line=source.lines[loc.line - 1])
    return one


# --- symbolic numbers ---------------------------------------------------------------------------------


def _hidden(system: System, symbolic: frozenset[str]) -> System:
    """The system with symbolic numbers as locals, so that folding leaves them alone."""

    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Const) and expr.parameter in symbolic:
            number: Expr = Local(IntT(), _local(expr.parameter), expr.loc)
            return Unary(expr.type, "some", number, expr.loc) if isinstance(expr.type, OptT) else number
        return map_children(expr, in_expr)

    def in_body(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_in_stmt(stmt, in_expr, in_body) for stmt in body)

    return replace(
        system,
        inits=tuple(replace(i, body=in_body(i.body)) for i in system.inits),
        actions=tuple(replace(a, body=in_body(a.body)) for a in system.actions),
        claims=tuple(replace(c, cond=None if c.cond is None else in_expr(c.cond)) for c in system.claims),
    )


def _in_stmt(stmt: Stmt, in_expr: Any, in_body: Any) -> Stmt:
    found: dict[str, Any] = {}
    for part in fields(stmt):
        value = getattr(stmt, part.name)
        if part.name in ("cond", "value", "test", "where") and value is not None:
            found[part.name] = in_expr(value)
        elif part.name in ("then", "orelse", "body"):
            found[part.name] = in_body(value)
        elif part.name == "place":
            found[part.name] = map_place(value, in_expr)
    return replace(stmt, **found)


def _integers(system: System) -> Iterator[tuple[Key, IntT]]:
    """Integer leaves of the state by key, and integer parameters by function and name."""
    yield from _integer_leaves(system.state, ())
    functions: list[Init | Action] = [*system.inits, *system.actions]
    for function in functions:
        for param in function.params:
            kind = param.type.inner if isinstance(param.type, OptT) else param.type
            if isinstance(kind, IntT):
                yield param_key(function.name, param.name), kind


def param_key(function: str, name: str) -> Key:
    """The key of a parameter among the bounds; no path of the state has an empty field."""
    return ("", function, name)


def _integer_leaves(kind: Type, key: Key) -> Iterator[tuple[Key, IntT]]:
    match kind:
        case RecordT(shape="queue" | "bag"):
            return
        case RecordT():
            for name, inner in kind.fields:
                yield from _integer_leaves(inner, (*key, name))
        case ArrayT(index=SortT() | OptT(inner=SortT())):
            yield from _integer_leaves(kind.element, (*key, HOLE))
        case ArrayT():
            for value in keys_of(kind.index, str(key[-1]) if key else "state"):
                yield from _integer_leaves(kind.element, (*key, value))
        case IntT() | OptT(inner=IntT()):
            yield key, kind.inner if isinstance(kind, OptT) else kind  # type: ignore[misc]
        case _:
            pass
