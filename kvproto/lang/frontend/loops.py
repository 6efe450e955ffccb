"""What loops run over, and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import cast

from kvproto.ir.fold import fold_expr
from kvproto.ir.nodes import Const, Domain, Expr, Let, Local, Quant, QuantOp, Read, Unary
from kvproto.ir.shapes import dimensions, elements_of, large_set, shape_of, value_count
from kvproto.ir.types import (
    MAX_SET,
    ArrayT,
    BoolT,
    IntT,
    LeafT,
    RecordT,
    ScalarT,
    SetT,
    Type,
    cardinality,
    scalars_of,
    values_of,
)
from kvproto.ir.walk import can_fault, replaced, subexpressions
from kvproto.lang.frontend.bundles import kind_of
from kvproto.lang.frontend.containers import LARGE, Containers, Source
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.meeting import parts_of
from kvproto.lang.frontend.typing import MAX_INDEX, enum_type, sort_type
from kvproto.lang.frontend.values import Alias, Binding, Bundle, Fixed, Found, Static, leaf_names
from kvproto.lang.sorts import Sort

Generators = ast.GeneratorExp | ast.ListComp | ast.SetComp

MAX_COLLECTED = 1 << 17
"""Rounds of a comprehension times possible elements of the set that it makes."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that has been entered: its source name and what that meant before, its IR variables."""

    name: str
    before: Binding | None
    variables: tuple[Local, ...]
    source: Source


@dataclass(frozen=True, slots=True, repr=False)
class Subsets:
    """`subsets(...)`: all sets of elements of a type; `within` is a set that they are subsets of, if it is not all."""

    element: ScalarT
    within: Expr | None

    def __repr__(self) -> str:
        return f"subsets({self.element})"


