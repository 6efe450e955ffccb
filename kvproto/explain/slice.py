"""Backward slice: the steps that the verdict rests on, over reads-from edges.

A read of a path at step i comes from the last step before i that wrote it.  A step's reads include those of
its guards, so the slice holds what made a step possible as well as what it computed from.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.trace.trace import Step, Trace

START = 0
"""Number of the initial state; steps count from 1, the verdict is one after the last step."""


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """Step `step` read `path`, which step `source` wrote last (`START`: nobody did)."""

    step: int
    path: str
    source: int


@dataclass(frozen=True, slots=True)
class Slice:
    """Steps in the slice (`START` too, if something in it still holds the first value) and its edges.

    The verdict is not in `steps`; its edges carry the number `verdict`.
    """

    steps: frozenset[int]
    edges: tuple[Edge, ...]
    verdict: int

    def reads_of(self, step: int) -> tuple[Edge, ...]:
        """Edges of one step, in the order of its reads."""
        return tuple(edge for edge in self.edges if edge.step == step)

    def deciders(self) -> tuple[int, ...]:
        """Steps that last wrote what the verdict reads, latest first, without the initial state."""
        found = {edge.source for edge in self.edges if edge.step == self.verdict}
        return tuple(sorted(found - {START}, reverse=True))

    def past(self, step: int) -> frozenset[int]:
        """The steps that `step` rests on, itself included."""
        sources: dict[int, set[int]] = {}
        for edge in self.edges:
            sources.setdefault(edge.step, set()).add(edge.source)
        seen, todo = {step}, [step]
        while todo:
            new = sources.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return frozenset(seen)


def written(step: Step) -> tuple[str, ...]:
    """Paths that a step wrote; a changed path counts even if `writes` forgot it."""
    return tuple(dict.fromkeys([*step.writes, *step.delta]))


def backward_slice(trace: Trace) -> Slice:
    """The slice of `trace` from the paths that decide its verdict."""
    verdict = len(trace.steps) + 1
    every = _last_writers(trace, verdict)
    kept: list[Edge] = []
    steps: set[int] = set()
    todo = {verdict}
    while todo:
        # Sources lie before their readers, so by now everything that needs this step has been seen.
        step = max(todo)
        todo.discard(step)
        if step != verdict:
            steps.add(step)
        edges = every.get(step, ())
        kept += edges
        todo |= {edge.source for edge in edges}
    order = {edge: at for edges in every.values() for at, edge in enumerate(edges)}
    kept.sort(key=lambda edge: (edge.step, order[edge]))
    return Slice(frozenset(steps), tuple(kept), verdict)


def _last_writers(trace: Trace, verdict: int) -> dict[int, tuple[Edge, ...]]:
    """The reads-from edges of every step and of the verdict."""
    writer: dict[str, int] = {}
    found: dict[int, tuple[Edge, ...]] = {}
    for number, step in enumerate(trace.steps, 1):
        found[number] = tuple(Edge(number, p, writer.get(p, START)) for p in dict.fromkeys(step.reads))
        writer |= dict.fromkeys(written(step), number)
    found[verdict] = tuple(Edge(verdict, p, writer.get(p, START)) for p in dict.fromkeys(trace.blame))
    return found
