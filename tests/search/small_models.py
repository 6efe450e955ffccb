"""Small models as text, shipped ones by name, and all that can be compared of two searches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

from kvproto.engine.native import Unavailable, load_engine
from kvproto.engine.outcome import Counterexample, Options, Result
from kvproto.engine.search import search
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.trace import codec
from kvproto.trace.build import build_trace

Make = Callable[..., System]

TIERS: dict[str, dict[str, object]] = {
    "bytecode": {"tier": "bytecode"},
    "compiled": {"tier": "compiled"},
    "python": {"tier": "python"},
    "reference": {"engine": "reference"},
}
"""Options that choose a tier."""

HEAD = """
from kvproto.lang import *

Req = Sort("Req", labels="AB", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 40)
    done: Bool
    held: Array(Req, Bool)


"""

COUNT = """
@action(m)
def inc(s):
    require(s.n < 9)
    s.n += 1


"""
"""One run from 0 to 9."""

_numbers = count()


def written(folder: Path) -> Make:
    """A function that makes systems of texts, with files in a folder."""

    def make(text: str, **fields: str) -> System:
        more = "".join(f", {key}={value}" for key, value in fields.items())
        path = folder / f"small{next(_numbers)}.py"
        path.write_text(f'{HEAD}{text}\n\nmodel = Model("small", "", state=State, parts=[__name__]{more})\n')
        return shipped(str(path))

    return make


def shipped(target: str, scope: str | None = None, **sets: object) -> System:
    """A model by name, as the command line finds it."""
    found = find(target)
    return build(found.model, choose(found.model, preset=found.preset, scope=scope, sets=sets))


@cache
def benchmark() -> System:
    """The benchmark protocol with its bug, small: 4,787 states without symmetry."""
    return shipped("kv_transfer@vulnerable", Req=3, Page=3, pages_per_request=1)


@cache
def incident() -> System:
    """The incident: wide states, three properties violated, 681 states without symmetry."""
    return shipped("outline@incident")


@cache
def release() -> System:
    """The release with all bugs: wide states, six properties violated, 97,664 states without symmetry."""
    return shipped("outline@0.5.19")


def figures(result: Result) -> dict[str, object]:
    """All that must not depend on the tier, on threads, or on interruptions; traces as bytes."""
    return {
        "states": result.states,
        "outside": result.outside,
        "transitions": result.transitions,
        "depth": result.depth,
        "complete": result.complete,
        "stopped": result.stopped,
        "violating": result.violating_states,
        "fired": result.fired,
        "never fired": result.never_fired,
        "vacuous": result.vacuous,
        "redundant": result.redundant,
        "symmetric": result.symmetric,
        "verdicts": [(f.claim.name, f.verdict, f.strength, f.reason) for f in result.findings],
        "counterexamples": [trace(result, f.counterexample) for f in result.findings],
        "witnesses": [trace(result, f.witness) for f in result.findings],
    }


def trace(result: Result, found: Counterexample | None) -> str:
    """The bytes of the trace; a trace is confirmed by the oracle while it is made."""
    return "" if found is None else codec.dumps(build_trace(result.system, found))


def searched(system: System, **options: object) -> dict[str, object]:
    """The figures of a search."""
    return figures(search(system, Options(**options)))  # type: ignore[arg-type]


def verdicts(result: Result) -> dict[str, str]:
    """The verdict on each property."""
    return {f.claim.name: f.verdict for f in result.findings}


def has_c() -> bool:
    """Whether the C engine works here."""
    return not isinstance(load_engine(), Unavailable)
