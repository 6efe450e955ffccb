"""From parsed JSON to a `Trace`: every field checked, every complaint with the JSON pointer of the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from kvproto.trace.analysis_shape import analysis_of
from kvproto.trace.field import Field, check_plain, describe, paths_of, present
from kvproto.trace.trace import (
    SCHEMA,
    ContainerView,
    FlightView,
    Ground,
    PoolView,
    SliceView,
    State,
    Step,
    Trace,
    Value,
    Vocabulary,
    at_page,
)

T = TypeVar("T")

TOP_KEYS = (
    "schema",
    "model",
    "preset",
    "scope",
    "parameters",
    "property",
    "claim",
    "verdict",
    "digest",
    "why",
    "vocabulary",
    "init",
    "steps",
    "blame",
    "loop",
    "replay",
)
EXTRA_TOP_KEYS = ("grounds", "strength", "shortest", "analysis")
STEP_KEYS = ("action", "args", "lane", "loc", "text", "reads", "writes", "delta")
VOCABULARY_KEYS = ("lanes", "pools", "flights")
POOL_KEYS = ("name", "pages", "owner", "content")
EXTRA_POOL_KEYS = ("slices",)
FLIGHT_KEYS = ("requests", "field", "target", "source")
EXTRA_FLIGHT_KEYS = ("also", "into", "slice", "out_of")
CONTAINER_KEYS = ("path", "shape")


def trace_of(root: object, name: str) -> Trace:
    """The trace that the parsed file holds, or KV012."""
    top = Field(root, "", name)
    if not isinstance(root, dict) or "schema" not in root:
        top.refuse(f'an object with "schema": "{SCHEMA}"')
    if root["schema"] != SCHEMA:
        Field(root["schema"], "/schema", name).refuse(f'"{SCHEMA}"')
    check_plain(root, name)
    names = [*TOP_KEYS, *present(top, EXTRA_TOP_KEYS)]
    at = dict(zip(names, top.keys(*names), strict=True))
    state = {path: item.state_value() for path, item in at["init"].mapping().items()}
    steps = _steps(at["steps"], dict(state))
    return Trace(
        model=at["model"].text(),
        preset=at["preset"].text(),
        scope=at["scope"].text(),
        parameters={key: item.scalar() for key, item in at["parameters"].mapping().items()},
        property=at["property"].text(),
        claim=at["claim"].text(),
        verdict=at["verdict"].text(),
        digest=at["digest"].text(),
        init=state,
        steps=steps,
        blame=paths_of(at["blame"], state),
        loop=_loop(at["loop"], len(steps)),
        why=at["why"].texts(),
        replay=_replay(at["replay"]),
        vocabulary=_vocabulary(at["vocabulary"], state),
        grounds=_each(at["grounds"], _ground, state) if "grounds" in at else (),
        strength=at["strength"].text() if "strength" in at else "",
        shortest=at["shortest"].flag() if "shortest" in at else None,
        analysis=analysis_of(at["analysis"], state, len(steps)) if "analysis" in at else None,
    )


def _ground(place: Field, state: State) -> Ground:
    text, reads = place.keys("text", "reads")
    return Ground(text.text(), paths_of(reads, state))


def _steps(place: Field, state: State) -> tuple[Step, ...]:
    return tuple(_step(item, state) for item in place.items())


def _step(place: Field, state: State) -> Step:
    """One step; `state` is brought forward by its delta."""
    action, args, lane, loc, text, reads, writes, delta = place.keys(*STEP_KEYS)
    return Step(
        action=action.text(),
        args={key: item.state_value() for key, item in args.mapping().items()},
        lane=lane.text(),
        loc=loc.text(),
        text=text.text(),
        reads=paths_of(reads, state),
        writes=paths_of(writes, state),
        delta=_delta(delta, state),
    )


def _delta(place: Field, state: State) -> Mapping[str, tuple[Value, Value]]:
    changes: dict[str, tuple[Value, Value]] = {}
    for path, item in place.mapping().items():
        if path not in state:
            item.refuse("a variable of init", "an unknown path")
        pair = item.items()
        if len(pair) != 2:
            item.refuse("[old, new]")
        old, new = (one.state_value() for one in pair)
        if not same(old, state[path]):
            pair[0].refuse(f"the value before this step, {describe(state[path])}")
        changes[path] = (old, new)
    for path, (_, new) in changes.items():
        state[path] = new
    return changes


def same(left: Value, right: Value) -> bool:
    """Equality of JSON values: `true` is not `1`."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def _loop(place: Field, steps: int) -> int | None:
    if place.value is None:
        return None
    if isinstance(place.value, bool) or not isinstance(place.value, int):
        place.refuse("null or the number of a state")
    if not 0 <= place.value <= steps:
        place.refuse(f"a number from 0 to {steps}")
    return place.value


