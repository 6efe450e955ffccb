"""A whole system as a Promela file.

One process chooses among the instances of all actions; each is one `d_step`, so that SPIN stores exactly the states that
kvproto counts.  See `docs/language.md` for what a model means and `storage` for how its state is kept.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from math import prod

from kvproto.export.names import Names
from kvproto.export.promela.actions import Actions, Args, Step, arguments, closed, selection_of
from kvproto.export.promela.code import FAILED, PASSED, WRONG, Code, Lines, indented, selection
from kvproto.export.promela.faults import Faults
from kvproto.export.promela.guards import decides, is_late
from kvproto.export.promela.scratch import Scratch
from kvproto.export.promela.storage import RESERVED, Storage
from kvproto.export.promela.text import FALSE, TRUE, Text, disj, neg
from kvproto.export.promela.values import Env, Values
from kvproto.export.refusal import refusal
from kvproto.ir.nodes import Assert, Expr, Init, Require, System
from kvproto.ir.types import values_of
from kvproto.ir.walk import statements

MAX_INSTANCES = 4096
"""More options than that in one process, and SPIN's program takes minutes to compile."""

MACROS = """\
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) < (b) -> (b) : (a))
#define DIV(a, b) ((a) / (b) - ((a) % (b) != 0 && ((a) % (b) < 0) != ((b) < 0)))
#define MOD(a, b) (((a) % (b) + (b)) % (b))
"""


@dataclass(frozen=True, slots=True)
class Promela:
    """An exported model.

    SPIN stores `extra` states more than kvproto counts; `vector` is about how many bytes a state takes there.
    """

    text: str
    extra: int
    vector: int


def export(system: System, *, properties: bool = False) -> Promela:
    """The system in Promela, with its claims as assertions if `properties`.  Raises KV031."""
    return _Export(system, properties).export()


class _Export:
    def __init__(self, system: System, properties: bool) -> None:
        self.system = system
        self.claims = system.claims if properties else ()
        self.deadlock = next((c for c in self.claims if c.kind == "deadlock"), None)
        self.invariants = [c for c in self.claims if c.kind == "invariant"]
        self.asserted = frozenset(c.name for c in self.claims if c.kind == "assert")
        self.names = Names(RESERVED)
        self.storage = Storage(system, self.names)
        self.values = Values(self.storage)
        self.faults = Faults(self.values)
        self.scratch = Scratch(self.storage, self.names)
        self.late = any(is_late(a.body) for a in system.actions)
        self.start, self.out = self.names.fresh("start"), self.names.fresh("out")
        can = self.names.fresh("can") if self.late else ""
        self.actions = Actions(
            self.storage,
            self.names,
            self.values,
            self.faults,
            self.scratch,
            self.asserted,
            quiet_moves=self.deadlock is not None,
            can=can,
        )

    @property
    def settles(self) -> bool:
        """Whether something has to be done in every state that is reached."""
        return bool(self.late or self.invariants or self.system.constraint is not None)

    @property
    def returns(self) -> bool:
        """Whether a step can come out where nothing is counted."""
        return self.system.constraint is not None or any(_may_refuse(i) for i in self.system.inits)

    def export(self) -> Promela:
        """The file."""
        steps = [self.actions.step(action) for action in self.system.actions]
        starts = bool(self.system.inits or self.settles)
        process = self._process(steps, starts)
        inlines = [line for step in steps for line in [*step.inlines, ""]]
        settle = self._settle() if self.settles else []
        text = "\n".join([*self._head(starts), *self._declarations(), "", *inlines, *settle, *process])
        return Promela(text + "\n", int(starts), self._vector())

    # --- parts of the file ----------------------------------------------------------------------------

    def _head(self, starts: bool) -> Lines:
        return []

    def _declarations(self) -> Lines:
        lines = [*self.storage.declarations()]
        if self.late:
            lines.append(f"byte {self.actions.can}[{max(1, self.actions.tried)}];")
        if self.returns:
            lines.append(f"bit {self.out};")
        members = [f"#define {name} {kind.members.index(member)}" for (kind, member), name in self.storage.members.items()]
        return [f"#define {self.storage.none} 0", *members, *MACROS.splitlines(), "", *lines, *self.scratch.declarations()]

    def _process(self, steps: list[Step], starts: bool) -> Lines:
        options = [f":: {option}" for step in steps for option in step.options]
        lines: Lines = []
        if starts:
            lines += [f"{self.start}:", *indented(self._starts())]
        loop = options
        if self.settles:
            after = ["settle();", *self._return()]
            loop = [":: atomic {", *indented(["if", *options, "fi;", *after]), "}"]
        if self.deadlock is not None:
            loop = [*loop, *self._stuck(self.deadlock.cond)]
        lines += ["end:" if self.deadlock is None else "", "  do", *indented(loop), "  od"]
        return ["active proctype system() {", *[line for line in lines if line], "}"]
