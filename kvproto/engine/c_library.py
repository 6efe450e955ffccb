"""The functions and structures of engine.c, as ctypes sees them."""

from __future__ import annotations

import ctypes
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvproto.engine.bytecode import Bytecode
from kvproto.engine.native import Engine
from kvproto.engine.program import Program

if TYPE_CHECKING:
    from kvproto.engine.por.packing import PackedRelations

WORD = (1 << 64) - 1
NONE = WORD
"""What the engine answers for no state."""

NO_BLOCK = 0xFFFFFFFF

OK, MEMORY_REFUSED, BROKEN = 0, 1, 2

META_HEAD = 12
"""Counters in front of what `kv_save_meta` writes."""


class Spec(ctypes.Structure):
    """`kv_spec` of c/data.h."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("words", "registers", "slots", "leaves", "actions", "claims", "probes")),
        *((name, ctypes.c_uint64) for name in ("predicates", "blocks", "windows", "guards", "faults")),
        *((name, ctypes.c_uint64) for name in ("terminal", "constraint")),
        *((name, ctypes.c_void_p) for name in ("code", "leaf_table", "block_entry", "window_table", "guard_table")),
        *(
            (name, ctypes.c_uint64)
            for name in ("memory_limit", "seed", "numbered", "fingerprints", "workers", "share_from")
        ),
        ("canon", ctypes.c_void_p),
        ("por", ctypes.c_void_p),
        ("spill", ctypes.c_char_p),
    ]


class Por(ctypes.Structure):
    """`kv_por` of c/data.h."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("nodes", "conditions", "rows")),
        *((name, ctypes.c_void_p) for name in ("node_table", "condition_table", "row_start", "item_table")),
    ]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a C search stores states and how many threads expand them."""

    memory_limit: int | None = None
    seed: int = 0
    workers: int = 1
    share_from: int = 2048
    """So many states of a level are worth waking the other threads."""
    numbered: bool = False
    """Keep every state, so that it can be asked for by number and found by content; else states of more than two
    words are kept and smaller ones only until they are expanded."""
    fingerprints: bool = False
    """Keep 128 bits of each state instead of the state: two states may be taken for one."""
    canon: array[int] | None = None
    """Tables of the symmetry reduction (`Plan.packed`)."""
    por: PackedRelations | None = None
    """Tables of the partial-order reduction: one thread then, and `numbered`."""
    spill: str | None = None
    """File that takes states when the memory limit is met; it is removed at once and lives as long as the search."""


def create(library: Any, code: Bytecode, program: Program, settings: Settings) -> int | None:
    """A new engine, None when there is not enough memory for one."""
    entries = array("I", code.entries)
    windows = array("I", [number for window in code.windows for number in window])
    blocks = len(code.entries)
    limit = WORD if settings.memory_limit is None else max(0, min(settings.memory_limit, WORD))
    constraint = NO_BLOCK if program.constraint is None else blocks - 1
    terminal = NO_BLOCK if program.terminal is None else blocks - 1 - (program.constraint is not None)
    por = None if settings.por is None else _por(settings.por)
    spec = Spec(
        words=code.words,
        registers=code.registers,
        slots=len(code.code) // 16,
        leaves=len(program.leaves),
        actions=len(program.actions),
        claims=len(program.claims),
        probes=len(program.probes),
        predicates=len(program.predicates),
        blocks=blocks,
        windows=len(code.windows),
        guards=code.guards,
        faults=code.faults,
        terminal=terminal,
        constraint=constraint,
        code=_address(code.code),
        leaf_table=_address(code.leaf_table),
        block_entry=entries.buffer_info()[0],
        window_table=windows.buffer_info()[0],
        guard_table=_address(code.guard_table),
        memory_limit=limit,
        seed=settings.seed & WORD,
        numbered=settings.numbered or settings.spill is not None or settings.por is not None,
        fingerprints=settings.fingerprints,
        workers=max(1, settings.workers) if settings.por is None else 1,
        share_from=settings.share_from,
        canon=None if settings.canon is None else settings.canon.buffer_info()[0],
        por=None if por is None else ctypes.addressof(por),
        spill=None if settings.spill is None else settings.spill.encode(),
    )
    handle: int | None = library.kv_new(ctypes.byref(spec))
    return handle


def _por(tables: PackedRelations) -> Por:
    """The tables as C takes them; valid as long as `tables` lives."""
    return Por(
        nodes=tables.nodes,
        conditions=tables.conditions,
        rows=len(tables.row_start) - 1,
        node_table=_address(tables.node_table),
        condition_table=_address(tables.condition_table),
        row_start=tables.row_start.buffer_info()[0],
        item_table=tables.item_table.buffer_info()[0],
    )


def _address(data: bytes) -> int | None:
    """Where the bytes lie; valid as long as `data` lives, and the engine copies them before that ends."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value


def declared(engine: Engine) -> Any:
    """The library with the argument types of its functions, so that ctypes does not cut 64-bit numbers."""
    library: Any = engine.library
    u32, u64, pointer, status = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int
    for name, result, arguments in (
        ("kv_new", pointer, [pointer]),
        ("kv_free", None, [pointer]),
        ("kv_compile", status, [pointer, pointer]),
        ("kv_workers", u32, [pointer]),
        ("kv_start", status, [pointer, pointer, u64]),
        ("kv_advance", status, [pointer, u64]),
        ("kv_counters", None, [pointer, pointer]),
        ("kv_violation", u64, [pointer, u32]),
        ("kv_witness", u64, [pointer, u32]),
        ("kv_fault", status, [pointer, u32, pointer, pointer]),
        ("kv_fired", None, [pointer, pointer]),
        ("kv_state", status, [pointer, u64, pointer]),
        ("kv_path", u64, [pointer, u64, pointer, pointer, u64]),
        ("kv_edges", u64, [pointer, u64, u64, pointer, pointer, pointer, u64]),
        ("kv_test", None, [pointer, u32, u64, u64, pointer]),
        ("kv_meta_size", u64, [pointer]),
        ("kv_save_meta", None, [pointer, pointer]),
        ("kv_load_meta", status, [pointer, pointer]),
        ("kv_save", None, [pointer, u64, u64, pointer, pointer]),
        ("kv_load", status, [pointer, u64, pointer, pointer]),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
