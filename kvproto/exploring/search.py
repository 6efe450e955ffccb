"""The two ways through an implementation: every order up to a depth, and many orders drawn at random."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from kvproto.diagnostics import KvError
from kvproto.exploring.beside import Beside
from kvproto.exploring.course import Course, Node
from kvproto.exploring.findings import DEFAULT, Findings, Violation, Way
from kvproto.exploring.shorten import shorter
from kvproto.exploring.target import Happening, Path, Target

WEIGHTS = {
    "disconnect": 0.15,
    "call_fails": 0.1,
    "vanish": 0.2,
    "attend": 0.5,
    "abort_on_prefill": 0.5,
    "waiting_timeout": 0.1,
    "bootstrap_timeout": 0.1,
    "release_timeout": 0.5,
}
"""How likely a step is among others, by default 1: with many disturbances no request would get far."""

TASTES = (0.1, 1.0, 1.0, 4.0)
"""What a schedule multiplies the weight of each action of each request with, drawn once for all its steps."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is explored: every order up to `depth` steps, then `schedules` orders of at most `length` steps.

    `first` are steps that all of them begin with; depth and length count from there.  `time_limit` (seconds) is for
    both together, none of it for what is then made shorter.  `tell` is told now and then how far it has come.
    """

    depth: int = 4
    schedules: int = 100
    length: int = 60
    seed: int = 0
    ticks: bool = False
    first: Path = ()
    time_limit: float | None = None
    claims: Collection[str] = DEFAULT
    clock: Callable[[], float] = time.monotonic
    tell: Callable[[str], None] = lambda _: None


@dataclass(slots=True)
class Extent:
    """How much of one way was gone: `depth` levels or `schedules` orders as a whole; `cut` says that time ran out."""

    way: Way
    places: int = 0
    steps: int = 0
    depth: int = 0
    schedules: int = 0
    seconds: float = 0.0
    cut: bool = False
    exhausted: bool = False


@dataclass(slots=True)
class Explored:
    """An exploration: how far it went, and what it found."""

    target: str
    plan: Plan
    extents: list[Extent] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)

    @property
    def exit_code(self) -> int:
        """1 if something was found; else 3, since a search of code is never complete."""
        return 1 if self.findings.wrong else 3


def explore(target: Target, beside: Beside, plan: Plan) -> Explored:
    """Explore an implementation with its model beside it."""
    result = Explored(target.name, plan)
    course = Course(target, beside, result.findings, claims=plan.claims, ticks=plan.ticks)
    limit = None if plan.time_limit is None else plan.clock() + plan.time_limit
    if plan.depth:
        result.extents.append(_Timed(course, plan, limit).exhaustive())
    if plan.schedules:
        result.extents.append(_Timed(course, plan, limit).sampled())
    for claim, found in list(result.findings.violations.items()):
        if found.way == "sampled" and not plan.first:
            path = shorter(target, beside, found.path, claim, model_too=found.expected)
            result.findings.violations[claim] = Violation(claim, path, found.way, found.expected)
    return result


class _Timed:
    def __init__(self, course: Course, plan: Plan, limit: float | None) -> None:
        self.course = course
        self.plan = plan
        self.limit = limit
        self.begun = plan.clock()
        self.before = course.steps

    def over(self) -> bool:
        """Whether the time is up."""
        return self.limit is not None and self.plan.clock() > self.limit

    def extent(self, way: Way, places: int) -> Extent:
        """What was gone until now."""
        return Extent(way, places, self.course.steps - self.before, seconds=self.plan.clock() - self.begun)

    # ----------------------------------------------------------------------------------- every order

    def exhaustive(self) -> Extent:
        """Level by level, each place once; a place where the code has left the model is not gone on from."""
        first = self.course.begin("bounded", self.plan.first)
        level, seen, depth = [first] if first.model is not None else [], {first.key}, 0
        while level and depth < self.plan.depth:
            following: list[Node] = []
            for node in level:
                if self.over():
                    extent = self.extent("bounded", len(seen))
                    extent.depth, extent.cut = depth, True
                    return extent
                self.plan.tell(f"depth {depth + 1}: {len(seen)} places")
                following += self._successors(node, seen)
            level, depth = following, depth + 1
        extent = self.extent("bounded", len(seen))
        extent.depth, extent.exhausted = depth, not level
        return extent

    def _successors(self, node: Node, seen: set[bytes]) -> list[Node]:
        self._return_to(node)
        found = []
        for number, step in enumerate(self.course.offered(node, "bounded")):
            if number:
                self._return_to(node)
            reached = self.course.take(node, step, "bounded")
            if reached is None or reached.key in seen:
                continue
            seen.add(reached.key)
            if reached.model is not None:
                found.append(reached)
        return found

    def _return_to(self, node: Node) -> None:
        did = self.course.at(node.path)
        if did.refused or did.look.state != node.look.state:
            raise KvError(
                "KV061",
                f"{self.course.target.name} does not do the same again after {len(node.path)} steps",
                reason=did.refused or "the same steps from the beginning led to another state",
                cure="report it: an exploration begins again all the time, and needs code that repeats itself",
            )

    # ----------------------------------------------------------------------------------- orders at random

    def sampled(self) -> Extent:
        """Schedules one after the other, each from the beginning and by its own numbers of the seed."""
        seen: set[bytes] = set()
        done = 0
        while done < self.plan.schedules and not self.over() and not self._all_broken():
            self._walk(random.Random(f"{self.plan.seed}/{done}"), seen)
            done += 1
            self.plan.tell(f"{done} of {self.plan.schedules} orders: {len(seen)} places")
        extent = self.extent("sampled", len(seen))
        extent.schedules, extent.cut = done, done < self.plan.schedules and not self._all_broken()
        return extent

    def _all_broken(self) -> bool:
        """Whether nothing is left that is asked for."""
        return self.course.claims <= set(self.course.findings.violations)

    def _walk(self, rng: random.Random, seen: set[bytes]) -> None:
        draw = _Draw(rng)
        node = self.course.begin("sampled", self.plan.first)
        for _ in range(self.plan.length):
            seen.add(node.key)
            steps = self.course.offered(node, "sampled")
            if not steps:
                return
            reached = self.course.take(node, draw.one(steps), "sampled")
            if reached is None:
                return
            node = reached


class _Draw:
    """Draws steps.  Each schedule has tastes of its own: one in which a request is far ahead, one that aborts early.

    With the same weights for all of them most would look alike.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._tastes: dict[tuple[str, object], float] = {}

    def one(self, steps: list[Happening]) -> Happening:
        """One of the steps."""
        return self._rng.choices(steps, [self._weight(step) for step in steps])[0]

    def _weight(self, step: Happening) -> float:
        about = (step.action, dict(step.args).get("r"))
        if about not in self._tastes:
            self._tastes[about] = self._rng.choice(TASTES)
        return WEIGHTS.get(step.action, 1.0) * self._tastes[about]
