"""Page pools and writes under way, as a model declares them for pictures, found in its state."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NoReturn

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.ir.nodes import FlightInfo, PoolInfo
from kvproto.ir.types import ArrayT, LeafT, OptT, RecordT, SetT, Type
from kvproto.lang.frontend.paths import StatePath, find, labels_of
from kvproto.lang.frontend.typing import sort_type
from kvproto.lang.model import Flights, Model, Pool
from kvproto.lang.source import load

REQUEST, POSITION = "r", "k"
"""What `Flights` calls its two indices, in the model and in traces."""

PAGE = "*"
"""The index of a page while paths are put together, which no model can write; traces call it `w`."""


def views(model: Model, state: RecordT) -> tuple[tuple[PoolInfo, ...], tuple[FlightInfo, ...]]:
    """The pools and flights of a model, one for each choice of ranks.

    Raises KV156 for a path that is not in the state, or that has another shape than its declaration needs.
    """
    pools = [_PoolPaths(model, state, pool) for pool in model.pools]
    flights = [info for view in model.flights for info in _flights(model, state, view, pools)]
    return tuple(info for paths in pools for info in paths.infos()), tuple(flights)


class _Declared:
    """A declaration of the model, which finds paths and complains at its own place."""

    def __init__(self, model: Model, state: RecordT, call: str, name: str) -> None:
        self.model = model
        self.state = state
        self.call = call
        self.what = f"{call.lower()} {name!r}" if name else call.lower()

    def find(self, text: str, implied: str = "") -> StatePath:
        """The path in the state."""

        def refuse(message: str, reason: str, cure: str) -> NoReturn:
            self.refuse(text, message, reason, cure)

        return find(text, self.state, implied, refuse)

    def refuse(self, text: str, message: str, reason: str, cure: str) -> NoReturn:
        """KV156 at the string in a call of this kind in the file of the model, or at the call, if they stand there."""
        source = load(Path(self.model.source))
        calls = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and _called(n) == self.call]
        nodes = [n for call in calls for n in ast.walk(call) if isinstance(n, ast.Constant) and n.value == text]
        message = f"{self.what}: {message}"
        for node in (*nodes, *calls):
            source.fail("KV156", node, message, reason, cure)
        raise KvError("KV156", message, reason=reason, cure=cure)


class _PoolPaths(_Declared):
    """The two paths of a pool, their last index over the page sort called `PAGE`."""

    def __init__(self, model: Model, state: RecordT, pool: Pool) -> None:
        super().__init__(model, state, "Pool", pool.name)
        self.name = pool.name
        self.page = sort_type(pool.page)
        self.owner = self._page_path(pool.owner)
        self.content = self._page_path(pool.content)
        self.ranks = {name: kind for name, kind in self.owner.holes.items() if name != PAGE}
        lacking = [name for name, kind in self.owner.holes.items() if self.content.holes.get(name) != kind]
        if lacking:
            self.refuse(
                pool.content,
                f"{pool.content} has no index {lacking[0]!r} like the one of {pool.owner}",
                "a page that has an owner on each rank has content on each rank",
                "give the same indices the same names in both paths",
            )
        self.slices = {name: kind for name, kind in self.content.holes.items() if name not in self.owner.holes}

    def _page_path(self, text: str) -> StatePath:
        path = self.find(text)
        if isinstance(path.end, ArrayT) and path.end.index == self.page:
            path = path.indexed(PAGE)
        else:
            over = [name for name, kind in path.holes.items() if kind == self.page]
            if not over:
                self.refuse(
                    text,
                    f"{text} is not by page",
                    f"a pool has an owner and content for each element of {self.page}",
                    f"name an array over {self.page}, or a field with such an index in its path",
                )
            path = path.renamed(over[-1], PAGE)
        if isinstance(path.end, ArrayT | RecordT | SetT):
            self.refuse(
                text,
                f"{text} is no single value for a page but of type {path.end}",
                "a page has one owner, and one last writer for each slice",
                "go on to the field that says who, with a name for each further index",
            )
        return path

    def infos(self) -> Iterator[PoolInfo]:
        """One pool for each rank."""
        for labels in _choices(self.ranks):
            paths = [(_bracket(some), self.content.filled({**labels, **some})) for some in _choices(self.slices)]
            texts = [(name, _bare(text)) for name, text in paths]
            slices = tuple(texts) if len(texts) > 1 else ()
            yield PoolInfo(self.named(labels), self.page, _bare(self.owner.filled(labels)), texts[0][1], slices)

    def named(self, labels: Mapping[str, str]) -> str:
        """`decode`, or `decode[1]` where there are several ranks."""
        several = len(list(_choices(self.ranks))) > 1
        return self.name + "".join(f"[{labels[name]}]" for name in self.ranks if several)

    def sliced(self, labels: Mapping[str, str]) -> str:
        """The name of the slice of those labels; empty where there is one only."""
        several = len(list(_choices(self.slices))) > 1
        return _bracket({name: labels[name] for name in self.slices}) if several else ""


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _choices(kinds: Mapping[str, LeafT]) -> Iterator[dict[str, str]]:
    """All labels for some indices."""
    for labels in product(*(labels_of(kind) for kind in kinds.values())):
        yield dict(zip(kinds, labels, strict=True))


def _bracket(labels: Mapping[str, str]) -> str:
    """The name of a slice: `p=0`."""
    return ", ".join(f"{name}={label}" for name, label in labels.items())


def _bare(text: str) -> str:
    """A path as traces write it: without the page's index if that is the last thing in it."""
    return text.removesuffix(f"[{{{PAGE}}}]").replace(f"{{{PAGE}}}", "{w}")


