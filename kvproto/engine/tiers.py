"""Chooses the tier that explores, and says why if it is not the one that one would expect."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvproto.diagnostics import KvError
from kvproto.engine.explorer import Explorer
from kvproto.engine.lower import Lowered
from kvproto.engine.outcome import Options
from kvproto.engine.reduction import PartialOrder, Symmetry
from kvproto.ir.nodes import System

if TYPE_CHECKING:
    from kvproto.engine.por import Chooser

ASKED_FOR = "asked for"


@dataclass(frozen=True, slots=True)
class Chosen:
    """An explorer; `note` says why a slower tier runs."""

    explorer: Explorer
    note: str = ""
    workers: int = 1
    lossy: bool = False
    symmetric: tuple[str, ...] = ()
    """Sorts whose elements it does not tell apart."""
    por: bool = False
    """Whether it leaves out orders of independent actions."""


def choose_tier(
    system: System, lowered: Lowered, options: Options, symmetry: Symmetry, order: PartialOrder
) -> Chosen:
    """The explorer for a search.

    Raises KvError KV006 where there is no memory, KV015 where the tier lacks what was asked for.
    """
    try:
        # Each tier is imported when it runs: the others would only make the start slower.
        if options.engine == "reference":
            from kvproto.engine.reference_explorer import ReferenceExplorer

            _refuse_extras(options, "the reference checker", "the reference checker was asked for")
            oracle = ReferenceExplorer(
                system,
                lowered,
                memory_limit=options.memory_limit,
                canonical=symmetry.canonical,
                chooser=_chooser(order),
            )
            return Chosen(oracle, _alone(options), symmetric=symmetry.sorts, por=order.relations is not None)
        if options.tier != "python":
            from kvproto.engine.native import Unavailable, load_engine

            engine = load_engine()
            if not isinstance(engine, Unavailable):
                return _c_explorer(lowered, options, symmetry, order)
            note = engine.reason
        else:
            note = ASKED_FOR
        from kvproto.engine.tier0 import PythonExplorer

        _refuse_extras(options, "the Python tier", "that tier was asked for" if note == ASKED_FOR else note)
        note = "; ".join(part for part in (note, _alone(options)) if part)
        explorer = PythonExplorer(
            lowered.program,
            memory_limit=options.memory_limit,
            seed=options.seed,
            canonical=symmetry.canonical,
            chooser=_chooser(order),
        )
        return Chosen(explorer, note, symmetric=symmetry.sorts, por=order.relations is not None)
    except MemoryError as problem:
        raise no_room(options) from problem


def _chooser(order: PartialOrder) -> Chooser | None:
    if order.relations is None:
        return None
    from kvproto.engine.por import Chooser

    return Chooser(order.relations)


def _c_explorer(lowered: Lowered, options: Options, symmetry: Symmetry, order: PartialOrder) -> Chosen:
    from kvproto.engine.c_explorer import CExplorer, Compile

    compile_when: dict[str, Compile] = {"auto": "auto", "bytecode": "off", "compiled": "now"}
    spill = None if options.spill is None else str(options.spill / f"kvproto-{os.urandom(8).hex()}.spill")
    explorer = CExplorer(
        lowered.program,
        memory_limit=options.memory_limit,
        seed=options.seed,
        workers=options.workers,
        share_from=options.share_from,
        numbered=bool(lowered.predicates),
        fingerprints=options.fingerprints,
        canon=None if symmetry.canonical is None else symmetry.canonical.plan.packed(),
        por=order.relations,
        spill=spill,
        compiling=compile_when[options.tier],
    )
    notes = []
    if options.fingerprints and not explorer.lossy:
        small = "fingerprints would take no less room than the states"
        notes.append("claims about runs need whole states" if lowered.predicates else small)
    if options.tier == "compiled" and not explorer.compiled:
        notes.append(f"the model is not compiled, {explorer.complaint}")
    return Chosen(
        explorer,
        "; ".join(notes),
        workers=explorer.workers,
        lossy=explorer.lossy,
        symmetric=symmetry.sorts,
        por=order.relations is not None,
    )


def _alone(options: Options) -> str:
    """What becomes of the wish for several workers where there are no threads."""
    return "one worker, only the C engine has more" if options.workers > 1 else ""


def _refuse_extras(options: Options, tier: str, why: str) -> None:
    """What only the C engine can do is refused elsewhere, never ignored; `why` says how it came to this tier."""
    asked = {
        "fingerprints": options.fingerprints,
        "spilling to disk": options.spill is not None,
        "checkpoints": options.checkpoint is not None or options.resume is not None,
    }
    for what, wanted in asked.items():
        if wanted:
            raise KvError(
                "KV015",
                f"{tier} has no {what}",
                reason=f"only the C engine has, which does not run here: {why}",
                cure="leave the option out, or let the C engine run",
            )


def no_room(options: Options) -> KvError:
    """The error that not even an empty search fits into memory."""
    limit = options.memory_limit
    return KvError(
        "KV006",
        "this machine has no memory left for a search"
        if limit is None
        else f"a memory limit of {limit} bytes leaves no room for a search",
        reason="not even the initial states and an empty table fit",
        cure="use a smaller scope" if limit is None else "give at least some megabytes, for example --memory-limit 64M",
    )
