"""Queues, bags and sets as they are thought of: `[META, ABORT]` and not a length with slots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kvproto.report.report import Change
from kvproto.trace.printable import printable, shown
from kvproto.trace.trace import ContainerView, State, Trace, Value

Delta = Mapping[str, tuple[Value, Value]]

_MOST = 64
"""Equal elements that are told apart."""


@dataclass(frozen=True, slots=True)
class Container:
    """A container with its variables in order: by slot for a queue, each by itself for a bag or set."""

    view: ContainerView
    slots: dict[str, list[str]]

    def text(self, state: State) -> str:
        """What it holds."""
        if self.view.shape == "queue":
            return f"[{', '.join(self.elements(state))}]"
        return "{" + ", ".join(text if n == 1 else f"{text} x{n}" for text, n in self._counts(state)) + "}"

    def elements(self, state: State) -> list[str]:
        """Every element as text, as often as it is in there; those of a queue in order."""
        if self.view.shape == "queue":
            length = state.get(f"{self.view.path}.length")
            filled = list(self.slots.values())[: length if isinstance(length, int) and length > 0 else 0]
            return [_together([shown(state.get(path)) for path in paths]) for paths in filled]
        # A hostile file may claim any number.
        return [text for text, n in self._counts(state) for _ in range(min(n, _MOST))]

    def paths(self) -> list[str]:
        """The variables that it is made of."""
        length = [f"{self.view.path}.length"] if self.view.shape == "queue" else []
        return [*length, *(path for paths in self.slots.values() for path in paths)]

    def _counts(self, state: State) -> Iterator[tuple[str, int]]:
        for label, (path,) in self.slots.items():
            count = state.get(path)
            if isinstance(count, int) and count > 0:
                # The label is a list of values already.
                yield f"({printable(label)})" if ", " in label else printable(label), int(count)


def _together(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"({', '.join(values)})"


class Containers:
    """The containers of a trace, found by the variables they are made of."""

    def __init__(self, trace: Trace) -> None:
        self._of: dict[str, Container] = {}
        for view in trace.vocabulary.containers:
            container = Container(view, _slots(view, trace.init))
            for path in container.paths():
                self._of[path] = container

    def touched(self, paths: Iterable[str]) -> list[Container]:
        """The containers that some of the variables belong to."""
        return list({id(c): c for path in paths if (c := self._of.get(path)) is not None}.values())

    def changes(self, delta: Delta, before: State) -> tuple[list[Change], Delta]:
        """What a step changes in each container, and what else it changes."""
        touched = self.touched(delta)
        if not touched:
            return [], delta
        after = {**before, **{path: new for path, (_, new) in delta.items()}}
        found = [Change(printable(c.view.path), c.text(before), c.text(after)) for c in touched]
        return found, {path: change for path, change in delta.items() if path not in self._of}


def _slots(view: ContainerView, paths: Iterable[str]) -> dict[str, list[str]]:
    """The variables of a container by what stands in the brackets."""
    head, queue = f"{view.path}[", view.shape == "queue"
    found: dict[str, list[str]] = {}
    for path in paths:
        if path.startswith(head) and (queue or path.endswith("]")):
            # A label may have a bracket of its own; that of a slot is a number.
            index = path[len(head) : path.find("]", len(head)) if queue else -1]
            found.setdefault(index, []).append(path)
    return found
