"""A state graph in the language of Graphviz.

Nothing is said by colour alone: initial states have two borders, states that violate a claim are octagons with its
name, the run is drawn with thick lines, states whose successors are not shown are dotted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import graphviz  # type: ignore[import-untyped]

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.engine.evaluate import State
from kvproto.formats.graph import Drawn
from kvproto.ir.types import label, leaves, show_path
from kvproto.trace.printable import cut, printable, shown
from kvproto.trace.trace import Value

_LINES, _CELLS = 8, 48
"""Lines of a node, and cells of a line."""

_RUN, _BAD = "#0072B2", "#D55E00"


def dot(drawn: Drawn, labels: Sequence[str] = ()) -> str:
    """The text of the file; nodes show what differs from their parent, or the variables in `labels`.

    A label is a variable (`req[A].decode`) or the beginning of several (`req[A]`, `req`).  Raises KV022 for one that
    names none.
    """
    texts = _Texts(drawn, labels)
    picture = graphviz.Digraph("states", comment=texts.title)
    picture.attr("graph", label=_lines([texts.title]), labelloc="t", fontname="sans-serif", rankdir="TB")
    picture.attr("node", shape="box", style="rounded", fontname="monospace", fontsize="10")
    picture.attr("edge", fontname="monospace", fontsize="9", color="#666666")
    for number, about in drawn.graph.nodes(data=True):
        picture.node(_name(number), label=_lines(texts.node(number)), **_look(about))
    for source, target, about in drawn.graph.edges(data=True):
        on_run = {"color": _RUN, "penwidth": "3", "fontcolor": _RUN} if about["path"] else {}
        picture.edge(_name(source), _name(target), label=graphviz.escape(printable(about["call"])), **on_run)
    return str(picture.source)


def svg(text: str) -> str:
    """The picture of a graph, laid out by Graphviz's `dot`.  Raises KV035 where that is not installed."""
    try:
        return str(graphviz.Source(text).pipe(format="svg", encoding="utf-8"))
    except graphviz.ExecutableNotFound:
        raise KvError(
            "KV035",
            "the program `dot` is not installed",
            reason="a graph is laid out by Graphviz, which Python packages do not bring",
            cure="apt-get install -y graphviz, or write the graph as text:  --to dot",
        ) from None


def _name(number: int) -> str:
    return f"s{number}"


def _lines(lines: Sequence[str]) -> str:
    """A label of several lines, each set to the left; a backslash is one."""
    return "".join(f"{printable(line)}".replace("\\", "\\\\") + "\\l" for line in lines)


def _look(about: dict[str, object]) -> dict[str, str]:
    style = ["rounded"]
    look = {}
    if about["initial"]:
        look["peripheries"] = "2"
    if about["violates"]:
        style = []
        look |= {"shape": "octagon", "color": _BAD, "fontcolor": _BAD}
    if about["path"]:
        style.append("bold")
    if about["open"]:
        style.append("dotted")
    if about["kind"] == "outside":
        style.append("dashed")
    return {**look, "style": ",".join(style)}


class _Texts:
    """What stands in the nodes and above the graph."""

    def __init__(self, drawn: Drawn, labels: Sequence[str]) -> None:
        self.drawn = drawn
        kinds = list(leaves(drawn.system.state))
        self.kinds = [kind for _, kind in kinds]
        self.paths = [show_path(path, drawn.system.state) for path, _ in kinds]
        self.wanted = [at for name in labels for at in self._variables(name)]

    @property
    def title(self) -> str:
        """Model, numbers, and what is left out."""
        system, graph = self.drawn.system, self.drawn.graph
        states = sum(kind == "state" for _, kind in graph.nodes(data="kind"))
        target = system.model + (f"@{system.preset}" if system.preset else "")
        scope = f", scope {system.scope}" if system.scope else ""
        left = f"; {self.drawn.left_out}" if self.drawn.left_out else ""
        return printable(f"{target}{scope}: {states} states, {graph.number_of_edges()} steps{left}")

    def _variables(self, name: str) -> list[int]:
        found = [at for at, path in enumerate(self.paths) if path == name or path.startswith((f"{name}[", f"{name}."))]
        if not found:
            raise KvError(
                "KV022",
                f"--label {name!r}: the model has no variable of that name{did_you_mean(name, self.paths)}",
                reason=f"variables: {cut(', '.join(self.paths), 200)}",
                cure="name a variable as traces do (req[A].decode), or the beginning of several (req[A], req)",
            )
        return found

    def node(self, number: int) -> list[str]:
        """The lines of a node."""
        about = self.drawn.graph.nodes[number]
        if about["kind"] == "failure":
            return [f"fails {name}" for name in about["violates"]]
        head = f"{number} (outside of the constraint)" if about["kind"] == "outside" else str(number)
        bad = [f"violates {name}" for name in about["violates"]]
        lines = list(self._chosen(about["state"]) if self.wanted else self._changed(about))
        more = [f"and {len(lines) - _LINES + 1} more"] if len(lines) > _LINES else []
        return [head, *bad, *lines[: _LINES - len(more)], *more]

    def _chosen(self, state: State) -> Iterator[str]:
        for at in self.wanted:
            yield self._line(at, state)

    def _changed(self, about: dict[str, object]) -> Iterator[str]:
        state, parent = about["state"], about["parent"]
        if parent is None or not isinstance(state, tuple):
            return
        before = self.drawn.graph.nodes[parent]["state"]
        for at, (old, new) in enumerate(zip(before, state, strict=True)):
            if old != new:
                yield self._line(at, state)

    def _line(self, at: int, state: State) -> str:
        value: Value = label(state[at], self.kinds[at])
        return cut(f"{printable(self.paths[at])}: {shown(value)}", _CELLS)
