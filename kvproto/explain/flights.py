"""Writes under way: followed from set to set, their pages found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kvproto.explain.events import Flight, Page, name_of
from kvproto.explain.slice import written
from kvproto.trace.trace import FlightView, State, Step, Trace, Value


def flights_of(trace: Trace, states: list[State]) -> Iterator[Flight]:
    """Every write that was posted in the trace or before it."""
    lookup = _Lookup(trace, states)
    for number, view in enumerate(trace.vocabulary.flights):
        for request in view.requests:
            for way in _followed(view, request, states):
                yield _flight(lookup, view, request, way, number)


@dataclass(slots=True)
class _Way:
    """A write on its way: where it is now (a set, by number), where it has been."""

    position: str
    posted: int
    set: int
    left: list[int] = field(default_factory=list)
    ended: int | None = None


def _followed(view: FlightView, request: str, states: list[State]) -> Iterator[_Way]:
    """Each write from the state in which it appears in a set to the one in which it is in none.

    A position that leaves one set in the very step in which it comes into another belongs to one write.
    """
    paths = [_fill(path, request, "") for path in (view.field, *view.also)]
    flying: dict[tuple[str, int], _Way] = {}
    for number, state in enumerate(states):
        now = [(position, at) for at, path in enumerate(paths) for position in _members(state.get(path))]
        gone = [key for key in flying if key not in now]
        for position, at in [key for key in now if key not in flying]:
            before = next((key for key in gone if key[0] == position), None)
            if before is None:
                flying[position, at] = _Way(position, number, at)
            else:
                gone.remove(before)
                way = flying[position, at] = flying.pop(before)
                way.set = at
                way.left.append(number)
        for key in gone:
            way = flying.pop(key)
            way.ended = number
            yield way
    yield from flying.values()


def _flight(lookup: _Lookup, view: FlightView, request: str, way: _Way, number: int) -> Flight:
    at = way.ended if way.ended is not None else len(lookup.states)
    state: Mapping[str, Value] = lookup.states[at - 1]
    step = lookup.trace.steps[way.ended - 1] if way.ended is not None else None
    target_path = _fill(view.target, request, way.position)
    label = state.get(target_path) if view.target else way.position
    target = lookup.page(target_path, label, request, at, content_of=step, pool=view.into)
    source_path = _fill(view.source, request, way.position)
    source = lookup.page(source_path, state.get(source_path), request, at, content_of=None, pool=view.out_of)
    owner, source_owner = lookup.owner(state, target), lookup.owner(state, source)
    touched = step is not None and target is not None and lookup.content(target, view.slice) in written(step)
    return Flight(
        request,
        way.position,
        way.posted,
        way.ended if touched else None,
        target,
        source,
        owner,
        source_owner,
        target is not None and owner != request,
        source is not None and source_owner != request,
        way.ended,
        view.slice,
        tuple(way.left),
        f"~{number}.{way.set}" if number or way.set else "",
        _fill((view.field, *view.also)[way.set], request, ""),
    )


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Finds the pages of writes."""

    trace: Trace
    states: list[State]

    def page(
        self, path: str, value: Value, request: str, at: int, *, content_of: Step | None, pool: str
    ) -> Page | None:
        """The page that `value` of variable `path` means, as seen before step `at` (1-based).

        In order of trust: the pool that the model names; the pool whose content the landing step touched; the pool
        whose owner was set by the step that stored the page number; the last one in which the page is the request's.
        """
        if value is None:
            return None
        label = str(value)
        if pool:
            return Page(pool, label)
        pools = [pool for pool in self.trace.vocabulary.pools if label in pool.pages]
        touched = set(written(content_of)) if content_of else set()
        stored = self._stored_with(path, at)
        for view in pools:
            if touched & set(view.contents(label).values()):
                return Page(view.name, label)
        for view in pools:
            if view.owned(label) in stored:
                return Page(view.name, label)
        owned = [p for p in pools if name_of(self.states[at - 1].get(p.owned(label))) == request]
        found = (owned or pools)[-1:]
        return Page(found[0].name, label) if found else None

    def _stored_with(self, path: str, at: int) -> set[str]:
        """What the last step before `at` that changed `path` changed together with it."""
        for step in reversed(self.trace.steps[: at - 1]):
            if path in step.delta:
                return set(step.delta)
        return set()

    def owner(self, state: Mapping[str, Value], page: Page | None) -> str | None:
        """Who owns the page in a state."""
        pool = self.trace.vocabulary.pool(page.pool) if page is not None else None
        return None if pool is None or page is None else name_of(state.get(pool.owned(page.label)))

    def content(self, page: Page, part: str) -> str | None:
        """The path of the content of a slice of the page."""
        pool = self.trace.vocabulary.pool(page.pool)
        return pool.contents(page.label).get(part, None) if pool is not None else None


class Targets:
    """Which pages the writes of a request are meant for, whoever owns them by now."""

    def __init__(self, trace: Trace) -> None:
        self._paths: dict[str, list[tuple[str, str]]] = {}
        self._unknown = not any(view.target for view in trace.vocabulary.flights)
        for view in trace.vocabulary.flights:
            for request in view.requests if view.target else ():
                head, _, tail = _fill(view.target, request, "{k}").partition("{k}")
                found = [path for path in trace.init if path.startswith(head) and path.endswith(tail)]
                self._paths.setdefault(request, []).extend((path, view.into) for path in found)

    def has(self, request: str | None, page: Page, state: State) -> bool:
        """Whether the page is a target of the request; true of all where the model does not say."""
        if self._unknown:
            return True
        paths = self._paths.get(request or "", [])
        return any(pool in ("", page.pool) and str(state.get(path)) == page.label for path, pool in paths)


def _fill(template: str, request: str, position: str) -> str:
    return template.replace("{r}", request).replace("{k}", position)


def _members(value: Value) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
