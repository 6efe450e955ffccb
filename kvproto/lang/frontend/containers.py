"""Queues, bags and large sets in expressions: what they hold, element by element."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from kvproto.ir.nodes import Checked, Const, Domain, Expr, Local, Quant, QuantOp, Unary
from kvproto.ir.shapes import dimensions, shape_of
from kvproto.ir.types import ArrayT, IntT, LeafT, OptT, RecordT, SetT, Type, values_of
from kvproto.lang.frontend.bundles import kind_of
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.meeting import parts_of
from kvproto.lang.frontend.tables import Tables
from kvproto.lang.frontend.values import Alias, Bundle, Found, Operand

LARGE = ("set", "bag")
Composite = RecordT | ArrayT | SetT


@dataclass(frozen=True, slots=True)
class Source:
    """What a loop runs over: one IR loop for each domain, the first outermost.

    `inside` is the condition under which a turn counts, None if every turn does.  `item` is what the loop variable
    stands for in a turn; None says that the IR loop variables are its leaves.
    """

    domains: tuple[Domain, ...]
    kind: Type
    inside: Callable[[Sequence[Local]], Expr] | None
    item: Callable[[Sequence[Local]], Found] | None = None


class Containers(Tables):
    """Translates what queues, bags and large sets are asked."""

    # --- sets and bags --------------------------------------------------------------------------------

    def entry(self, found: Alias | Bundle, indices: Sequence[Expr], node: ast.AST) -> Operand:
        """What a set or bag says of one element: a boolean or a number."""
        kind = kind_of(found)
        assert isinstance(kind, RecordT) and kind.shape in LARGE
        inner = self.field(found, kind.fields[0][0], node)
        for index in indices:
            assert isinstance(inner, Alias | Bundle)
            inner = self.item(inner, index, node)
        return inner

    def indices(self, element: Found, kind: Type, node: ast.AST) -> list[Expr]:
        """The indices of an element that belongs to the element type."""
        pairs = zip(parts_of(element), dimensions(kind), strict=True)
        return [self.index(part, dim, node) if isinstance(dim, IntT) else part for part, dim in pairs]

    def contains(self, found: Alias | Bundle, element: Found, written: ast.expr, node: ast.AST) -> Expr:
        """`element in found`, which is a queue, a bag or a large set."""
        record = kind_of(found)
        assert isinstance(record, RecordT) and record.element is not None
        if record.shape == "queue":
            return self._in_queue(found, element, written, node)
        kind = record.element
        tests: list[Expr] = []
        if not isinstance(element, Bundle):
            element = self.named(element)
            if isinstance(element.type, OptT) and not isinstance(kind, OptT):  # None is in no set
                tests.append(self.negate(Unary(BOOL, "is_none", element, element.loc)))

        def there() -> Expr:
            item = self.coerce_any(element, kind, written, "the element")
            within = self._belongs(item, kind, node)
            asked = self.scoped(lambda: self.value(self.entry(found, self.indices(item, kind, node), node), node))
            return self.logic("and", [*within, self._counts(asked, node)], node)

        return self.logic("and", [*tests, self.scoped(there)], node)

    def _belongs(self, item: Found, kind: Type, node: ast.AST) -> list[Expr]:
        """A number outside of the element type is in no set."""
        if not isinstance(kind, IntT) or isinstance(item, Bundle | Const):
            return []
        low, high = (Const(INT, bound, item.loc) for bound in (kind.lo, kind.hi))
        return [self.binary("<=", low, item, BOOL, node), self.binary("<=", item, high, BOOL, node)]

    def _counts(self, entry: Expr, node: ast.AST) -> Expr:
        """Whether the entry of an element says that it is in."""
        if not isinstance(entry.type, IntT):
            return entry
        return self.binary("<", Const(INT, 0, entry.loc), entry, BOOL, node)

    def copies(self, found: Alias | Bundle, element: ast.expr, node: ast.AST) -> Expr:
        """`bag.count(element)`."""
        record = kind_of(found)
        assert isinstance(record, RecordT) and record.element is not None
        item = self.fit(self.anything(element), record.element, element, "the element")
        return self.value(self.entry(found, self.indices(item, record.element, node), node), node)

    def nonempty(self, found: Alias | Bundle, node: ast.AST) -> Expr | None:
        """Whether a large set or a bag has elements; None for everything else."""
        kind = kind_of(found)
        if shape_of(kind) == "queue":
            self.fail(
                "KV144",
                node,
                f"a value of type {kind} is used as a condition",
                "a guard that says how long a queue must be is easier to read",
                "write len(...) > 0",
            )
        if shape_of(kind) not in LARGE:
            return None
        return self._over_entries("any", found, lambda entry: self._counts(entry, node), node)

    def _over_entries(
        self, op: str, found: Alias | Bundle, body: Callable[[Expr], Expr], node: ast.AST
    ) -> Expr:
        """any or sum over what a set or bag says of all its elements."""
        if isinstance(found, Bundle):
            parts = [body(part) for part in found.parts]
            return self.logic("or", parts, node) if op == "any" else self.total(parts, node)
        found = self.freeze(found)
        source = self.elements(found, node)
        variables = [Local(d.type, self.fresh("e"), d.loc) for d in source.domains]
        self.fixed.update(v.name for v in variables)
        entry = body(self.value(self.entry(found, variables, node), node))
        for variable, domain in reversed(list(zip(variables, source.domains, strict=True))):
            kind, quant = (BOOL, "any") if op == "any" else (INT, "sum")
            entry = Quant(kind, cast("QuantOp", quant), variable.name, domain, None, entry, None, self.loc(node))
        return entry

    def total(self, numbers: Sequence[Expr], node: ast.AST) -> Expr:
        """Their sum."""
        if len(numbers) == 1:
            return numbers[0]
        half = len(numbers) // 2
        return self.binary("+", self.total(numbers[:half], node), self.total(numbers[half:], node), INT, node)

    # --- queues ---------------------------------------------------------------------------------------

    def length(self, found: Alias | Bundle, node: ast.AST) -> Expr | None:
        """`len(found)` of a queue, a bag or a large set; None for everything else."""
        kind = kind_of(found)
        if shape_of(kind) == "queue":
            return self.value(self.field(found, "length", node), node)
        if shape_of(kind) not in LARGE:
            return None

        def one(entry: Expr) -> Expr:
            return entry if isinstance(entry.type, IntT) else Unary(IntT(0, 1), "int", entry, entry.loc)

        return self._over_entries("sum", found, one, node)

    def element(self, queue: Alias | Bundle, index: Expr, node: ast.AST) -> Found:
        """An element of a queue; a fault where there is none."""
        return self.slot(queue, self.place_in_line(queue, index, "KV202", node), node)

    def place_in_line(self, queue: Alias | Bundle, index: Expr, code: str, node: ast.AST) -> Expr:
        """An index of an element that a queue has now."""
        slots = self._slots(queue)
        if isinstance(index, Const):
            index = self.index(index, slots.index, node)
        at, length = self.named(index), self.length(queue, node)
        assert length is not None
        low = self.binary("<=", Const(INT, 0, at.loc), at, BOOL, node)
        inside = self.binary("<", at, length, BOOL, node)
        test = inside if isinstance(at, Const) else self.logic("and", [low, inside], node)
        message = "the queue is empty" if at == Const(at.type, 0, at.loc) else "there is no such element in the queue"
        return self.named(Checked(slots.index, test, at, code, message, self.loc(node)))

    def slot(self, queue: Alias | Bundle, index: Expr, node: ast.AST) -> Found:
        """What stands in a slot, as a value."""
        slots = self.field(queue, "slots", node)
        assert isinstance(slots, Alias | Bundle)
        found = self.item(slots, index, node)
        if isinstance(found, Alias) and isinstance(found.place.type, RecordT | ArrayT):
            return self.contents(found.place, node, borrowed=False)
        return self.whole(found, node)

    @staticmethod
    def _slots(queue: Alias | Bundle) -> ArrayT:
        kind = kind_of(queue)
        assert isinstance(kind, RecordT) and kind.shape == "queue"
        return cast("ArrayT", kind.get("slots"))

    def _in_queue(self, queue: Alias | Bundle, element: Found, written: ast.expr, node: ast.AST) -> Expr:
        kind = self._slots(queue).element
        item = self.coerce_any(element, kind, written, "the element") if isinstance(kind, Composite) else element
        item = item if isinstance(item, Bundle) else self.named(item)
        here = self.freeze(queue) if isinstance(queue, Alias) else queue
        source = self.elements(here, node)
        at = Local(source.domains[0].type, self.fresh("k"), self.loc(node))
        self.fixed.add(at.name)
        same = self.scoped(lambda: self.equal(self.slot(here, at, node), item, node))
        assert source.inside is not None
        return Quant(BOOL, "any", at.name, source.domains[0], source.inside([at]), same, None, self.loc(node))

    # --- loops ----------------------------------------------------------------------------------------

    def elements(self, found: Alias | Bundle, node: ast.AST) -> Source:
        """A queue, bag or large set as what a loop runs over."""
        kind, loc = kind_of(found), self.loc(node)
        assert isinstance(kind, RecordT) and kind.element is not None

        def whole(of: LeafT) -> Domain:
            return Domain(of, values_of(of), True, loc)

        if kind.shape == "queue":
            length = self.length(found, node)
            assert length is not None
            return Source(
                (whole(self._slots(found).index),),
                kind.element,
                lambda at: self.binary("<", at[0], length, BOOL, node),
                lambda at: self.slot(found, at[0], node),
            )

        def inside(at: Sequence[Local]) -> Expr:
            return self._counts(self.value(self.entry(found, at, node), node), node)

        return Source(tuple(whole(dim) for dim in dimensions(kind.element)), kind.element, inside)


