"""Constant tuples that are indexed: `COST[k]`, `NEXT[phase_number][r]`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kvproto.ir.nodes import Const, Expr, Unary
from kvproto.ir.types import ArrayT, IntT, OptT, SortT
from kvproto.lang.binding import shapes
from kvproto.lang.frontend.expressions import Expressions
from kvproto.lang.frontend.meeting import parts_of
from kvproto.lang.frontend.values import Bundle, Found, Operand, Static


class Tables(Expressions):
    """Translates entries of constant tuples: a table is an array that is a value."""

    def table_entry(self, table: tuple[Operand, ...], index: Expr, node: ast.Subscript) -> Operand:
        """An entry, by a number from 0 or by an element of a sort that has no more elements than the table entries."""
        if isinstance(index.type, OptT):
            index = Unary(index.type.inner, "unwrap", index, index.loc)
        kind = index.type
        if isinstance(kind, SortT):
            if kind.size > len(table):
                self.fail(
                    "KV121",
                    node,
                    f"this has {len(table)} entries, and {kind} has {kind.size} elements",
                    "an element is an index of its own number, and each has to have an entry",
                    "add entries, or use a smaller scope",
                )
            table = table[: kind.size]
        wanted = kind if isinstance(kind, SortT) else IntT(0, len(table) - 1)
        at = self.index(index, wanted, node.slice)
        if isinstance(at, Const) and isinstance(at.value, int):
            shapes([at.parameter], node)
            return table[at.value]  # which may be anything, a row of a table too
        return self.item(self._table(table, wanted, node), at, node)

    def _table(self, rows: Sequence[Operand], index: SortT | IntT, node: ast.Subscript) -> Bundle:
        """The tuple as an array."""
        values = [self._row(row, node) for row in rows]
        kind = self.meet([(value, node) for value in values])
        for value in values:
            # Numbers meet, but rows of them are taken as they are.
            if isinstance(kind, ArrayT) and value.type != kind:
                self.mismatch(value.type, kind, node, "one row")
        cells = [part for value in values for part in parts_of(self.coerce_any(value, kind, node, "an entry"))]
        return Bundle(ArrayT(index, kind), tuple(cells), self.loc(node))

    def _row(self, row: Operand, node: ast.Subscript) -> Found:
        if isinstance(row, Static) and isinstance(row.value, tuple) and row.value:
            return self._table(row.value, IntT(0, len(row.value) - 1), node)
        return self.whole(row, node)
