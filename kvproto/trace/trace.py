"""The trace type: a behaviour of a model with what a reader needs to understand it (`kvproto.trace/1`).

A trace is self-contained: it can be shown without the model that produced it.  Variables of the state are named by
paths, as they are written in the model with labels for indices: `req[A].decode`, `d_owner[3]`.  Values are JSON
values: booleans, integers, names of enumeration members, labels of sort elements (integers where the sort has no
labels), null for None, sorted lists for sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from kvproto.trace.analysis import Analysis

SCHEMA = "kvproto.trace/1"

Value = bool | int | str | None | list["bool | int | str"]
"""A scalar or set of the state, as it stands in the file."""

State = dict[str, Value]
"""Every variable of the state by path, in order of declaration."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action: what happened, where it is written, and what it touched.

    `reads` and `writes` are the paths that this very step read and wrote (a write of the same value included), in the
    order of first use; `delta` maps each changed path to (old, new).  `text` is the action's docstring with its
    arguments filled in.
    """

    action: str
    args: Mapping[str, Value]
    lane: str
    loc: str
    text: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    delta: Mapping[str, tuple[Value, Value]]


@dataclass(frozen=True, slots=True)
class SliceView:
    """One part of the content of every page, such as what one rank writes."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class PoolView:
    """A page pool: `pages` are labels; page p belongs to `owner[p]` and was last written by `content[p]`.

    A path with `{w}` in it has the page's label there and not at its end.  Where the content of a page is written in
    several slices, `slices` are all of them, and `content` is that of the first.
    """

    name: str
    pages: tuple[str, ...]
    owner: str
    content: str
    slices: tuple[SliceView, ...] = ()

    def owned(self, page: str) -> str:
        """The path of the owner of a page."""
        return at_page(self.owner, page)

    def contents(self, page: str) -> dict[str, str]:
        """The paths of the content of a page by the names of its slices; "" names the only one."""
        slices = self.slices or (SliceView("", self.content),)
        return {part.name: at_page(part.content, page) for part in slices}


def at_page(path: str, page: str) -> str:
    """The path of what `path` says of each page, for one of them."""
    return path.replace("{w}", page) if "{w}" in path else f"{path}[{page}]"


@dataclass(frozen=True, slots=True)
class FlightView:
    """Writes in flight: for request label r, `field` gives the path of a set of positions.

    The three templates hold `{r}` and `{k}`: `req[{r}].flying`, `req[{r}].target[{k}]`, `req[{r}].source[{k}]`;
    `target` and `source` may be empty, then the position is the page itself.  `also` are further sets: a write that
    goes from one to the other is the same.  `into` and `out_of` are the pools of the two pages and `slice` the part of
    the page that is written, where the model says so.
    """

    requests: tuple[str, ...]
    field: str
    target: str
    source: str
    also: tuple[str, ...] = ()
    into: str = ""
    slice: str = ""
    out_of: str = ""


@dataclass(frozen=True, slots=True)
class ContainerView:
    """A queue, bag or set that takes several variables.

    A queue `q` is `q.length` with `q[0]`, `q[1]`, ... or their fields `q[0].kind`; a bag or set `b` is one count or
    boolean for each element, `b[ACK, A]`.
    """

    path: str
    shape: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the model calls things, for pictures: lanes in order, pools, flights, containers."""

    lanes: tuple[str, ...] = ()
    pools: tuple[PoolView, ...] = ()
    flights: tuple[FlightView, ...] = ()
    containers: tuple[ContainerView, ...] = ()

    def pool(self, name: str) -> PoolView | None:
        """The pool of that name."""
        return next((pool for pool in self.pools if pool.name == name), None)


@dataclass(frozen=True, slots=True)
class Ground:
    """A part of the claim that decides the verdict, in the model's words and so that it is true; what it reads."""

    text: str
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A counterexample (or any behaviour) of a model.

    `parameters` are all sizes and switches in force; `claim` is the property in words; `blame` are the paths of the
    last state (or, for a deadlock or a failed assertion, the paths read) that decide the verdict; `loop` is the
    number of the state (0 is `init`) to which the last step of a run without end leads back: step `loop` + 1 follows
    again.  If it is the number of the last state the run stays there forever.  `grounds` are the parts of the claim
    that `blame` comes from, where it is a condition of one state.  `strength` is that of the search that found the
    run, and `shortest` whether no shorter run does it ("" and None where nobody said); `analysis` is what would have
    been.
    """

    model: str
    preset: str
    scope: str
    parameters: Mapping[str, bool | int | str]
    property: str
    claim: str
    verdict: str
    digest: str
    init: State
    steps: tuple[Step, ...]
    blame: tuple[str, ...] = ()
    loop: int | None = None
    why: tuple[str, ...] = ()
    replay: Mapping[str, object] | None = None
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    grounds: tuple[Ground, ...] = ()
    strength: str = ""
    shortest: bool | None = None
    analysis: Analysis | None = None

    def states(self) -> Iterator[State]:
        """The initial state and the state after each step (each a fresh dict)."""
        state = dict(self.init)
        yield dict(state)
        for step in self.steps:
            for path, (_, new) in step.delta.items():
                state[path] = new
            yield dict(state)

    def _repr_html_(self) -> str:
        """The trace as a notebook shows it: the page, in a frame."""
        # Pages stand to the right of traces, so what draws them is looked up when somebody wants to look.
        return str(import_module("kvproto.page.notebook").framed(self))