def _replay(place: Field) -> Mapping[str, object] | None:
    if place.value is None:
        return None
    if not isinstance(place.value, dict):
        place.refuse("null or an object")
    return dict(place.value)


def _vocabulary(place: Field, state: State) -> Vocabulary:
    # Left out where a model has none.
    held = place.mapping().get("containers")
    lanes, pools, flights, *_ = place.keys(*VOCABULARY_KEYS, *(["containers"] if held else []))
    containers = _each(held, _container, state) if held else ()
    views = _each(pools, _pool, state)
    writes = tuple(_flight(item, state, {pool.name: pool for pool in views}) for item in flights.items())
    return Vocabulary(lanes.texts(), views, writes, containers)


def _each(place: Field, make: Callable[[Field, State], T], state: State) -> tuple[T, ...]:
    return tuple(make(item, state) for item in place.items())


def _pool(place: Field, state: State) -> PoolView:
    name, pages, owner, content, *extra = place.keys(*POOL_KEYS, *present(place, EXTRA_POOL_KEYS))
    slices = [part.keys("name", "content") for item in extra for part in item.items()]
    for array in (owner, content, *(path for _, path in slices)):
        for page in pages.texts():
            if at_page(array.text(), page) not in state:
                array.refuse("an array of init over the pages of the pool")
    parts = tuple(SliceView(title.text(), path.text()) for title, path in slices)
    return PoolView(name.text(), pages.texts(), owner.text(), content.text(), parts)


def _flight(place: Field, state: State, pools: Mapping[str, PoolView]) -> FlightView:
    names = present(place, EXTRA_FLIGHT_KEYS)
    requests, field, target, source, *rest = place.keys(*FLIGHT_KEYS, *names)
    extra = dict(zip(names, rest, strict=True))
    also = extra.pop("also").items() if "also" in extra else []
    for path in (field, *also):
        for request in requests.texts():
            if not isinstance(state.get(path.text().replace("{r}", request)), list):
                path.refuse("the path of a set of init, with {r} for the request")
    more = {key: item.text() for key, item in extra.items()}
    for key in ("into", "out_of"):
        if more.get(key, "") not in ("", *pools):
            extra[key].refuse("the name of a pool")
    if "slice" in more and more["slice"] not in [part.name for part in _slices(pools, more.get("into", ""))]:
        extra["slice"].refuse("the name of a slice of the pool in into")
    texts = field.text(), target.text(), source.text()
    return FlightView(requests.texts(), *texts, tuple(path.text() for path in also), **more)


def _slices(pools: Mapping[str, PoolView], name: str) -> tuple[SliceView, ...]:
    return pools[name].slices if name in pools else ()


def _container(place: Field, state: State) -> ContainerView:
    path, shape = place.keys(*CONTAINER_KEYS)
    if shape.text() not in ("queue", "bag", "set"):
        shape.refuse('"queue", "bag" or "set"')
    queue = shape.text() == "queue"
    if f"{path.text()}.length" not in state if queue else not any(p.startswith(f"{path.text()}[") for p in state):
        path.refuse(f"the path of a {shape.text()} of init")
    return ContainerView(path.text(), shape.text())
