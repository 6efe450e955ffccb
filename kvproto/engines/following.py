"""A trace on an engine's own code: the model's steps as steps of the engine, and the states compared after each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvproto.engines import fitting
from kvproto.engines.child import Child, EngineRaised
from kvproto.engines.protocol import Client, Now, State
from kvproto.trace.trace import Step, Trace, Value


@dataclass(frozen=True, slots=True)
class Difference:
    """A variable that the engine has otherwise."""

    path: str
    model: Value
    engine: Value


@dataclass(frozen=True, slots=True)
class Point:
    """One step of the trace: what the engine was asked to do, and how it differs afterwards.

    `grouped` steps were done together with an earlier one.  `compared` is false in the middle of such a group.
    """

    number: int
    call: str
    points: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str = ""
    grouped: bool = False
    compared: bool = True
    differences: tuple[Difference, ...] = ()

    @property
    def diverges(self) -> bool:
        """Whether the engine does not do what the model does."""
        return bool(self.refused or self.differences)


@dataclass(frozen=True, slots=True)
class Followed:
    """A replay on an engine.  It ends with the first step that diverges.

    `compared` variables are looked at after each step, `left_out` are those of the model that are not.
    """

    engine: str
    preset: str
    steps: int
    points: tuple[Point, ...]
    settled: tuple[Point, ...]
    clients: Mapping[str, Client]
    violations: tuple[str, ...]
    compared: int
    left_out: tuple[str, ...]

    @property
    def divergence(self) -> Point | None:
        """The step at which the engine does not do what the model does."""
        return self.points[-1] if self.points and self.points[-1].diverges else None

    def summary(self) -> dict[str, object]:
        """JSON values: the verdict, every client, and the places that each step called."""
        ended = self.divergence
        return {
            "implementation": self.engine,
            "agrees": ended is None,
            "performed": sum(not point.refused for point in self.points),
            "divergence": None if ended is None else divergence_text(ended),
            "violations": list(self.violations),
            "variables": {"compared": self.compared, "left_out": list(self.left_out)},
            "clients": {label: _client(client) for label, client in self.clients.items()},
            "steps": [
                {"step": one.call, "points": list(one.points), "aside": list(one.aside), "notes": list(one.notes)}
                for one in (*self.points, *self.settled)
            ],
        }


def _client(client: Client) -> dict[str, object]:
    return {
        "client": client.client,
        "prompt_tokens": client.tokens,
        "legs": {side: {"status": leg.status, "text": leg.text} for side, leg in client.legs.items()},
        "reads": [{"tokens": dict(read.tokens), "pages": [list(page) for page in read.pages]} for read in client.reads],
    }


def divergence_text(point: Point) -> str:
    """The first difference in words."""
    where = f"step {point.number}, {point.call}" if point.number else "the initial state"
    if point.refused:
        return f"{where}: the engine does not do it: {point.refused}"
    first, *more = point.differences
    others = f" (and {len(more)} more variables differ)" if more else ""
    return f"{where}: {first.path} is {_shown(first.model)} in the model, {_shown(first.engine)} in the engine{others}"


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else "none" if value is None else str(value)


def follow(trace: Trace, child: Child) -> Followed:
    """Drive an engine along a trace, up to its end or to the first difference."""
    sizes = fitting.sizes(trace)
    now = child.start(sizes)
    left_out = tuple(path for path in trace.init if path not in now.state)
    points: list[Point] = []
    states = trace.states()
    differences = _differences(next(states), now)
    if differences:
        points.append(Point(0, "", differences=differences))
    else:
        now = _steps(trace, child, now, points)
    diverged = bool(points) and points[-1].diverges
    settled = [] if diverged else _settle(child, now, len(points))
    return Followed(
        engine=f"{child.engine.name}=={child.version}",
        preset=trace.preset,
        steps=len(trace.steps),
        points=tuple(points),
        settled=tuple(settled),
        clients=child.view(),
        violations=now.violations,
        compared=len(now.state),
        left_out=left_out,
    )


def _steps(trace: Trace, child: Child, now: Now, points: list[Point]) -> Now:
    """Perform and compare; adds to `points`, stops at the first difference."""
    states = trace.states()
    next(states)
    grouping = trace.parameters.get("deferred_release") is True
    pending: set[object] = set()
    for number, (step, state) in enumerate(zip(trace.steps, states, strict=True), 1):
        about = step.args.get("r")
        if step.action in fitting.GROUPED[1:]:
            if step.action == fitting.GROUPED[-1]:
                pending.discard(about)
            point = Point(number, call(step), grouped=True)
        else:
            try:
                done = child.perform(step.action, fitting.arguments(step))
            except EngineRaised as error:
                points.append(Point(number, call(step), refused=f"its code raises {error.told} ({error.where})"))
                break
            now = done.now
            point = Point(number, call(step), done.points, done.aside, done.notes, done.refused)
            if step.action == fitting.GROUPED[0] and grouping:
                pending.add(about)
        points.append(_compared(point, state, now, bool(pending)))
        if points[-1].diverges:
            break
    return now


def _compared(point: Point, state: Mapping[str, Value], now: Now, inside: bool) -> Point:
    """The step with what differs after it; inside of a group nothing is compared."""
    differences = () if inside or point.refused else _differences(state, now)
    return Point(
        point.number,
        point.call,
        point.points,
        point.aside,
        point.notes,
        point.refused,
        point.grouped,
        not inside,
        differences,
    )


def _settle(child: Child, now: Now, number: int) -> list[Point]:
    """Every request that decode is generating for comes to its end, so that the answers are there."""
    done = []
    for path, value in now.state.items():
        if path.endswith(".decode") and value == "RUNNING":
            label = path.removeprefix("req[").partition("]")[0]
            step = child.perform("finish", {"r": label})
            number += 1
            done.append(Point(number, f"finish({label})", step.points, step.aside, step.notes, step.refused))
    return done


def _differences(model: Mapping[str, Value], now: Now) -> tuple[Difference, ...]:
    """What the engine has otherwise, in the model's order."""
    state: State = now.state
    return tuple(
        Difference(path, value, state[path])
        for path, value in model.items()
        if path in state and not _same(value, state[path])
    )


def _same(one: Value, other: Value) -> bool:
    """Equality of JSON values; unlike in Python, `true` is not 1."""
    return type(one) is type(other) and one == other


def call(step: Step) -> str:
    """A step as one writes it, without ranks: `land(A, 2)`."""
    values = [str(v).lower() if isinstance(v, bool) else str(v) for v in fitting.arguments(step).values()]
    return f"{step.action}({', '.join(values)})"