class Loops(Containers):
    """Translates domains and comprehensions."""

    # --- domains --------------------------------------------------------------------------------------

    def source(self, node: ast.expr, *, at_once: bool = False) -> Source:
        """What a loop ranges over; `at_once` says that a set which is no variable is computed before the loop."""
        found = self.operand(node)
        if isinstance(found, Static):
            static = self._static_source(found, node)
            if static is not None:
                return static
        elif isinstance(found, Alias) and shape_of(found.place.type) in ("queue", *LARGE):
            return self.elements(self.freeze(found), node)
        elif isinstance(found, Bundle) and shape_of(found.type) in LARGE:
            return self.elements(found, node)
        elif isinstance(kind := kind_of(found) if isinstance(found, Alias) else found.type, SetT):
            members = self.value(found, node)
            if at_once and not isinstance(members, Read):
                members = self.named(members)
            return self._members(self.bounded_set(kind, node), members, node)
        self.fail(
            "KV110",
            node,
            "this cannot be looped over",
            "loops run over sorts, enumerations, ranges, sets, bags, queues and tuples of constants",
            "loop over the index sort of an array: `for r in Req: ... s.req[r]`",
        )

    def _members(self, kind: SetT, members: Expr, node: ast.AST) -> Source:
        domain = Domain(kind.element, scalars_of(kind.element), True, self.loc(node))
        return Source((domain,), kind.element, lambda at: self.binary("in", at[0], members, BOOL, node))

    def _static_source(self, found: Static, node: ast.expr) -> Source | None:
        kind, loc = found.value, self.loc(node)
        if isinstance(kind, Subsets):
            return self._subsets(kind, node)
        domain = None
        if isinstance(kind, Sort):
            sort = sort_type(kind)
            domain = Domain(sort, scalars_of(sort), True, loc)
        elif isinstance(kind, type) and issubclass(kind, Enum):
            domain = Domain(enum_type(kind), enum_type(kind).members, True, loc)
        elif isinstance(kind, range):
            low, high = (min(kind), max(kind)) if kind else (0, 0)
            domain = Domain(IntT(low, high), tuple(kind), False, loc)
        elif isinstance(kind, tuple) and kind and all(isinstance(item, Const) for item in kind):
            domain = self._tuple_domain(kind, node)
        return None if domain is None else Source((domain,), domain.type, None)

    def _subsets(self, found: Subsets, node: ast.expr) -> Source:
        kind = SetT(found.element)
        if cardinality(found.element) > MAX_INDEX.bit_length() - 1:
            self.fail(
                "KV110",
                node,
                f"all subsets of {found.element}, which has {cardinality(found.element)} values",
                f"loops are unrolled, and run over at most {MAX_INDEX} values",
                "use a smaller scope, or loop over the elements",
            )
        within = found.within
        domain = Domain(kind, values_of(kind), within is None, self.loc(node))
        if within is None:
            return Source((domain,), kind, None)
        return Source((domain,), kind, lambda at: self.binary("subset", at[0], within, BOOL, node))

    def _tuple_domain(self, items: tuple[Const, ...], node: ast.expr) -> Domain:
        kind = self.meet([(item, node) for item in items])
        if isinstance(kind, IntT):
            numbers = [item.value for item in items if isinstance(item.value, int)]
            kind = IntT(min(numbers), max(numbers))
        kind = self.single(kind, node, "an element of a tuple to loop over")
        return Domain(kind, tuple(item.value for item in items), False, self.loc(node))

    # --- loop variables -------------------------------------------------------------------------------

    def enter_loop(self, target: ast.expr, source: Source) -> Loop:
        """Bind a loop variable."""
        if not isinstance(target, ast.Name):
            self.fail(
                "KV124",
                target,
                "a loop variable must be a single name",
                "tuples are no values of a model",
                "write nested loops",
            )
        base, before = self.fresh(target.id), self.frame.names.get(target.id)
        direct = source.item is None
        names = leaf_names(base, source.kind) if direct and isinstance(source.kind, RecordT | ArrayT) else [base]
        pairs = zip(names, source.domains, strict=True)
        variables = tuple(Local(domain.type, name, domain.loc) for name, domain in pairs)
        self.fixed.update(names)
        if source.item is None:
            self.frame.names[target.id] = self.parameter(base, source.kind)
        else:
            self.frame.names[target.id] = Fixed(source.item(variables))
        return Loop(target.id, before, variables, source)

    def leave_loop(self, loop: Loop) -> None:
        """Forget a loop variable."""
        if loop.before is None:
            del self.frame.names[loop.name]
        else:
            self.frame.names[loop.name] = loop.before

    # --- comprehensions -------------------------------------------------------------------------------

    def comprehension(self, op: str, node: ast.expr, default: ast.expr | None = None) -> Found:
        """`op(body for ... in ... if ...)`, one quantifier for each `for`."""
        assert isinstance(node, Generators)
        if op in ("first", "min", "max") and len(node.generators) != 1:
            name = "next" if op == "first" else op
            reason = "one loop gives one candidate a round"
            self.fail("KV110", node, f"two loops inside one {name}", reason, "nest two calls")
        if op == "set":
            return self._collection(node)
        return self._generators(op, node, 0, default, lambda: self._element(op, node.elt))

    def _generators(
        self, op: str, node: Generators, at: int, default: ast.expr | None, element: Callable[[], Found]
    ) -> Found:
        if at == len(node.generators):
            return element()
        part = node.generators[at]
        loop = self.enter_loop(part.target, self.source(part.iter))
        where = self.inside(loop)
        where += [self.scoped(lambda t=test: self.truth(t)) for test in part.ifs]  # type: ignore[misc]
        body = self.scoped(lambda: self._generators(op, node, at + 1, default, element))
        self.leave_loop(loop)
        guard = self.logic("and", where, node) if where else None
        return self._quantifier(op, loop, guard, body, default, node)

    def inside(self, loop: Loop) -> list[Expr]:
        """The condition under which a turn counts, if there is one."""
        asked = loop.source.inside
        return [] if asked is None else [self.scoped(lambda: asked(loop.variables))]

    def _element(self, op: str, elt: ast.expr) -> Found:
        if op in ("any", "all"):
            return self.truth(elt)
        if op == "count":
            one, counted = Const(IntT(1, 1), 1, self.loc(elt)), self.anything(elt)
            if isinstance(counted, Bundle) or not can_fault(counted):
                return one
            return Let(one.type, self.fresh("counted"), counted, one, one.loc)
        if op == "first":
            return self.anything(elt)
        found = self.expr(elt)
        if op == "sum" and isinstance(found.type, BoolT):
            return Unary(IntT(0, 1), "int", found, found.loc)
        return self.as_integer(found, elt)

    def _quantifier(
        self, op: str, loop: Loop, where: Expr | None, body: Found, default: ast.expr | None, node: ast.expr
    ) -> Found:
        otherwise = self.anything(default) if default is not None else None
        if default is None or otherwise is None:
            assert not isinstance(body, Bundle)
            kind: Type = body.type
            if op in ("any", "all"):
                kind = BOOL
            elif op == "set":
                kind = body.type if isinstance(body.type, SetT) else SetT(cast("ScalarT", body.type))
            elif op in ("sum", "count", "min", "max"):
                kind = INT
            return self._nested(op, loop.variables, loop.source.domains, where, body, None, kind, node)
        kind = self.meet([(body, node), (otherwise, default)])
        one = self.coerce_any(body, kind, node, "the element")
        other = self.coerce_any(otherwise, kind, default, "the default")
        parts = tuple(
            self._nested(op, loop.variables, loop.source.domains, where, a, b, a.type, node)
            for a, b in zip(parts_of(one), parts_of(other), strict=True)
        )
        if not isinstance(one, Bundle):
            return replace(parts[0], type=kind)
        assert isinstance(other, Bundle)
        return Bundle(one.type, parts, one.loc, one.borrowed or other.borrowed)

    def _nested(
        self,
        op: str,
        variables: Sequence[Local],
        domains: Sequence[Domain],
        where: Expr | None,
        body: Expr,
        default: Expr | None,
        kind: Type,
        node: ast.expr,
    ) -> Quant:
        """One quantifier for each IR variable of a loop."""
        ir_op = cast("QuantOp", "sum" if op == "count" else op)
        loc, name = self.loc(node), variables[0].name
        if len(variables) == 1:
            return Quant(kind, ir_op, name, domains[0], where, body, default, loc)
        chooses = op in ("first", "min", "max")
        dummy = self.zero(kind, loc) if chooses and not isinstance(kind, IntT) else Const(INT, 0, loc)
        inner = self._nested(
            op, variables[1:], domains[1:], where, body, cast("Expr", dummy) if chooses else None, kind, node
        )
        outer: Expr | None = None
        if chooses and where is not None:  # only where the inner quantifier finds something
            always = Const(BOOL, True, loc)
            outer = self._nested("any", variables[1:], domains[1:], where, always, None, BOOL, node)
        return Quant(kind, ir_op, name, domains[0], outer, inner, default, loc)

    # --- sets -----------------------------------------------------------------------------------------

    def _collection(self, node: Generators) -> Found:
        """`{body for ...}`."""
        kind = self._element_type(node)
        record = isinstance(kind, RecordT) and kind.shape == "record"
        if record or (isinstance(kind, ScalarT) and not _open(kind) and cardinality(kind) > MAX_SET):
            return self._large_collection(node, kind)
        if not isinstance(kind, SetT):
            self.bounded_set(SetT(self.single(kind, node.elt, "an element of a set")), node.elt)
        return self._generators("set", node, 0, None, lambda: self.anything(node.elt))

    def _element_type(self, node: Generators) -> Type:
        """The type of what a comprehension collects; whatever is translated on the way is forgotten."""
        kinds: list[Type] = []

        def element() -> Expr:
            kinds.append(self.anything(node.elt).type)
            return Const(BOOL, True, self.loc(node))

        numbers = self._fresh
        self.scoped(lambda: self._generators("any", node, 0, None, element))
        self._fresh = numbers
        return kinds[0]

    def _large_collection(self, node: Generators, kind: Type) -> Bundle:
        """A set with one boolean for each possible element: is there a round that gives it?"""
        kind = self.element_record(kind, node) if isinstance(kind, RecordT) else kind
        hole = Const(BOOL, True, self.loc(node))
        found: list[Found] = []

        def element() -> Expr:
            found.append(self.anything(node.elt))
            return hole

        rounds = self._generators("any", node, 0, None, element)
        assert not isinstance(rounds, Bundle)
        if _rounds(rounds) * value_count(kind) > MAX_COLLECTED:
            self.fail(
                "KV135",
                node,
                f"a set of {kind} collected in {_rounds(rounds)} rounds is too large to unroll",
                "each possible element is compared with what each round gives",
                "add the elements in a `for` loop",
            )
        dims, nothing = dimensions(kind), Const(BOOL, False, hole.loc)
        chosen = _filtered(rounds, hole, found[0], dims)
        parts: list[Expr] = []
        for values in elements_of(kind):
            if chosen is not None:
                consts = (Const(dim, value, hole.loc) for dim, value in zip(dims, values, strict=True))
                parts.append(fold_expr(chosen[1], dict(zip(chosen[0], consts, strict=True))))
            else:
                parts.append(replaced(rounds, hole, self.is_element(found[0], dims, values, node) or nothing))
        return Bundle(large_set(kind), tuple(parts), self.loc(node))


def _open(kind: Type) -> bool:
    """A number without bounds."""
    return isinstance(kind, IntT) and (kind.lo is None or kind.hi is None)


def _rounds(expr: Expr) -> int:
    """How often the innermost body of nested quantifiers is evaluated."""
    total = 1
    for part in subexpressions(expr):
        if isinstance(part, Quant) and part.op == "any":
            total *= max(1, len(part.domain.values))
    return total


def _filtered(
    rounds: Expr, hole: Expr, element: Found, dims: Sequence[LeafT]
) -> tuple[list[str], Expr] | None:
    """For `{m for m in ... if ...}`: the variables that make up `m`, and the condition on them."""
    names: list[str] = []
    while isinstance(rounds, Quant) and rounds.domain.values == values_of(dims[len(names)]):
        names.append(rounds.var)
        if len(names) == len(dims):
            wanted = [part.name for part in parts_of(element) if isinstance(part, Local)]
            whole = rounds.body is hole and names == wanted
            return (names, rounds.where or hole) if whole else None
        if rounds.where is not None:
            return None
        rounds = rounds.body
    return None
