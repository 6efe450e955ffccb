"""Declaring a model: machines, actions, presets, scopes, and what they belong to; see `properties` for claims."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal, TypeVar

from kvproto.diagnostics import KvError
from kvproto.lang.binding import Params
from kvproto.lang.cites import Cites, checked
from kvproto.lang.native import Record
from kvproto.lang.properties import MARK, ClaimMark, FairnessMark
from kvproto.lang.reports import Report
from kvproto.lang.sorts import Sort

F = TypeVar("F", bound=Callable[..., Any])



@dataclass(frozen=True, slots=True)
class Machine:
    """A participant of the protocol; its actions share a lane in every picture."""

    name: str
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ActionMark:
    """What `@action` leaves on a function."""

    machine: Machine
    cites: tuple[str, ...]
    fair: Literal["", "weak", "strong"] = ""


@dataclass(frozen=True, slots=True)
class InitMark:
    """What `@init` leaves on a function."""


def action(
    machine: Machine, *, cites: Cites = (), fair: Literal["", "weak", "strong"] = ""
) -> Callable[[F], F]:
    """Declare an action of `machine`.

    The function takes the state and then parameters annotated with finite types; it happens, in one step, for any
    choice of the parameters whose `require` guards hold.  `cites` names the code it abstracts (see `lang.cites`).
    With `fair` every choice of the parameters is fair by itself; `weak` and `strong` say it of groups.
    """
    if not isinstance(machine, Machine):
        raise TypeError("@action needs the machine that acts: write @action(decode) with decode = Machine('decode')")
    if fair not in ("", "weak", "strong"):
        raise TypeError(f'fair is "weak" or "strong", not {fair!r}')
    sources = checked(cites)

    def mark(fn: F) -> F:
        setattr(fn, MARK, ActionMark(machine, sources, fair))
        return fn

    return mark


def init(fn: F) -> F:
    """Declare how a run starts: fills the zero state; every choice of its parameters is an initial state."""
    setattr(fn, MARK, InitMark())
    return fn


class Preset:
    """A named choice of parameters: an engine version, a benchmark variant.

    `base` names a preset whose choices are taken first; `scope` is the scope used unless another is asked for.
    `expect` says what a search has to find, for `kvproto suite`: the properties that break with the length of the
    shortest run (None for claims about runs, whose counterexamples have no shortest form); all others hold.
    """

    def __init__(
        self,
        name: str,
        doc: str,
        *,
        base: str | None = None,
        scope: str | None = None,
        expect: Mapping[str, int | None] | None = None,
        **values: Any,
    ) -> None:
        self.name = name
        self.doc = doc
        self.base = base
        self.scope = scope
        self.expect = expect
        self.values: Mapping[str, Any] = values


class Scope:
    """A named choice of sizes (and, if need be, parameters): how large the searched world is."""

    def __init__(self, name: str, doc: str, **values: Any) -> None:
        self.name = name
        self.doc = doc
        self.values: Mapping[str, Any] = values


@dataclass(frozen=True, slots=True)
class Pool:
    """A page pool, for pictures and explanations: which variables say who owns a page and whose bytes it holds.

    `owner` and `content` are paths of the state, written as in the model with names for indices: `d_owner[d]`,
    `node[d].page[w].owner`.  The last index over `page` is the page, and may be left out at the end.  The other indices
    of `owner` are ranks, each of which has a pool; those that only `content` has are slices of a page.
    """

    name: str
    page: Sort
    owner: str
    content: str


@dataclass(frozen=True, slots=True)
class Flights:
    """Writes under way, for pictures and explanations: fields of the state that hold sets of positions.

    Paths as in `Pool`, where `r` is the request and `k` the position: `sender[p][r].flying[d]`.  A write that goes from
    one of several fields to another is still the same write.  `target` and `source` lead to the page that is written
    and the page that is read; `into` and `out_of` name their pools, of the ranks whose indices have the same names.
    Indices may be left out where there are no others than `r` and `k`: `req.target` is `req[r].target[k]`.
    """

    field: str | tuple[str, ...]
    target: str = ""
    source: str = ""
    into: str = ""
    out_of: str = ""


@dataclass(slots=True)
class Model:
    """A protocol model: state, actions and properties with their presets and scopes.

    `parts` and `properties` are modules (or names of imported modules, such as `__name__`) whose decorated functions
    are taken in order of appearance.  `terminal` is a predicate of states in which nothing more has to happen; with it
    (or with `deadlock=True`) a state without successor that does not satisfy it is a deadlock.  `fairness` says which
    steps are not put off forever; states that do not satisfy `constraint` are judged, but not left.  `reports` are the
    public bug reports that it is a model of.
    """

    name: str
    doc: str
    state: type[Record]
    parts: Sequence[ModuleType | str]
    properties: Sequence[ModuleType | str] = ()
    params: type[Params] | None = None
    presets: Sequence[Preset] = ()
    scopes: Sequence[Scope] = ()
    terminal: Callable[[Any], bool] | None = None
    deadlock: bool = False
    pools: Sequence[Pool] = ()
    flights: Sequence[Flights] = ()
    fairness: Sequence[FairnessMark] = ()
    constraint: Callable[[Any], bool] | None = None
    reports: Sequence[Report] = ()
    source: str = field(default="", init=False)

    def __post_init__(self) -> None:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
            frame = frame.f_back
        self.source = frame.f_code.co_filename
        if not all(isinstance(item, FairnessMark) for item in self.fairness):
            raise TypeError("fairness is a list of weak(action, ...) and strong(action, ...)")

    def marked(self, kind: type[Any]) -> list[tuple[Callable[..., Any], Any]]:
        """Functions of the parts (for properties: of `properties` and parts) with a mark of that kind."""
        groups = [*self.parts, *self.properties] if issubclass(kind, ClaimMark) else list(self.parts)
        found: list[tuple[Callable[..., Any], Any]] = []
        for module in (self._module(m) for m in groups):
            for fn in vars(module).values():
                mark = getattr(fn, MARK, None)
                if mark is None or not isinstance(mark, kind) or fn.__module__ != module.__name__:
                    continue
                if (fn, mark) not in found:
                    found.append((fn, mark))
        return found

    def _module(self, part: ModuleType | str) -> ModuleType:
        module = sys.modules.get(part) if isinstance(part, str) else part
        if isinstance(module, ModuleType):
            return module
        raise KvError(
            "KV149",
            f"part {part!r} of model {self.name} is no imported module",
            reason="actions and properties are looked for in modules",
            cure="list modules, or __name__ for the file itself: parts=[__name__]",
        )
