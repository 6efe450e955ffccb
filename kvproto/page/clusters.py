"""Several traces in groups: those that tell the same story stand together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvproto.page.content import Content

_LAST = 5
"""Stories begin alike: so many steps of the cause, the last ones, tell them apart."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Traces of one shape: the property, the last steps of the cause, and the traces, shortest first."""

    property: str
    skeleton: str
    traces: tuple[Content, ...]


def clusters(traces: Sequence[Content]) -> list[Cluster]:
    """The traces by shape, in the order in which the shapes first occur."""
    groups: dict[str, list[Content]] = {}
    for trace in traces:
        groups.setdefault(trace.shape, []).append(trace)
    return [_cluster(shape, group) for shape, group in groups.items()]


def _cluster(shape: str, group: Sequence[Content]) -> Cluster:
    """`worker.begin worker.call` becomes `worker begin, call`: a machine is named once in a row."""
    words: list[str] = []
    at = ""
    for part in shape.partition(": ")[2].split(" ")[-_LAST:]:
        lane, _, action = part.rpartition(".")
        words.append(action if lane == at else f"{lane} {action}")
        at = lane
    ordered = sorted(group, key=lambda trace: (len(trace.rows), trace.number))
    return Cluster(group[0].property, ", ".join(words), tuple(ordered))
