"""Queues, bags and sets as they are thought of: `[META, ABORT]` and not a length with slots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kvproto.trace.printable import printable, shown
from kvproto.trace.trace import ContainerView, State, Trace, Value

Delta = Mapping[str, tuple[Value, Value]]


@dataclass(frozen=True, slots=True)
class _Container:
    """A container with its variables in order: by slot for a queue, each by itself for a bag or set."""

    view: ContainerView
    slots: dict[str, list[str]]

    def text(self, state: State) -> str:
        """What it holds."""
        if self.view.shape == "queue":
            length = state.get(f"{self.view.path}.length")
            filled = list(self.slots.values())[: length if isinstance(length, int) and length > 0 else 0]
            return f"[{', '.join(_together([shown(state.get(path)) for path in paths]) for paths in filled)}]"
        return "{" + ", ".join(self._elements(state)) + "}"

    def _elements(self, state: State) -> Iterator[str]:
        for label, (path,) in self.slots.items():
            count = state.get(path)
            if isinstance(count, int) and count > 0:
                # The label is a list of values already.
                element = f"({printable(label)})" if ", " in label else printable(label)
                yield element if count is True or count == 1 else f"{element} x{count}"


def _together(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"({', '.join(values)})"


class Containers:
    """The containers of a trace, found by the variables they are made of."""

    def __init__(self, trace: Trace) -> None:
        self._of: dict[str, _Container] = {}
        for view in trace.vocabulary.containers:
            container = _Container(view, _slots(view, trace.init))
            length = [f"{view.path}.length"] if view.shape == "queue" else []
            for path in (*length, *(path for paths in container.slots.values() for path in paths)):
                self._of[path] = container

    def changes(self, delta: Delta, before: State) -> tuple[list[str], Delta]:
        """`path: old -> new` for each container that a step changes, and what else it changes."""
        touched = list({id(c): c for path in delta if (c := self._of.get(path)) is not None}.values())
        if not touched:
            return [], delta
        after = {**before, **{path: new for path, (_, new) in delta.items()}}
        lines = [f"{printable(c.view.path)}: {c.text(before)} -> {c.text(after)}" for c in touched]
        return lines, {path: change for path, change in delta.items() if path not in self._of}


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
