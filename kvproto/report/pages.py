"""The history of every page: who owned it, who wrote it last, and what was still on its way to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvproto.explain import Flight, Page
from kvproto.explain.events import name_of
from kvproto.explain.slice import written
from kvproto.explain.words import count, joined
from kvproto.report.report import Cell, Pool
from kvproto.trace.printable import printable
from kvproto.trace.trace import PoolView, State, Trace


def pools(trace: Trace, states: Sequence[State], flights: Iterable[Flight]) -> tuple[Pool, ...]:
    """The pools with a cell for each time that something about a page changes."""
    to: dict[Page, list[Flight]] = {}
    for flight in flights:
        if flight.target is not None:
            to.setdefault(flight.target, []).append(flight)
    return tuple(_pool(trace, view, states, to) for view in trace.vocabulary.pools)


def _pool(trace: Trace, view: PoolView, states: Sequence[State], to: dict[Page, list[Flight]]) -> Pool:
    slices = tuple(part.name for part in view.slices)
    moments = _moments(trace, view, to)
    cells = []
    for label in view.pages:
        history: list[Cell] = []
        page = Page(view.name, label)
        flights = to.get(page, [])
        under_way: dict[int, Flight] = {}
        posted = 0
        for state in sorted(moments[label]):
            # Writes are in the order of their posting, so only those under way are looked at.
            while posted < len(flights) and flights[posted].posted <= state:
                under_way[posted] = flights[posted]
                posted += 1
            under_way = {at: f for at, f in under_way.items() if f.ended is None or state < f.ended}
            coming = tuple(flight.request for flight in under_way.values())
            cell = _cell(view, page, slices, states[state], state, coming)
            if not history or history[-1].words != cell.words:
                history.append(cell)
        cells.append(tuple(history))
    return Pool(view.name, view.pages, slices, tuple(cells))


def _moments(trace: Trace, view: PoolView, to: dict[Page, list[Flight]]) -> dict[str, set[int]]:
    """The states in which each page may be another than before."""
    found: dict[str, set[int]] = {label: {0} for label in view.pages}
    place = {path: p for p in view.pages for path in (view.owned(p), *view.contents(p).values())}
    for number, step in enumerate(trace.steps, 1):
        for path in written(step):
            if path in place:
                found[place[path]].add(number)
    for page, flights in to.items():
        if page.pool == view.name and page.label in found:
            found[page.label] |= {n for f in flights for n in (f.posted, f.ended) if n is not None}
    return found


def _cell(
    view: PoolView, page: Page, slices: tuple[str, ...], state: State, number: int, coming: tuple[str, ...]
) -> Cell:
    owner = name_of(state.get(view.owned(page.label)))
    contents = tuple(name_of(state.get(path)) for path in view.contents(page.label).values())
    stale = any(content != owner for content in contents)
    return Cell(number, owner, contents, coming, stale, _words(page, owner, contents, slices, coming))


def _words(
    page: Page, owner: str | None, contents: tuple[str | None, ...], slices: tuple[str, ...], coming: tuple[str, ...]
) -> str:
    """`decode page 3: owner B, last written by A; 1 write of A under way`."""
    who = f"owner {printable(owner)}" if owner is not None else "free"
    text = f"{printable(page.pool)} page {printable(page.label)}: {who}, {_written(contents, slices)}"
    waiting = [f"{count(coming.count(r), 'write')} of {printable(r)}" for r in dict.fromkeys(coming)]
    return f"{text}; {joined(waiting)} under way" if waiting else text


def _written(contents: tuple[str | None, ...], slices: tuple[str, ...]) -> str:
    if len(set(contents)) > 1:
        parts = [f"{printable(part)} {_by(content)}" for part, content in zip(slices, contents, strict=True)]
        return joined(parts)
    return _by(contents[0]) if contents else "never written"


def _by(content: str | None) -> str:
    return f"last written by {printable(content)}" if content is not None else "never written"
