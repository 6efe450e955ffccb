"""Values of both readings: leaves of the IR's flat state, and what plain Python holds."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Args
from kvproto.ir.nodes import Param
from kvproto.ir.shapes import elements_of
from kvproto.ir.types import ArrayT, RecordT, Type, Value, leaves, values_of, zero_of
from kvproto.lang.frontend.typing import ir_type
from kvproto.lang.native import Record, field_types, zero
from kvproto.lang.sorts import Array, Bag, Opt, Queue, Set


def flat(kind: Type, value: Any) -> Iterator[Value]:
    """The leaves of a native value of a type of the IR."""
    match kind:
        case RecordT(shape="queue", element=element):
            assert element is not None
            slots = kind.get("slots")
            assert isinstance(slots, ArrayT)
            yield len(value)
            for item in value:
                yield from flat(element, item)
            for _ in range(len(values_of(slots.index)) - len(value)):
                yield from (zero_of(leaf) for _, leaf in leaves(element))
        case RecordT(shape="set" | "bag" as shape, element=element):
            assert element is not None
            held = {tuple(flat(element, item)): value.count(item) if shape == "bag" else True for item in value}
            for item in elements_of(element):
                yield held.get(item, 0 if shape == "bag" else False)
        case RecordT():
            for name, inner in kind.fields:
                yield from flat(inner, getattr(value, name))
        case ArrayT():
            for cell in value:
                yield from flat(kind.element, cell)
        case _:
            yield as_ours(value)


def built(kind: Type, native: Any, parts: Iterator[Value]) -> Any:
    """The native value of a type (`native`, as the model writes it) that has these leaves."""
    match kind:
        case RecordT(shape="queue", element=element):
            assert element is not None and isinstance(native, Queue)
            line, length = zero(native), next(parts)
            assert isinstance(length, int)
            slots = kind.get("slots")
            assert isinstance(slots, ArrayT)
            items = [built(element, native.element, parts) for _ in values_of(slots.index)]
            for item in items[:length]:
                line.append(item)
            return line
        case RecordT(shape="set" | "bag", element=element):
            assert element is not None and isinstance(native, Set | Bag)
            held = zero(native)
            for item in elements_of(element):
                for _ in range(int(next(parts))):  # type: ignore[arg-type]
                    held.add(built(element, native.element, iter(item)))
            return held
        case RecordT():
            record = native()
            types = field_types(native)
            for name, inner in kind.fields:
                setattr(record, name, built(inner, types[name], parts))
            return record
        case ArrayT():
            assert isinstance(native, Array)
            cells = zero(native)
            for key in values_of(kind.index):
                cells[as_native(key, native.index)] = built(kind.element, native.element, parts)
            return cells
        case _:
            return as_native(next(parts), native)


def arguments(params: tuple[Param, ...], args: Args, kinds: dict[str, tuple[Type, Any]]) -> list[Any]:
    """Native arguments of a function from those of the IR, where a record is taken apart.

    `kinds` gives the type of each parameter of the function in both readings.
    """
    parts = iter(args)
    found = [built(kind, native, parts) for kind, native in kinds.values()]
    assert not list(parts) and len(args) == len(params)
    return found


def parameter_kinds(fn: Any) -> dict[str, tuple[Type, Any]]:
    """The types of a function's parameters after the state, in both readings."""
    natives = inspect.get_annotations(fn, eval_str=True)
    names = list(inspect.signature(fn).parameters)[1:]
    return {name: (ir_type(natives[name], _unwanted), natives[name]) for name in names}


def _unwanted(message: str, reason: str, cure: str) -> KvError:
    raise AssertionError(message)


def as_native(value: Any, kind: Any) -> Any:
    """A leaf of the IR as plain Python has it."""
    match kind:
        case Opt():
            return None if value is None else as_native(value, kind.inner)
        case Set():
            held = zero(kind)
            for item in value:
                held.add(as_native(item, kind.element))
            return held
        case type() if issubclass(kind, Enum):
            return kind[value]
        case _:
            return value


def as_ours(value: Any) -> Any:
    """A leaf of plain Python as the IR has it."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, set | frozenset):
        return frozenset(as_ours(v) for v in value)
    return value


def record_of(kind: RecordT, native: type[Record], state: tuple[Value, ...]) -> Any:
    """The native record with that flat state."""
    return built(kind, native, iter(state))
