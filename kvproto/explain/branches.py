"""The conditions under which a step did what the verdict rests on: `if s.phase[r] != LOADING: s.surprised = True`."""

from __future__ import annotations

from contextlib import suppress

from kvproto.engine.evaluate import Args, Fault, Machine, Run, State
from kvproto.engine.outcome import Counterexample
from kvproto.explain.slice import START, backward_slice
from kvproto.ir.nodes import Action, Assign, If, Place, Stmt, System
from kvproto.ir.types import Path, Value, show_path
from kvproto.trace.trace import Trace


class _Branching(Run):
    """A run that knows for each variable what the conditions around its last store had read."""

    def __init__(self, system: System, state: State, env: dict[str, Value]) -> None:
        super().__init__(Machine(system, self._watch), state, env)
        self.around: list[tuple[Path, ...]] = []
        self.seen: list[Path] = []
        self.behind: dict[Path, tuple[Path, ...]] = {}

    def _watch(self, kind: str, path: Path) -> None:
        if kind == "read":
            self.seen.append(path)

    def statement(self, stmt: Stmt) -> None:
        """Execute one statement."""
        if not isinstance(stmt, If):
            super().statement(stmt)
            return
        self.seen.clear()
        way = stmt.then if self.value(stmt.test) else stmt.orelse
        self.around.append(tuple(self.seen))
        self.block(way)
        self.around.pop()

    def store(self, stmt: Assign, place: Place, value: Value) -> None:
        """Put a value into a place, if it fits."""
        super().store(stmt, place, value)
        self.behind[self.path(place)] = tuple(path for read in self.around for path in read)


def conditions(system: System, found: Counterexample, trace: Trace) -> dict[int, tuple[str, ...]]:
    """For steps that decided the verdict: what the conditions had read under which they set what it reads."""
    edges = backward_slice(trace)
    wanted: dict[int, list[str]] = {}
    for edge in edges.reads_of(edges.verdict):
        if edge.source != START:
            wanted.setdefault(edge.source, []).append(edge.path)
    actions, state = {action.name: action for action in system.actions}, found.init
    told: dict[int, tuple[str, ...]] = {}
    for number, (named, args) in enumerate(found.steps, 1):
        run = _taken(system, actions[named.name], args, state)
        state = tuple(run.state)
        behind = {show_path(path, system.state): reads for path, reads in run.behind.items()}
        reads = [path for one in wanted.get(number, ()) for path in behind.get(one, ())]
        if reads:
            told[number] = tuple(dict.fromkeys(show_path(path, system.state) for path in reads))
    return told


def _taken(system: System, action: Action, args: Args, state: State) -> _Branching:
    """The step; one that fails an assertion goes as far as that."""
    run = _Branching(system, state, dict(zip((p.name for p in action.params), args, strict=True)))
    with suppress(Fault):
        run.block(action.body)
    return run
