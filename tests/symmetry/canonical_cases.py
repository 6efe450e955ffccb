"""State types with symmetric sorts in every position, random states of them, and canon.h behind ctypes."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from itertools import permutations, product
from pathlib import Path
from random import Random

from kvproto.engine import compile_c
from kvproto.engine.evaluate import State
from kvproto.engine.layout import Layout
from kvproto.engine.layout import plan as lay_out
from kvproto.engine.symmetry import Canonical, plan
from kvproto.engine.symmetry.renaming import Renaming, slot_of
from kvproto.ir.types import (
    ArrayT,
    BoolT,
    EnumT,
    IntT,
    LeafT,
    OptT,
    RecordT,
    SetT,
    SortT,
    Value,
    leaves,
    scalars_of,
)

WORD = (1 << 64) - 1

KEEP = EnumT("Keep", ("a", "b"))
PHASE = EnumT("Phase", ("new", "old", "done"))


def sorts(*sizes: int) -> tuple[SortT, ...]:
    """Sorts of these sizes."""
    return tuple(SortT(name, size) for name, size in zip(("Req", "Page", "Node"), sizes, strict=False))


def record(**fields: object) -> RecordT:
    """A state type."""
    return RecordT("State", tuple(fields.items()))  # type: ignore[arg-type]


def shapes(req: SortT, page: SortT, node: SortT) -> dict[str, RecordT]:
    """State types by what is special about them."""
    queue = RecordT("Queue", (("length", IntT(0, 3)), ("slots", ArrayT(IntT(0, 2), req))), "queue", req)
    message = RecordT("Message", (("to", OptT(req)), ("on", page), ("ok", BoolT())))
    mail = RecordT("Mail", (("length", IntT(0, 2)), ("slots", ArrayT(IntT(0, 1), message))), "queue", message)
    return {
        "columns": record(phase=ArrayT(req, PHASE), flag=BoolT(), count=ArrayT(req, IntT(-1, 2))),
        "mentions": record(owner=ArrayT(KEEP, OptT(req)), last=req, held=SetT(req), kept=ArrayT(KEEP, SetT(req))),
        "long keys": record(many=ArrayT(IntT(0, 20), ArrayT(req, ArrayT(KEEP, PHASE))), who=OptT(req)),
        "fields": record(
            req=ArrayT(
                req, RecordT("Request", (("phase", PHASE), ("need", IntT(1, 20)), ("by", ArrayT(KEEP, IntT(0, 5000)))))
            ),
            owner=ArrayT(IntT(0, 2), OptT(req)),
        ),
        "records": record(
            req=ArrayT(req, RecordT("Request", (("phase", PHASE), ("pages", SetT(page)), ("next", OptT(req)))))
        ),
        "nested": record(linked=ArrayT(req, ArrayT(req, BoolT()))),
        "pointers": record(next=ArrayT(req, OptT(req)), head=req),
        "sets of sets": record(sets=ArrayT(req, SetT(req))),
        "two sorts": record(owner=ArrayT(page, OptT(req)), flying=ArrayT(req, SetT(page)), phase=ArrayT(req, PHASE)),
        "matching": record(owner=ArrayT(page, OptT(req)), page=ArrayT(req, OptT(page))),
        "three sorts": record(at=ArrayT(req, ArrayT(page, OptT(node))), up=ArrayT(node, BoolT()), on=SetT(page)),
        "queue": record(queue=queue, seen=ArrayT(req, BoolT())),
        "queues": record(queue=ArrayT(page, queue)),
        "messages": record(mail=mail, owner=ArrayT(page, OptT(req))),
        "indices": record(by=ArrayT(OptT(req), ArrayT(SetT(page), BoolT()))),
        "fixed": record(phase=ArrayT(KEEP, PHASE), flag=BoolT()),
    }


def random_state(kind: RecordT, draw: Random) -> State:
    """Any state, sparse or dense, with zeroes in the empty slots of queues."""
    density = draw.choice([0.15, 0.5, 0.9])
    parts = list(leaves(kind))
    values = {path: _random(leaf, draw, density) for path, leaf in parts}
    for path, leaf in parts:
        slot = slot_of(path, kind)
        if slot is not None:
            filled = values[slot.length]
            assert isinstance(filled, int)
            if filled <= slot.at:
                values[path] = _zero(leaf)
    return tuple(values[path] for path, _ in parts)


def _random(kind: LeafT, draw: Random, density: float) -> Value:
    match kind:
        case OptT(inner=inner):
            return _random(inner, draw, density) if draw.random() < density else None
        case SetT(element=element):
            return frozenset(v for v in scalars_of(element) if draw.random() < density)
        case _:
            values = scalars_of(kind)
            return draw.choice(values) if draw.random() < density else values[0]


def _zero(kind: LeafT) -> Value:
    match kind:
        case OptT():
            return None
        case SetT():
            return frozenset()
        case _:
            return scalars_of(kind)[0]


def orbit(kind: RecordT, layout: Layout, of: Sequence[SortT], state: State) -> set[int]:
    """All that a state can become by renaming, packed."""
    orders = product(*(list(permutations(range(sort.size))) for sort in of))
    names = [sort.name for sort in of]
    return {layout.pack(Renaming(kind, dict(zip(names, order, strict=True))).of(state)) for order in orders}


def case(name: str, *sizes: int) -> tuple[RecordT, Layout, tuple[SortT, ...], Canonical]:
    """A state type with everything that belongs to it; sorts for which there is no size have 2 elements."""
    given = sorts(*(*sizes, 2, 2)[:3])
    kind = shapes(*given)[name]
    layout, used = lay_out(kind), given[: len(sizes)]
    return kind, layout, used, Canonical(plan(kind, layout, used))


# --- canon.h ---------------------------------------------------------------------------------------------------


def compiled(folder: Path) -> ctypes.CDLL:
    """canon.h by itself as a library; raises CompileError where there is no compiler."""
    header = Path(compile_c.__file__).parent / "c" / "canon.h"
    source, target = folder / "canon.c", folder / f"canon{compile_c.library_suffix()}"
    source.write_text(f'#include "{header}"\n', encoding="utf-8")
    compile_c.build(source, target)
    library = ctypes.CDLL(str(target))
    pointer, number = ctypes.c_void_p, ctypes.c_uint64
    library.kv_canon_new.restype, library.kv_canon_new.argtypes = pointer, [pointer]
    library.kv_canon_free.restype, library.kv_canon_free.argtypes = None, [pointer]
    library.kv_canon_scratch.restype, library.kv_canon_scratch.argtypes = number, [pointer]
    library.kv_canon_apply.restype = None
    library.kv_canon_apply.argtypes = [pointer, pointer, pointer, pointer, number]
    return library


def apply_in_c(library: ctypes.CDLL, canonical: Canonical, states: Sequence[int], *, in_place: bool) -> list[int]:
    """What canon.h makes of the states."""
    words = canonical.plan.words
    spec = canonical.plan.packed()
    handle = library.kv_canon_new(spec.buffer_info()[0])
    assert handle
    scratch = array("Q", [0xA5A5A5A5A5A5A5A5] * library.kv_canon_scratch(handle))
    given = array("Q", [state >> 64 * w & WORD for state in states for w in range(words)])
    result = given if in_place else array("Q", [0]) * len(given)
    addresses = (block.buffer_info()[0] for block in (scratch, given, result))
    library.kv_canon_apply(handle, *addresses, len(states))
    library.kv_canon_free(handle)
    return [sum(result[at * words + w] << 64 * w for w in range(words)) for at in range(len(states))]
