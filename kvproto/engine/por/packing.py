"""The tables of the reduction as c/por.h takes them."""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass

from kvproto.engine.por.relations import Relations, Row

NODE = struct.Struct("=6I")
CONDITION = struct.Struct("=4I4Q")

NOBODY = 0xFFFFFFFF
WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class PackedRelations:
    """`kv_por` of c/data.h; rows that are equal are one."""

    nodes: int
    conditions: int
    node_table: bytes
    condition_table: bytes
    row_start: array[int]
    item_table: array[int]


class _Rows:
    """Collects rows."""

    def __init__(self) -> None:
        self.start = array("I", [0])
        self.items = array("I")
        self._numbers: dict[Row, int] = {}

    def add(self, row: Row) -> int:
        """The number of a row."""
        found = self._numbers.get(row)
        if found is None:
            found = self._numbers[row] = len(self.start) - 1
            self.items.extend(row)
            self.start.append(len(self.items))
        return found


def packed(tables: Relations) -> PackedRelations:
    """The tables as arrays in native byte order."""
    rows = _Rows()
    conditions = [_condition(tables, number, rows.add(enablers)) for number, enablers in enumerate(tables.enablers)]
    nodes = [
        NODE.pack(
            *(number & NOBODY for number in (tables.owner[node], tables.group[node])),
            rows.add(tables.needs[node]),
            rows.add(tables.final[node]),
            rows.add(tables.fallback[node]),
            rows.add(tables.dependent[node] if node < tables.actions else ()),
        )
        for node in range(len(tables.needs))
    ]
    rows.add(())
    return PackedRelations(len(nodes), len(conditions), b"".join(nodes), b"".join(conditions), rows.start, rows.items)


def _condition(tables: Relations, number: int, row: int) -> bytes:
    cell, allowed = tables.conditions[number]
    place = tables.cells.cells[cell]
    parts = (allowed >> 64 * part & WORD for part in range(4))
    return CONDITION.pack(place.word, place.shift, (1 << place.bits) - 1, row, *parts)