def _flights(model: Model, state: RecordT, view: Flights, pools: Sequence[_PoolPaths]) -> Iterator[FlightInfo]:
    place = _FlightPaths(model, state, view, pools)
    if any(isinstance(path.end, RecordT) for path in place.fields):
        return  # Sets of so many positions are no single variables, and nobody could look at a picture of them.
    for labels in _choices(place.ranks):
        fields = [path.filled(labels) for path in place.fields]
        yield FlightInfo(
            place.requests,
            fields[0],
            place.target.filled(labels) if place.target else "",
            place.source.filled(labels) if place.source else "",
            tuple(fields[1:]),
            place.into.named(labels) if place.into else "",
            place.into.sliced(labels) if place.into else "",
            place.out_of.named(labels) if place.out_of else "",
        )


class _FlightPaths(_Declared):
    """The paths of flights, and the pools that they go between."""

    def __init__(self, model: Model, state: RecordT, view: Flights, pools: Sequence[_PoolPaths]) -> None:
        texts = (view.field,) if isinstance(view.field, str) else tuple(view.field)
        super().__init__(model, state, "Flights", texts[0] if texts else "")
        self.fields = [self._field(text) for text in texts]
        if not self.fields:
            self.refuse("", "there is no field", "it holds the writes under way", 'name one: Flights("req.flying")')
        for text, path in zip(texts, self.fields, strict=True):
            if path.holes != self.fields[0].holes:
                self.refuse(
                    text,
                    f"{text} has other indices than {texts[0]}",
                    "a write goes from one field to another under the same request and ranks",
                    "give the fields the same indices with the same names",
                )
        holes = self.fields[0].holes
        self.requests = labels_of(holes[REQUEST])
        self.ranks = {name: kind for name, kind in holes.items() if name != REQUEST}
        self.target = self._page(view.target) if view.target else None
        self.source = self._page(view.source) if view.source else None
        self.into = self._pool(view.into, pools, self.target, slices=True) if view.into else None
        self.out_of = self._pool(view.out_of, pools, self.source, slices=False) if view.out_of else None

    def _field(self, text: str) -> StatePath:
        path = self.find(text, REQUEST)
        if REQUEST not in path.holes or not _is_set(path.end):
            self.refuse(
                text,
                f"{text} is no set of positions for each request",
                f"it is of type {path.end}" if REQUEST in path.holes else "no index of it is called r",
                "name a field that is a set, with [r] for the request: sender[p][r].flying[d]",
            )
        return path

    def _page(self, text: str) -> StatePath:
        path = self.find(text, REQUEST + POSITION)
        holes = self.fields[0].holes
        odd = [n for n, kind in path.holes.items() if holes.get(n, kind if n == POSITION else None) != kind]
        if odd:
            self.refuse(
                text,
                f"{text} has an index {odd[0]!r} that the field of the writes has not",
                "a write is known by its request r, its position k, and the ranks in the path of its field",
                f"use {', '.join([*holes, POSITION])}, each for the same sort as in the field",
            )
        if isinstance(path.end, ArrayT | RecordT | SetT):
            self.refuse(
                text,
                f"{text} is no page but of type {path.end}",
                "a write goes from one page to one page",
                "go on to the field that holds the page's number, with [k] for the position",
            )
        return path

    def _pool(self, name: str, pools: Sequence[_PoolPaths], page: StatePath | None, *, slices: bool) -> _PoolPaths:
        pool = next((pool for pool in pools if pool.name == name), None)
        if pool is None:
            self.refuse(
                name,
                f"there is no pool {name!r}{did_you_mean(name, [pool.name for pool in pools])}",
                "flights go between pools of the model",
                "name one of: " + (", ".join(pool.name for pool in pools) or "(the model has none)"),
            )
        if page is not None and _inner(page.end) != pool.page:
            self.refuse(
                name,
                f"pool {name!r} has pages of {pool.page}, and {page} is of type {page.end}",
                "the number of a page says which one it is in its own pool only",
                "name the pool of those pages",
            )
        needed = {**pool.ranks, **(pool.slices if slices else {})}
        odd = [n for n, kind in needed.items() if self.ranks.get(n) != kind]
        if odd:
            self.refuse(
                name,
                f"it is not said which {odd[0]} of pool {name!r} is meant",
                f"the pool's paths have an index {odd[0]!r} that the field of the writes has not",
                "give indices that mean the same the same name in Pool and Flights",
            )
        return pool


def _is_set(kind: Type) -> bool:
    return isinstance(kind, SetT) or (isinstance(kind, RecordT) and kind.shape == "set")


def _inner(kind: Type) -> Type:
    return kind.inner if isinstance(kind, OptT) else kind
