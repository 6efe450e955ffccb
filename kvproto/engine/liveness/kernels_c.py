"""The loops over whole graphs, in C (kvproto/engine/c/graph.h)."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import MutableSequence
from itertools import chain
from typing import Any

from kvproto.engine.explorer import Edges
from kvproto.engine.liveness.graph import NONE, Graph
from kvproto.engine.liveness.kernels import Components, Reached


class _Graph(ctypes.Structure):
    """`kv_graph` of graph.h."""

    _fields_ = [
        ("states", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in ("offsets", "targets", "labels", "heads", "groups", "strong")),
    ]


class CKernels:
    """The loops in C, from a library that includes graph.h."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = _declared(library)

    def take(self, graph: Graph, first: int, edges: Edges, label_of: array[int]) -> None:
        """Append the rows of the states from `first` on, without the steps that change nothing."""
        count = len(edges.offsets) - 1
        ends, kept, labels = _zeros("Q", count), _zeros("I", len(edges.targets)), _zeros("H", len(edges.targets))
        restless = bytearray(count)
        edges_kept = self._library.kv_graph_take(
            first,
            count,
            _address(edges.offsets),
            _address(edges.actions),
            _address(edges.targets),
            _address(label_of),
            len(graph.targets),
            _address(ends),
            _address(kept),
            _address(labels),
            _address(restless),
        )
        graph.offsets.extend(ends)
        graph.targets.frombytes(memoryview(kept)[:edges_kept].cast("B"))
        graph.labels.frombytes(memoryview(labels)[:edges_kept].cast("B"))
        graph.restless.extend(restless)

    def components(self, graph: Graph, mask: bytearray) -> Components:
        """Strongly connected components of the states that are IN, numbered as they are completed."""
        number, members, stack, cursor = (_zeros("I", graph.states) for _ in range(4))
        passed = _Passed(graph)
        count = self._library.kv_graph_components(
            passed.pointer, _address(mask), *map(_address, (number, members, stack, cursor))
        )
        del members[count:]
        return Components(number, members)

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        """Judge every component as a place to stay in; gives how many states are left IN."""
        size = len(graph.groups)
        work = _zeros("I", size), _zeros("I", size), bytearray(size), _zeros("I", size)
        passed = _Passed(graph)
        left: int = self._library.kv_graph_judge(
            passed.pointer,
            None if must is None else _address(must),
            _address(mask),
            _address(parts.number),
            _address(parts.members),
            len(parts.members),
            *map(_address, work),
        )
        return left

    def reach(
        self,
        graph: Graph,
        mask: bytearray,
        sources: array[int],
        starts: array[int] | None = None,
        goal: bytes | bytearray | None = None,
    ) -> Reached:
        """Search breadth first among the states that are IN; they become DONE as they are found."""
        parent, level = array("I", [NONE]) * graph.states, array("I", [NONE]) * graph.states
        queue = _zeros("I", graph.states)
        aim = None if goal is None else bytearray(goal)
        passed = _Passed(graph)
        found = self._library.kv_graph_reach(
            passed.pointer,
            _address(mask),
            _address(sources),
            None if starts is None else _address(starts),
            len(sources),
            None if aim is None else _address(aim),
            *map(_address, (parent, level, queue)),
        )
        return Reached(None if found == NONE else found, parent, level)

    def mark(self, graph: Graph, mask: bytearray, wanted: bytes) -> bytearray:
        """Mark the states that are IN and do something for the wanted groups."""
        marks, stamp, asked = bytearray(graph.states), _zeros("I", len(graph.groups)), bytearray(wanted)
        weak = sum(1 for group, this in enumerate(wanted) if this and not graph.strong[group])
        passed = _Passed(graph)
        self._library.kv_graph_mark(
            passed.pointer, _address(mask), _address(asked), weak, _address(stamp), _address(marks)
        )
        return marks


class _Passed:
    """A graph as C sees it; alive as long as this object."""

    def __init__(self, graph: Graph) -> None:
        ends = [0]
        for groups in graph.groups_of:
            ends.append(ends[-1] + len(groups))
        self._tables = array("I", ends), array("I", chain.from_iterable(graph.groups_of)), bytearray(graph.strong)
        arrays = graph.offsets, graph.targets, graph.labels, *self._tables
        self._graph = _Graph(graph.states, *map(_address, arrays))
        self.pointer = ctypes.byref(self._graph)


def _zeros(kind: str, size: int) -> array[int]:
    return array(kind, [0]) * size


def _address(data: MutableSequence[int]) -> int | None:
    """Where the items lie, as long as `data` lives and is not resized."""
    if not data:
        return None
    if isinstance(data, array):
        return data.buffer_info()[0]
    assert isinstance(data, bytearray)
    return ctypes.addressof(ctypes.c_char.from_buffer(data))


def _declared(library: Any) -> Any:
    """The library with the argument types of its functions, so that ctypes does not cut 64-bit numbers."""
    u32, u64, pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
    for name, result, arguments in (
        ("kv_graph_take", u64, [u64, u64, *[pointer] * 4, u64, *[pointer] * 4]),
        ("kv_graph_components", u64, [pointer] * 6),
        ("kv_graph_judge", u64, [*[pointer] * 5, u64, *[pointer] * 4]),
        ("kv_graph_reach", u32, [*[pointer] * 4, u64, *[pointer] * 4]),
        ("kv_graph_mark", None, [pointer, pointer, pointer, u32, pointer, pointer]),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
