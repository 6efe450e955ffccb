"""From the types in a model's annotations to types of the IR, under the binding in force."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.ir.shapes import bag_type, queue_type, set_type, shape_of, value_count
from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, OptT, RecordT, ScalarT, SetT, SortT, Type
from kvproto.lang.native import Record, field_types
from kvproto.lang.sorts import Array, Bag, BoolType, Int, Opt, Queue, Set, Sort
from kvproto.lang.source import SourceFile, load

MAX_INDEX = 4096
MAX_STARTS = 1 << 20
"""Values of all parameters of an init function together: one initial state each."""
MAX_INT = 1 << 31

Fail = Callable[[str, str, str], KvError]
"""(message, reason, cure) -> the error at the annotation's place."""


def enum_type(cls: type[Enum]) -> EnumT:
    """An enumeration; members that are aliases of others are not values."""
    return EnumT(cls.__name__, tuple(member.name for member in cls))


def sort_type(sort: Sort) -> SortT:
    """A sort at its size in the binding in force; sizes were checked when the binding was made."""
    return SortT(sort.name, len(sort), tuple(sort.label(i) for i in range(len(sort))) if sort.labels else ())


def scalar_type(kind: Any, fail: Fail) -> ScalarT:
    """A type that may be a parameter, an index or an element of a set."""
    found = ir_type(kind, fail)
    if not isinstance(found, BoolT | IntT | SortT | EnumT):
        raise fail(
            f"{found} cannot stand here",
            "parameters, indices and elements of sets and optionals are single values",
            "use a sort, an enumeration, Bool or Int(lo, hi)",
        )
    return found


def parameter_type(kind: Any, most: int, fail: Fail) -> Type:
    """A type that a parameter of an action, init function or claim may have."""
    found = ir_type(kind, fail)
    if any(shape in ("queue", "set", "bag") for shape in _shapes(found)):
        raise fail(
            f"{found} cannot be the type of a parameter",
            "an action happens for every value of its parameters, and this type has far too many",
            "use single values, records and arrays of them, and sets with few elements",
        )
    return _bounded(found, most, "a parameter", fail)


def _shapes(kind: Type) -> set[str]:
    """The shapes of all records in a type."""
    match kind:
        case RecordT():
            return {shape_of(kind)}.union(*(_shapes(inner) for _, inner in kind.fields))
        case ArrayT():
            return _shapes(kind.element)
        case _:
            return set()


def ir_type(kind: Any, fail: Fail) -> Type:
    """The IR type that an annotation means."""
    match kind:
        case Sort():
            return sort_type(kind)
        case BoolType():
            return BoolT()
        case Int():
            return _int_type(kind, fail)
        case Opt():
            return OptT(scalar_type(kind.inner, fail))
        case Set():
            return set_type(_element(kind.element, "a set", fail))
        case Bag():
            return bag_type(_element(kind.element, "a bag", fail), _size(kind.copies, "a bag", fail))
        case Queue():
            return queue_type(ir_type(kind.element, fail), _size(kind.capacity, "a queue", fail))
        case Array():
            index = scalar_type(kind.index, fail)
            _bounded(index, MAX_INDEX, "an array", fail)
            return ArrayT(index, ir_type(kind.element, fail))
        case type() if issubclass(kind, Enum):
            if not len(kind):
                raise fail(
                    f"{kind.__name__} has no members", "a variable needs at least one value", "give it a member"
                )
            return enum_type(kind)
        case type() if issubclass(kind, Record):
            return record_type(kind)
        case type() if kind is bool:
            return BoolT()
        case _:
            raise fail(
                f"{getattr(kind, '__name__', kind)!r} is not a type of the language",
                "every variable of a model takes finitely many values",
                "use Bool, Int(lo, hi), a Sort, an Enum, Opt, Array(index, element), Set, Bag, Queue or a Record",
            )


def _element(kind: Any, what: str, fail: Fail) -> Type:
    """A type whose values a set or bag can hold."""
    found = ir_type(kind, fail)
    single = not isinstance(found, OptT | SetT | ArrayT)
    if not single or any(shape != "record" for shape in _shapes(found)):
        raise fail(
            f"{found} cannot be the element of {what}",
            "elements are single values, or records of single values, optionals and small sets",
            "use a sort, an enumeration, Bool, Int(lo, hi), or a Record of these",
        )
    return _bounded(found, MAX_INDEX, what, fail)


def _size(size: Callable[[], int], what: str, fail: Fail) -> int:
    try:
        number = size()
    except TypeError as problem:
        raise fail(
            str(problem),
            "how much it can hold is a number, a sort (its size), a number parameter (its value), or + - * // of these",
            "write a number from 1 on",
        ) from None
    if not 1 <= number <= MAX_INDEX:
        raise fail(
            f"{what} for {number} elements",
            f"{what} has room for 1 to {MAX_INDEX} elements, or copies of one",
            "a state is finite, so say how many there can be at once",
        )
    return number


