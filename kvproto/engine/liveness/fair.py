"""Where a fair run can stay for ever: emptiness of a Streett condition, by components.

A run that goes on for ever stays, from some point on, in a strongly connected set of states, all of which it visits
again and again; a run that stops stays in one state.  Such a set is *fair* if for every weakly fair group it has a step
of the group inside or a state where it is not enabled, and for every strongly fair group a step of it inside or no
state where it is enabled.  A step that leads out of the set counts as enabled.
"""

from __future__ import annotations

from collections.abc import Callable

from kvproto.engine.liveness.graph import Graph
from kvproto.engine.liveness.kernels import DONE, IN, OUT, Components, Kernels

ONLY_DONE = bytes(IN if mark == DONE else OUT for mark in range(256))
"""Translation of a mask: what was DONE becomes IN, and everything else OUT."""

INVERTED = bytes(IN if mark == OUT else OUT for mark in range(256))
"""Translation of a mask: what was OUT becomes IN, and everything else OUT."""


def fair_states(
    graph: Graph, kernels: Kernels, within: bytearray, must: bytearray | None, pause: Callable[[], None]
) -> bytearray:
    """The union of all fair sets inside a set of states (that contain a state of `must`, if given).

    Components that lack a weakly fair group (or `must`) lack it in every part and are dropped.  One that lacks a
    strongly fair group loses the states where that is enabled, and what is left is divided again: at most one round
    more than there are strongly fair groups.
    """
    mask = bytearray(within)
    while True:
        pause()
        parts = kernels.components(graph, mask)
        pause()
        if not kernels.judge(graph, mask, parts, must):
            return bytearray(mask.translate(ONLY_DONE))


def without_lone_states(mask: bytearray, parts: Components) -> bytearray:
    """The set without the states that are a component of their own."""
    found, members, number = bytearray(mask), parts.members, parts.number
    begin, last = 0, len(members) - 1
    for at, state in enumerate(members):
        if at == last or number[members[at + 1]] != number[state]:
            if at == begin:
                found[state] = OUT
            begin = at + 1
    return found


def intersection(left: bytes | bytearray, right: bytes | bytearray) -> bytearray:
    """The states that are in both sets."""
    both = int.from_bytes(left, "little") & int.from_bytes(right, "little")
    return bytearray(both.to_bytes(len(left), "little"))


def inverted(marks: bytes | bytearray) -> bytearray:
    """The states that are not in a set."""
    return bytearray(marks.translate(INVERTED))
