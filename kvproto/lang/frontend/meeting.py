"""How types meet: conversions, comparisons, alternatives, indices."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from kvproto.ir.nodes import Binary, Checked, Cond, Const, Expr, Local, Read, SetOf, ToIndex, Unary
from kvproto.ir.shapes import dimensions, elements_of
from kvproto.ir.types import (
    MAX_SET,
    ArrayT,
    BoolT,
    EnumT,
    IntT,
    LeafT,
    NoneT,
    OptT,
    RecordT,
    ScalarT,
    SetT,
    SortT,
    Type,
    Value,
    cardinality,
    fits,
)
from kvproto.ir.walk import fits_always
from kvproto.lang.binding import shapes
from kvproto.lang.frontend.core import BOOL, INT, Core
from kvproto.lang.frontend.values import Bundle, Found


class Meeting(Core):
    """The rules by which types meet."""

    # --- conversion -------------------------------------------------------------------------------------

    def coerce_any(self, found: Found, wanted: Type, node: ast.AST, what: str) -> Found:
        """`found` as a value of type `wanted`, which may be a record or an array."""
        if isinstance(wanted, RecordT | ArrayT):
            return self.coerce_whole(found, wanted, node, what)
        if isinstance(found, Bundle):
            self.mismatch(found.type, wanted, node, what)
        return self.coerce(found, wanted, node, what)

    def coerce_whole(self, found: Found, wanted: RecordT | ArrayT, node: ast.AST, what: str) -> Bundle:
        """`found` as a record or array; a literal becomes a set with many possible elements."""
        if isinstance(found, Bundle) and self.alike(found.type, wanted):
            return found if found.type == wanted else replace(found, type=wanted)
        if isinstance(found, SetOf) and isinstance(wanted, RecordT) and wanted.shape == "set":
            assert wanted.element is not None
            items = [self.fit(item, wanted.element, node, "an element") for item in found.items]
            return self.set_of(wanted, items, node)
        self.mismatch(found.type, wanted, node, what)

    def set_of(self, kind: RecordT, items: Sequence[Found], node: ast.AST) -> Bundle:
        """The set with these elements, which are of its element type."""
        assert kind.element is not None
        dims = dimensions(kind.element)
        parts = []
        for values in elements_of(kind.element):
            same = [self.is_element(item, dims, values, node) for item in items]
            parts.append(self.logic("or", [s for s in same if s is not None], node))
        return Bundle(kind, tuple(parts), self.loc(node))

    def is_element(self, item: Found, dims: Sequence[LeafT], values: Sequence[Value], node: ast.AST) -> Expr | None:
        """Whether a value is this one; None if it visibly is not."""
        tests: list[Expr] = []
        for part, kind, value in zip(parts_of(item), dims, values, strict=True):
            if not isinstance(part, Const):
                tests.append(Binary(BOOL, "==", part, Const(kind, value, part.loc), part.loc))
                continue
            shapes([part.parameter], node)
            if part.value != value:
                return None
        return self.logic("and", tests, node)

    def fit(self, found: Found, wanted: Type, node: ast.AST, what: str) -> Found:
        """`found` as a value that belongs to the type, or a fault now."""
        value = self.coerce_any(found, wanted, node, what)
        if isinstance(value, Bundle):
            return value
        if isinstance(wanted, IntT) and not fits_always(value, wanted):
            number = self.named(value)
            low, high = (Const(INT, bound, value.loc) for bound in (wanted.lo, wanted.hi))
            inside = [Binary(BOOL, "<=", low, number, value.loc), Binary(BOOL, "<=", number, high, value.loc)]
            test = self.logic("and", inside, node)
            value = Checked(wanted, test, number, "KV201", f"value does not fit {wanted}", self.loc(node))
        return self.sure(value)

    def coerce(self, found: Expr, wanted: Type, node: ast.AST, what: str) -> Expr:
        """`found` as a value of type `wanted`, or KV107."""
        have = found.type
        if isinstance(have, NoneT) and isinstance(wanted, OptT):
            return Const(wanted, None, found.loc)
        if isinstance(wanted, OptT) and not isinstance(have, OptT):
            inner = self.coerce(found, wanted.inner, node, what)
            return Unary(wanted, "some", inner, found.loc)
        if isinstance(have, OptT) and not isinstance(wanted, OptT):
            inner = Unary(have.inner, "unwrap", found, found.loc)
            return self.coerce(inner, wanted, node, what)
        if isinstance(have, OptT) and isinstance(wanted, OptT) and have != wanted:
            return self._coerce_optional(found, have, wanted, node, what)
        if isinstance(have, SetT) and isinstance(wanted, SetT):
            return self._coerce_set(found, wanted, node, what)
        if isinstance(found, Const) and isinstance(have, IntT) and isinstance(wanted, IntT | SortT):
            return self._constant(found, wanted, node)
        if self.alike(have, wanted):
            return found
        self.mismatch(have, wanted, node, what)

    def _coerce_optional(self, found: Expr, have: OptT, wanted: OptT, node: ast.AST, what: str) -> Expr:
        """An optional number with other bounds: its value is checked when it is stored."""
        if not self.alike(have.inner, wanted.inner):
            self.mismatch(have, wanted, node, what)
        inside = Unary(wanted, "some", Unary(have.inner, "unwrap", found, found.loc), found.loc)
        nothing = Const(wanted, None, found.loc)
        return Cond(wanted, Unary(BOOL, "is_none", found, found.loc), nothing, inside, found.loc)

    def single(self, kind: Type, node: ast.AST, what: str) -> ScalarT:
        """The type as that of an element of something, or KV107."""
        if isinstance(kind, BoolT | IntT | SortT | EnumT):
            return kind
        self.fail(
            "KV107",
            node,
            f"{what} cannot have type {kind}",
            "elements are single values: booleans, numbers, members of enumerations, elements of sorts",
            "leave None out: `if x is not None`" if isinstance(kind, OptT | NoneT) else "name the elements themselves",
        )

    # --- sets -------------------------------------------------------------------------------------------

    def bounded_set(self, kind: SetT, node: ast.AST) -> SetT:
        """A set type whose elements can be enumerated, or KV135."""
        if isinstance(kind.element, IntT) and (kind.element.lo is None or kind.element.hi is None):
            self.fail(
                "KV135",
                node,
                "a set of numbers without bounds",
                "a set holds elements of a type with few values",
                "give it a type: numbers: Set(Int(0, 3)) = ..., or collect elements of a sort",
            )
        if cardinality(kind.element) > MAX_SET:
            self.fail(
                "KV135",
                node,
                f"a set of {kind.element} with more than {MAX_SET} possible elements as a value",
                "such a set is kept in the state, or in a local with a type",
                f"give it a type: chosen: Set({kind.element}) = ...",
            )
        return kind

    def mismatch(self, have: Type, wanted: Type, node: ast.AST, what: str) -> NoReturn:
        """KV107: a value of the wrong type."""
        self.fail(
            "KV107",
            node,
            f"{what} has type {have}, but {wanted} is needed here",
            "types must agree, so that every value fits its place in every reachable state",
            "use a value of the type that is needed" + (", or None" if isinstance(wanted, OptT) else ""),
        )

    @staticmethod
    def alike(one: Type, other: Type) -> bool:
        """Same type; two integers are alike whatever their bounds, since stores are checked, and arrays of them."""
        if isinstance(one, ArrayT) and isinstance(other, ArrayT):
            return one.index == other.index and Meeting.alike(one.element, other.element)
        return (isinstance(one, IntT) and isinstance(other, IntT)) or one == other

    def _constant(self, found: Const, wanted: IntT | SortT, node: ast.AST) -> Expr:
        if not fits(found.value, wanted):
            bounds = f"0..{wanted.size - 1}" if isinstance(wanted, SortT) else f"{wanted.lo}..{wanted.hi}"
            self.fail(
                "KV130",
                node,
                f"{found.value} is outside {wanted} ({bounds})",
                "a constant that never fits is a mistake in every scope like this one",
                "use a value inside the type, or widen the type",
            )
        return Const(wanted, found.value, found.loc, found.parameter)

    def _coerce_set(self, found: Expr, wanted: SetT, node: ast.AST, what: str) -> Expr:
        if isinstance(found, SetOf):
            items = tuple(self.coerce(item, wanted.element, node, "an element") for item in found.items)
            return SetOf(wanted, items, found.loc)
        if not self.alike(found.type, wanted):
            self.mismatch(found.type, wanted, node, what)
        return found

    # --- comparison -------------------------------------------------------------------------------------

    def equal(self, left: Found, right: Found, node: ast.AST) -> Expr:
        """`left == right` after both have met in one type."""
        if isinstance(left, Bundle) or isinstance(right, Bundle):
            return self._equal_wholes(left, right, node)
        loc = self.loc(node)
        if isinstance(right.type, NoneT) or isinstance(left.type, NoneT):
            tested = left if isinstance(right.type, NoneT) else right
            if isinstance(tested.type, OptT):
                return Unary(BOOL, "is_none", tested, loc)
            self.never_none(tested.type, node)
        if isinstance(left.type, SetT) and isinstance(right.type, SetT):
            return Binary(BOOL, "==", *self.same_sets(left, right, node), loc)
        if isinstance(left, Const) and not isinstance(right, Const):
            left, right = right, left
        if isinstance(right.type, OptT) and not isinstance(left.type, OptT):
            left, right = right, left
        if isinstance(left.type, OptT) and isinstance(right.type, OptT) and self.alike(left.type, right.type):
            return Binary(BOOL, "==", left, right, loc)
        if isinstance(left.type, OptT) and isinstance(left.type.inner, IntT):
            if isinstance(right.type, OptT):
                neither, same = Unary(BOOL, "is_none", left, loc), self._equal_number(left, right, node)
                return Cond(BOOL, Unary(BOOL, "is_none", right, loc), neither, same, loc)
            return self._equal_number(left, right, node)
        if isinstance(left.type, OptT):
            inner = self.coerce_compared(right, left.type.inner, node)
            return Binary(BOOL, "==", left, Unary(left.type, "some", inner, right.loc), loc)
        return Binary(BOOL, "==", left, self.coerce_compared(right, left.type, node), loc)

    def _equal_wholes(self, left: Found, right: Found, node: ast.AST) -> Expr:
        """Records or arrays are equal if all their leaves are."""
        one, other = (left, right) if isinstance(left, Bundle) else (right, left)
        assert isinstance(one, Bundle)
        if isinstance(other.type, NoneT):
            self.never_none(one.type, node)
        if not isinstance(other, SetOf) and not self.alike(one.type, other.type):
            self.differ(other.type, one.type, node)
        pairs = zip(one.parts, self.coerce_whole(other, one.type, node, "one side").parts, strict=True)
        return self.logic("and", [Binary(BOOL, "==", a, b, self.loc(node)) for a, b in pairs], node)

    def never_none(self, kind: Type, node: ast.AST) -> NoReturn:
        """KV133: a test for None of something that never is."""
        self.fail(
            "KV133",
            node,
            f"a value of type {kind} is compared with None",
            "only optional values can be None, so this test has one fixed answer",
            "make the variable Opt(...), or drop the test",
        )

    def differ(self, kind: Type, wanted: Type, node: ast.AST) -> NoReturn:
        """KV107: values that are never equal."""
        self.fail(
            "KV107",
            node,
            f"a value of type {wanted} is compared with one of type {kind}",
            "values of different types are never equal, so this test has one fixed answer",
            "compare values of one type",
        )

    def same_sets(self, left: Expr, right: Expr, node: ast.AST) -> tuple[Expr, Expr]:
        """Two sets of one type; a literal takes the type of the other side."""
        if isinstance(left, SetOf) and not (isinstance(right, SetOf) and left.items):
            return self.coerce(left, right.type, node, "the left side"), right
        return left, self.coerce(right, left.type, node, "the right side")

    def _equal_number(self, left: Expr, right: Expr, node: ast.AST) -> Expr:
        """An optional number and a number, which may lie outside the optional's bounds."""
        assert isinstance(left.type, OptT)
        loc = self.loc(node)
        there = self.negate(Unary(BOOL, "is_none", left, loc))
        inner = Unary(left.type.inner, "unwrap", left, loc)
        number = self.coerce_compared(right, left.type.inner, node)
        return self.once(number, lambda n: self.logic("and", [there, Binary(BOOL, "==", inner, n, loc)], node))

    def coerce_compared(self, found: Expr, wanted: Type, node: ast.AST) -> Expr:
        """Like `coerce`, but a number outside the other side's bounds just is not equal to it."""
        if isinstance(found.type, IntT) and isinstance(wanted, IntT):
            return found
        bare = found.type.inner if isinstance(found.type, OptT) else found.type
        element = isinstance(found, Const) and isinstance(bare, IntT) and isinstance(wanted, SortT)
        if not element and not self.alike(bare, wanted):
            self.differ(found.type, wanted, node)
        return self.coerce(found, wanted, node, "one side")

    # --- alternatives and indices -----------------------------------------------------------------------

    def meet(self, parts: Sequence[tuple[Found, ast.AST]]) -> Type:
        """The one type that several alternatives have: integers, an optional if one is None, else equal types."""
        kinds = [part.type for part, _ in parts]
        solid = [k for k in kinds if not isinstance(k, NoneT)]
        if not solid:
            return NoneT()
        optional = len(solid) < len(kinds) or any(isinstance(k, OptT) for k in solid)
        bare: list[Type] = [k.inner if isinstance(k, OptT) else k for k in solid]
        first = next((k for k in bare if not isinstance(k, IntT)), INT)
        for part, node in parts:
            inner = part.type.inner if isinstance(part.type, OptT) else part.type
            constant_index = isinstance(part, Const) and isinstance(inner, IntT) and isinstance(first, SortT)
            if not isinstance(inner, NoneT) and not self.alike(inner, first) and not constant_index:
                self.mismatch(part.type, first, node, "one alternative")
        if not optional:
            return first
        if isinstance(first, IntT):
            first = self._bounds_of(bare, parts)
        if not isinstance(first, BoolT | IntT | SortT | EnumT):
            self.mismatch(NoneT(), first, parts[0][1], "one alternative")
        return OptT(first)

    def _bounds_of(self, kinds: Sequence[Type], parts: Sequence[tuple[Found, ast.AST]]) -> IntT:
        """Bounds that hold all alternatives; an optional number needs them."""
        numbers = [(k.lo, k.hi) for k in kinds if isinstance(k, IntT) and k.lo is not None and k.hi is not None]
        if len(numbers) < len(kinds):
            self.fail(
                "KV135",
                parts[0][1],
                "an optional number without bounds",
                "one alternative is None and another is a computed number",
                "give it a type: x: Opt(Int(0, 3)) = ..., or store it in a variable of the state",
            )
        return IntT(min(lo for lo, _ in numbers), max(hi for _, hi in numbers))

    def index(self, found: Expr, wanted: LeafT, node: ast.AST) -> Expr:
        """An index of an array: an element of its sort, or a number that is checked to be one."""
        if isinstance(found.type, OptT):
            found = Unary(found.type.inner, "unwrap", found, found.loc)
        if isinstance(found.type, IntT) and isinstance(wanted, SortT | IntT):
            if isinstance(found, Const):
                return self._constant(found, wanted, node)
            sure = isinstance(found, Read) or (isinstance(found, Local) and found.name in self.fixed)
            same = sure and isinstance(wanted, IntT) and found.type == wanted
            return found if same else ToIndex(wanted, found, self.loc(node))
        return self.coerce(found, wanted, node, "the index")


def parts_of(found: Found) -> tuple[Expr, ...]:
    """The leaves of a value."""
    return found.parts if isinstance(found, Bundle) else (found,)
