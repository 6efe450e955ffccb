"""Statements that change a set, a bag or a queue, and stores of whole records and arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from kvproto.ir.nodes import Assign, BinaryOp, Checked, Cond, Const, Expr, For, Local, Place, Read, SetOf, Stmt
from kvproto.ir.printer import show_place
from kvproto.ir.shapes import shape_of
from kvproto.ir.types import ArrayT, BoolT, IntT, RecordT, SetT, Type, leaves
from kvproto.ir.walk import expressions, statements, subexpressions
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.inlining import Inlining
from kvproto.lang.frontend.loops import Loop
from kvproto.lang.frontend.meeting import parts_of
from kvproto.lang.frontend.values import Alias, Bundle, Found, leaf_names

METHODS = {
    "small set": ("add", "discard", "clear"),
    "set": ("add", "discard", "clear"),
    "bag": ("add", "discard", "clear"),
    "queue": ("append", "pop", "clear"),
}


class Mutations(Inlining):
    """Translates methods called in a line of their own."""

    def mutate(self, place: Place, node: ast.Call, func: ast.Attribute) -> None:
        """`s.held.add(p)` and its like."""
        kind, name = place.type, func.attr
        shape = "small set" if isinstance(kind, SetT) else shape_of(kind)
        if name not in METHODS.get(shape, ()):
            self._no_method(kind, node, func)
        fewest, most = {"clear": (0, 0), "pop": (0, 1)}.get(name, (1, 1))
        if not fewest <= len(node.args) <= most or node.keywords:
            self._wrong_arguments(node, func)
        if name == "clear":
            self._clear(place, node)
        elif isinstance(kind, SetT):
            self._change_small_set(place, kind, node, func)
        elif name == "append":
            self._append(Alias(place), node)
        elif name == "pop":
            self.pop(Alias(place), node, wanted=False)
        else:
            self._change_entry(place, node, func)

    def _no_method(self, kind: Type, node: ast.Call, func: ast.Attribute) -> NoReturn:
        shape = "set" if isinstance(kind, SetT) else shape_of(kind)
        cure = {
            "queue": "use append at the end, and pop(0) or pop(k)",
            "set": "use `discard` for `remove`" if func.attr == "remove" else "use |= and -= for several elements",
            "bag": "use `discard(x)`, which takes one copy out",
        }.get(shape, "assign the new value instead")
        self.fail(
            "KV111",
            node,
            f".{func.attr}(...) cannot be called on {kind}",
            "sets and bags of the state have add, discard and clear, queues append, pop and clear; "
            "nothing else has methods",
            cure,
        )

    def _wrong_arguments(self, node: ast.Call, func: ast.Attribute) -> NoReturn:
        self.fail(
            "KV111",
            node,
            f".{func.attr}(...) with {len(node.args)} arguments",
            "add, discard and append take one element, pop takes a position, clear takes none",
            "correct the call",
        )

    def _clear(self, place: Place, node: ast.AST) -> None:
        if isinstance(place.type, SetT):
            self.block.append(Assign(place, SetOf(place.type, (), self.loc(node)), self.loc(node)))
            return
        zero = self.zero(place.type, self.loc(node))
        assert isinstance(zero, Bundle)
        self.store_whole(place, zero, node)

    # --- sets and bags --------------------------------------------------------------------------------

    def _change_small_set(self, place: Place, kind: SetT, node: ast.Call, func: ast.Attribute) -> None:
        loc = self.loc(node)
        item = self.coerce(self.expr(node.args[0]), kind.element, node.args[0], "the element")
        op: BinaryOp = "union" if func.attr == "add" else "diff"
        value = self.binary(op, Read(kind, place, loc), SetOf(kind, (item,), loc), kind, node)
        self.block.append(Assign(place, value, loc))

    def _change_entry(self, place: Place, node: ast.Call, func: ast.Attribute) -> None:
        """add and discard on a large set or a bag."""
        assert isinstance(place.type, RecordT) and place.type.element is not None
        item = self.fit(self.anything(node.args[0]), place.type.element, node.args[0], "the element")
        self._enter(place, item, adding=func.attr == "add", node=node)

    def _enter(self, place: Place, item: Found, *, adding: bool, node: ast.AST) -> None:
        """Note that an element that belongs to the element type is in, once more, or not."""
        kind, loc = place.type, self.loc(node)
        assert isinstance(kind, RecordT) and kind.element is not None
        name, inner = kind.fields[0]
        steps: list[str | Expr] = [*place.steps, name]
        for index in self.indices(item, kind.element, node):
            assert isinstance(inner, ArrayT)
            steps.append(self.named(index))
            inner = inner.element
        entry = Place(inner, tuple(steps), loc)
        if isinstance(inner, BoolT):
            self.block.append(Assign(entry, Const(BOOL, adding, loc), loc))
            return
        assert isinstance(inner, IntT)
        read = Read(inner, entry, loc)
        if adding:
            more = self.binary("+", read, Const(INT, 1, loc), INT, node)
            room = self.binary("<", read, Const(INT, inner.hi, loc), BOOL, node)
            message = f"the bag holds {inner.hi} of this already"
            value: Expr = Checked(inner, room, more, "KV208", message, loc)
        else:
            fewer = self.binary("-", read, Const(INT, 1, loc), INT, node)
            value = self.binary("max", fewer, Const(INT, 0, loc), INT, node)
        self.block.append(Assign(entry, value, loc))

    def change_large_set(self, place: Place, op: BinaryOp, stmt: ast.AugAssign) -> None:
        """`s.sent |= ...` and its like, where each possible element is a boolean."""
        place = self.freeze(Alias(place)).place
        if op != "inter" and isinstance(stmt.value, ast.Set):
            assert isinstance(place.type, RecordT) and place.type.element is not None
            for item in [self._noted(place.type.element, part) for part in stmt.value.elts]:
                self._enter(place, item, adding=op == "union", node=stmt)
            return
        if op != "inter" and isinstance(stmt.value, ast.SetComp):
            loops = self._spread(place, stmt.value, adding=op == "union")
            if loops is not None:
                self.block.extend(loops)
                return
        now = self.contents(place, stmt)
        value = self.setwise(op, now, self.anything(stmt.value), stmt)
        assert isinstance(value, Bundle)
        self.store_whole(place, value, stmt)

    def _noted(self, kind: Type, part: ast.expr) -> Found:
        """An element that is computed before the set changes."""
        found = self.fit(self.anything(part), kind, part, "the element")
        if not isinstance(found, Bundle):
            return self.named(found)
        return replace(found, parts=tuple(self.named(p) for p in found.parts))

    def _spread(self, place: Place, node: ast.SetComp, *, adding: bool) -> list[Stmt] | None:
        """`s.sent |= {Msg(...) for r in Req}` as loops; None if what is collected depends on the set itself."""
        names = dict(self.frame.names)

        def rounds(at: int) -> list[Stmt]:
            outer, self.block = self.block, []
            if at == len(node.generators):
                assert isinstance(place.type, RecordT) and place.type.element is not None
                item = self.fit(self.anything(node.elt), place.type.element, node.elt, "the element")
                self._enter(place, item, adding=adding, node=node)
            else:
                part = node.generators[at]
                loop = self.enter_loop(part.target, self.source(part.iter, at_once=True))
                where = self.inside(loop)
                where += [self.scoped(lambda t=test: self.truth(t)) for test in part.ifs]  # type: ignore[misc]
                body = rounds(at + 1)
                self.leave_loop(loop)
                self.block.extend(self.nested_loops(loop, where, body, node))
            inner, self.block = self.block, outer
            return inner

        found = rounds(0)
        self.frame.names = names
        return None if any(_touches(stmt, place) for stmt in statements(tuple(found))) else found

    def nested_loops(self, loop: Loop, where: Sequence[Expr], body: Sequence[Stmt], node: ast.AST) -> list[Stmt]:
        """One IR loop for each variable; the condition belongs to the innermost."""
        test = self.logic("and", list(where), node) if where else None
        inner = list(body)
        for variable, domain in reversed(list(zip(loop.variables, loop.source.domains, strict=True))):
            inner = [For(variable.name, domain, test, tuple(inner), self.loc(node))]
            test = None
        return inner

    # --- queues ---------------------------------------------------------------------------------------

    def _append(self, queue: Alias, node: ast.Call) -> None:
        queue = self.freeze(queue)
        slots, loc = self._slots(queue), self.loc(node)
        item = self._noted(slots.element, node.args[0])
        length = self.length(queue, node)
        assert length is not None and isinstance(slots.index, IntT) and slots.index.hi is not None
        room = self.binary("<=", length, Const(INT, slots.index.hi, loc), BOOL, node)
        at = self.named(Checked(slots.index, room, length, "KV206", "the queue is full", loc))
        self._fill(queue, at, parts_of(item), node)
        self._set_length(queue, self.binary("+", at, Const(INT, 1, loc), INT, node), node)

    def pop(self, queue: Alias, node: ast.Call, *, wanted: bool = True) -> Found | None:
        """Take an element out of a queue; gives it, if it is wanted."""
        if len(node.args) > 1 or node.keywords:
            assert isinstance(node.func, ast.Attribute)
            self._wrong_arguments(node, node.func)
        queue = self.freeze(queue)
        slots, loc = self._slots(queue), self.loc(node)
        length = self.length(queue, node)
        assert length is not None and isinstance(slots.index, IntT) and slots.index.hi is not None
        fewer = self.binary("-", length, Const(INT, 1, loc), INT, node)
        known = None
        if node.args:
            position = self.integer(node.args[0])
            known = position.value if isinstance(position, Const) else None
            at = self.place_in_line(queue, position, "KV207", node)
        else:
            some = self.binary("<", Const(INT, 0, loc), length, BOOL, node)
            at = self.named(Checked(slots.index, some, fewer, "KV207", "the queue is empty", loc))
        taken = None
        if wanted:
            taken = self.variable(self.name_value(self.fresh("taken"), self.slot(queue, at, node), loc), loc)
        for number in range(slots.index.hi):
            if not isinstance(known, int) or number >= known:
                self._shift(queue, number, None if isinstance(known, int) else at, node)
        last = Const(slots.index, slots.index.hi, loc)
        self._fill(queue, last, parts_of(self.zero(slots.element, loc)), node)
        self._set_length(queue, fewer, node)
        return taken

    def _slot_leaves(self, queue: Alias, index: Expr, node: ast.AST) -> list[Place]:
        slots = self.field(queue, "slots", node)
        assert isinstance(slots, Alias) and isinstance(slots.place.type, ArrayT)
        slot = Place(slots.place.type.element, (*slots.place.steps, index), self.loc(node))
        return [self.leaf(slot, path, kind, node) for path, kind in leaves(slot.type)]

    def _shift(self, queue: Alias, number: int, at: Expr | None, node: ast.AST) -> None:
        """A slot takes what stands in the next one, if it is not before the element that is taken out."""
        kind, loc = self._slots(queue).index, self.loc(node)
        here = self._slot_leaves(queue, Const(kind, number, loc), node)
        following = self._slot_leaves(queue, Const(kind, number + 1, loc), node)
        for goal, source in zip(here, following, strict=True):
            value: Expr = Read(source.type, source, loc)
            if at is not None:
                behind = self.binary("<=", at, Const(INT, number, loc), BOOL, node)
                value = Cond(goal.type, behind, value, Read(goal.type, goal, loc), loc)
            self.block.append(Assign(goal, value, loc))

    def _fill(self, queue: Alias, index: Expr, parts: Sequence[Expr], node: ast.AST) -> None:
        for goal, part in zip(self._slot_leaves(queue, index, node), parts, strict=True):
            self.block.append(Assign(goal, part, self.loc(node)))

    def _set_length(self, queue: Alias, value: Expr, node: ast.AST) -> None:
        length = self.field(queue, "length", node)
        assert isinstance(length, Read)
        self.block.append(Assign(length.place, value, self.loc(node)))

    # --- whole values ---------------------------------------------------------------------------------

    def store_whole(self, place: Place, value: Bundle, node: ast.AST, *, aligned: bool = False) -> None:
        """Store a record or an array leaf by leaf.

        `aligned` says that each leaf is read from the same leaf of another place, or from the goal itself.
        """
        goal = self.freeze(Alias(place)).place
        goals = [self.leaf(goal, path, kind, node) for path, kind in leaves(goal.type)]
        parts = value.parts
        if not aligned and any(_overlaps(part, leaf) for part, leaf in zip(parts, goals, strict=True)):
            parts = tuple(self.named(part) for part in parts)
        for leaf, part in zip(goals, parts, strict=True):
            self.block.append(Assign(leaf, part, self.loc(node)))

    def apart(self, value: Bundle, name: str) -> Bundle:
        """The value for a variable of that name, free of the variable itself, whose leaves are set one by one."""
        own = set(leaf_names(name, value.type))
        if not any(isinstance(e, Local) and e.name in own for part in value.parts for e in subexpressions(part)):
            return value
        return replace(value, parts=tuple(self.named(part) for part in value.parts))


def _overlaps(part: Expr, goal: Place) -> bool:
    """Whether a value is read from the field of the state that it is stored in, but from another leaf of it."""
    reads = (e.place for e in subexpressions(part) if isinstance(e, Read))
    return any(p.steps[0] == goal.steps[0] and show_place(p) != show_place(goal) for p in reads)


def _touches(stmt: Stmt, place: Place) -> bool:
    """Whether a statement asks for something in the field of the state that a place belongs to."""
    return any(
        isinstance(e, Read) and e.place.steps[0] == place.steps[0]
        for expr in expressions(stmt)
        for e in subexpressions(expr)
    )