def _int_type(kind: Int, fail: Fail) -> IntT:
    try:
        lo, hi = kind.bounds()
    except TypeError as problem:
        raise fail(
            str(problem),
            "bounds are numbers, sorts (their size), number parameters (their value), and + - * // of these",
            "write Int(0, 3), Int(0, 2 * Page) or Int(0, Config.limit)",
        ) from None
    if lo > hi or max(abs(lo), abs(hi)) > MAX_INT:
        raise fail(
            f"Int({lo}, {hi}) has no values, or too large ones",
            f"bounds are in order and at most {MAX_INT} in size",
            "write the smallest bound first",
        )
    return IntT(lo, hi)


def _bounded(kind: Type, most: int, what: str, fail: Fail) -> Type:
    if value_count(kind) > most:
        raise fail(
            f"{kind} has more than {most} values, too many for {what}",
            "an action is unrolled over all values of its parameters"
            if what == "a parameter"
            else f"the state is a bit vector; {what} of this type has one entry for each of them",
            "use a smaller type or a smaller scope",
        )
    return kind


def record_type(cls: type[Record]) -> RecordT:
    """The record type of a state class, with errors placed at the annotation."""
    if not (isinstance(cls, type) and issubclass(cls, Record)):
        raise KvError(
            "KV117",
            f"{getattr(cls, '__name__', repr(cls))} is no state class",
            reason="a state is a class with annotated fields",
            cure="write class State(Record): and Model(..., state=State)",
        )
    try:
        fields = field_types(cls)
    except KvError:
        raise
    except Exception as problem:
        raise _class_error(cls, _broken_field(cls), "KV117")(
            f"an annotation of {cls.__name__} cannot be evaluated: {problem}",
            "annotations are ordinary Python, evaluated when the model is read",
            "check the names in the class's annotations",
        ) from problem
    if not fields:
        raise _class_error(cls, None, "KV117")(
            f"{cls.__name__} has no fields",
            "a state is made of annotated fields",
            "write fields as `name: Type`",
        )
    for name in fields:
        if hasattr(cls, name):
            raise _class_error(cls, name, "KV117")(
                f"field {name!r} of {cls.__name__} has a default",
                "every field starts at the zero of its type, so a default would be ignored",
                "drop it, and set the field in a function decorated with @init",
            )
    for name, kind in fields.items():
        if cls in _records_of(kind, set()):
            raise _class_error(cls, name, "KV117")(
                f"{cls.__name__} contains itself",
                "a state is finite, and this one would have no end",
                "hold the index of another record: Opt(Req)",
            )
    return RecordT(cls.__name__, tuple((n, ir_type(k, _class_error(cls, n, "KV117"))) for n, k in fields.items()))


def _records_of(kind: Any, seen: set[Any]) -> set[Any]:
    """All record classes that a type mentions, however deep."""
    if isinstance(kind, Array | Set | Bag | Queue):
        return _records_of(kind.element, seen)
    if isinstance(kind, type) and issubclass(kind, Record) and kind not in seen:
        seen.add(kind)
        for inner in _fields(kind).values():
            _records_of(inner, seen)
    return seen


def _fields(cls: type[Record]) -> dict[str, Any]:
    """Its fields; if an annotation is broken, none: that is found when the class itself is translated."""
    try:
        return field_types(cls)
    except Exception:
        return {}


def _broken_field(cls: type) -> str | None:
    """The first field whose annotation cannot be evaluated."""
    for klass in reversed(cls.__mro__):
        for name, text in vars(klass).get("__annotations__", {}).items():
            try:
                eval(text, dict(vars(sys.modules[klass.__module__]))) if isinstance(text, str) else text
            except Exception:
                return str(name)
    return None


def _class_error(cls: type, field: str | None, code: str) -> Fail:
    """An error at the class, or at the annotation of one of its fields."""

    def fail(message: str, reason: str, cure: str) -> KvError:
        try:
            path = inspect.getsourcefile(cls)
        except TypeError:
            path = None
        if path is None:
            return KvError(code, message, reason=reason, cure=cure)
        source = load(Path(path))
        node = _class_node(source, cls.__name__, field)
        loc = source.loc(node) if node else None
        line = source.lines[loc.line - 1] if loc else ""
        return KvError(code, message, reason=reason, cure=cure, loc=loc, line=line)

    return fail


def _class_node(source: SourceFile, name: str, field: str | None) -> ast.AST | None:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id == field:
                    return item.annotation
            return node
    return None
