"""Records and arrays as values: one expression for each leaf."""

from __future__ import annotations

import ast
from typing import Any, NoReturn, TypeGuard

from kvproto.diagnostics import Loc, did_you_mean
from kvproto.ir.nodes import Binary, Cond, Const, Expr, Place, Read
from kvproto.ir.types import ArrayT, RecordT, SetT, Type, leaf_count, leaves, values_of, zero_of
from kvproto.lang.binding import shapes
from kvproto.lang.frontend.core import BOOL
from kvproto.lang.frontend.meeting import Meeting, parts_of
from kvproto.lang.frontend.typing import record_type
from kvproto.lang.frontend.values import Alias, Bundle, Found, Operand
from kvproto.lang.native import Record

MAX_CHAIN = 64
"""An array that is a value, and no place of the state, is asked for its elements one by one."""


class Bundles(Meeting):
    """Parts of records and arrays, construction, alternatives."""

    def at(self, place: Place) -> Operand:
        """A place as an operand: an alias for parts of the state that can change under a name, else its value."""
        if isinstance(place.type, RecordT | ArrayT | SetT):
            return Alias(place)
        return Read(place.type, place, place.loc)

    def field(self, found: Alias | Bundle, name: str, node: ast.AST) -> Operand:
        """A field of a record that has it."""
        record = kind_of(found)
        assert isinstance(record, RecordT)
        inner = dict(record.fields)[name]
        if isinstance(found, Alias):
            return self.at(Place(inner, (*found.place.steps, name), self.loc(node)))
        first = 0
        for other, kind in record.fields:
            if other == name:
                break
            first += leaf_count(kind)
        return self._piece(found, inner, first)

    def item(self, found: Alias | Bundle, index: Expr, node: ast.AST) -> Operand:
        """An element of an array; the index is of its index type."""
        array = kind_of(found)
        assert isinstance(array, ArrayT)
        if isinstance(found, Alias):
            return self.at(Place(array.element, (*found.place.steps, index), self.loc(node)))
        values, size = values_of(array.index), leaf_count(array.element)
        if isinstance(index, Const):
            shapes([index.parameter], node)
            return self._piece(found, array.element, values.index(index.value) * size)
        if len(values) > MAX_CHAIN:
            self.fail(
                "KV135",
                node,
                f"an element of an array of {len(values)} that is no part of the state",
                f"arrays as values are taken apart, so those with computed indices have at most {MAX_CHAIN} elements",
                "store the array in the state first",
            )
        at = self.named(self.sure(index))
        chosen: Operand = self._piece(found, array.element, (len(values) - 1) * size)
        for number, value in reversed(list(enumerate(values[:-1]))):
            here = Binary(BOOL, "==", at, Const(array.index, value, at.loc), at.loc)
            piece = self._piece(found, array.element, number * size)
            chosen = self.alternatives(here, piece, chosen, array.element, node)  # type: ignore[arg-type]
        return chosen

    @staticmethod
    def _piece(found: Bundle, kind: Type, first: int) -> Found:
        if not isinstance(kind, RecordT | ArrayT):
            return found.parts[first]
        return Bundle(kind, found.parts[first : first + leaf_count(kind)], found.loc, found.borrowed)

    def alternatives(self, test: Expr, one: Found, other: Found, kind: Type, node: ast.AST) -> Found:
        """`one if test else other`, both of type `kind`."""
        loc = self.loc(node)
        if not isinstance(kind, RecordT | ArrayT):
            (then,), (orelse,) = parts_of(one), parts_of(other)
            return Cond(kind, test, then, orelse, loc)
        test = self.named(test)
        assert isinstance(one, Bundle) and isinstance(other, Bundle)
        pairs = zip(one.parts, other.parts, strict=True)
        parts = tuple(a if a == b else Cond(a.type, test, a, b, loc) for a, b in pairs)
        return Bundle(kind, parts, loc, one.borrowed or other.borrowed)

    def zero(self, kind: Type, loc: Loc) -> Found:
        """The value that a variable of this type starts with."""
        parts = tuple(Const(leaf, zero_of(leaf), loc) for _, leaf in leaves(kind))
        return Bundle(kind, parts, loc) if isinstance(kind, RecordT | ArrayT) else parts[0]

    def construct(self, cls: type[Record], node: ast.Call) -> Bundle:
        """`Msg(kind=Kind.ACK, r=r)`: fields that are not given are zero."""
        kind, loc = record_type(cls), self.loc(node)
        if node.args or any(k.arg is None for k in node.keywords):
            self.fail(
                "KV111",
                node,
                f"{cls.__name__}(...) takes its fields by name",
                "a record is made of named fields, and those that are not given start at zero",
                f"write {cls.__name__}({kind.fields[0][0]}=...)",
            )
        given = {k.arg: k.value for k in node.keywords if k.arg is not None}
        known = dict(kind.fields)
        for keyword in node.keywords:
            if keyword.arg not in known:
                self.no_field(kind, str(keyword.arg), keyword.value)
        values = {name: self._given(known[name], name, value) for name, value in given.items()}
        parts = [part for name, inner in kind.fields for part in parts_of(values.get(name) or self.zero(inner, loc))]
        return Bundle(kind, tuple(parts), loc)

    def _given(self, kind: Type, name: str, node: ast.expr) -> Found:
        return self.fit(self.expected(node, kind), kind, node, repr(name))

    def expected(self, node: ast.expr, wanted: Type) -> Found:
        """A value whose type is known from where it goes: alternatives need not agree among themselves."""
        if not isinstance(node, ast.IfExp):
            return self.anything(node)
        test = self.truth(node.test)

        def side(part: ast.expr) -> Found:
            return self.coerce_any(self.expected(part, wanted), wanted, part, "this side")

        then, orelse = (self.scoped(lambda part=part: side(part)) for part in (node.body, node.orelse))  # type: ignore[misc]
        return self.alternatives(test, then, orelse, wanted, node)

    def no_field(self, kind: RecordT, name: str, node: ast.AST) -> NoReturn:
        """KV106: a field that a record does not have."""
        known = [field for field, _ in kind.fields]
        self.fail(
            "KV106",
            node,
            f"{kind} has no field {name!r}{did_you_mean(name, known)}",
            "fields are declared by annotations in the state class",
            f"use one of: {', '.join(known)}",
        )


def kind_of(found: Alias | Bundle) -> Type:
    """The type of a part of the state, or of a record or array."""
    return found.place.type if isinstance(found, Alias) else found.type


def is_record_class(found: Any) -> TypeGuard[type[Record]]:
    """Whether a Python object is a record class of the model."""
    return isinstance(found, type) and issubclass(found, Record) and found is not Record
