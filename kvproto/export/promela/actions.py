"""One action as Promela: an inline for all its instances, or, where it is too long for that, a step for each."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from kvproto.export.names import Names
from kvproto.export.promela.code import FAILED, PASSED, QUIET, WRONG, Code, Lines, indented
from kvproto.export.promela.faults import Faults
from kvproto.export.promela.guards import Guards, is_late
from kvproto.export.promela.scratch import Scratch
from kvproto.export.promela.storage import Storage
from kvproto.export.promela.text import FALSE, Text, disj, neg
from kvproto.export.promela.values import Env, Meaning, Values
from kvproto.export.ranges import type_bounds
from kvproto.export.refusal import refusal
from kvproto.ir.nodes import Action, Assign, Param
from kvproto.ir.types import IntT, SetT, Value, values_of
from kvproto.ir.walk import statements

MAX_INLINE = 48_000
"""SPIN reads an inline of up to 64 KiB."""

MAX_STATEMENTS = 2000
"""SPIN takes up to 2048 of them in one step."""

Args = tuple[Value, ...]


def arguments(params: tuple[Param, ...]) -> Iterator[Args]:
    """All choices of parameters, the last one fastest."""
    return product(*(values_of(p.type) for p in params))


@dataclass(frozen=True, slots=True)
class Step:
    """What the process chooses among, and what has to be declared for that."""

    inlines: Lines
    options: list[Lines]


@dataclass(slots=True)
class Actions:
    """Translates the actions of one system; `claims` are the assertions that are made."""

    storage: Storage
    names: Names
    values: Values
    faults: Faults
    scratch: Scratch
    claims: frozenset[str]
    params: dict[str, str]
    """Parameter -> what it is called in inlines.  No other identifier may be called so: an inline replaces words."""
    quiet_moves: bool
    """Whether a step that fails an assertion nobody asked for counts as something that can happen."""
    can: str
    """Array of what trying each instance of a late action comes to; a function of the state."""
    tried: int = 0
    """How many instances have a place in it."""
    refresh: Lines = field(default_factory=list)
    """Brings it up to date."""

    def step(self, action: Action) -> Step:
        """The action; without options if it can never happen."""
        name = self.names.fresh(action.name)
        head = comment(action)
        return self._late(action, name, head) if is_late(action.body) else self._early(action, name, head)

    # --- parameters -----------------------------------------------------------------------------------

    def formal(self, params: tuple[Param, ...]) -> tuple[list[str], Env]:
        """Names of an inline's parameters."""
        env = Env()
        found = [self.params[param.name] for param in params]
        for param, name in zip(params, found, strict=True):
            known = type_bounds(param.type) if isinstance(param.type, IntT) else None
            env = env.bind(param.name, [Text(name)] if isinstance(param.type, SetT) else Text(name), known)
        return found, env

    def actual(self, params: tuple[Param, ...], args: Args) -> tuple[list[str], Env]:
        """Arguments of one instance."""
        env = Env()
        found = []
        for param, arg in zip(params, args, strict=True):
            value: Meaning = self.values.constant(arg, param.type)
            known = (int(arg), int(arg)) if isinstance(param.type, IntT) and isinstance(arg, int) else None
            env = env.bind(param.name, value, known)
            (word,) = [value] if isinstance(value, Text) else value  # so many sets need one word
            found.append(word.text)
        return found, env

    # --- decisions before effects ---------------------------------------------------------------------

    def _early(self, action: Action, name: str, head: Lines) -> Step:
        formal, env = self.formal(action.params)
        lines = self._guarded(action, env)
        if not lines:
            return Step([*head, f"/* {name} is never enabled under these parameters */"], [])
        self._refuse_long(action, len(lines))
        if len("\n".join(lines)) < MAX_INLINE:
            given = [", ".join(self.actual(action.params, args)[0]) for args in arguments(action.params)]
            calls = [[f"{name}({text});"] for text in given]
            return Step([*head, f"inline {name}({', '.join(formal)}) {{", *indented(lines), "}"], calls)
        steps = [self._guarded(action, self.actual(action.params, args)[1]) for args in arguments(action.params)]
        return Step(head, [step for step in steps if step])

    def _guarded(self, action: Action, env: Env) -> Lines:
        """`d_step { guard -> effects }`, and a step that does nothing where a quiet claim fails."""
        way = Guards(self.values, self.faults, self.claims).way(action.body, env)
        guard = disj([way.wrong, way.passes, way.fails])
        lines: Lines = []
        if guard != FALSE:
            wrong = [f"assert({neg(way.wrong)});"] if way.wrong != FALSE else []
            lines = d_step(guard, [*wrong, *self._code(trying=False).body(action.body, env)])
        if not self.quiet_moves or way.quiet == FALSE:
            return lines
        quiet = d_step(way.quiet, ["skip;"])
        return selection_of([lines, quiet]) if lines else quiet

    def _refuse_long(self, action: Action, lines: int) -> None:
        if lines > MAX_STATEMENTS:
            raise refusal(
                self.storage.system,
                "Promela",
                f"{action.name} takes {lines} lines",
                reason="SPIN runs up to 2048 statements in one step",
                cure="export a smaller scope, or --to tla",
                loc=action.loc,
            )

    def _code(self, *, trying: bool) -> Code:
        return Code(self.values, self.faults, self.scratch, self.claims, trying)

    # --- decisions after effects ----------------------------------------------------------------------

    def _late(self, action: Action, name: str, head: Lines) -> Step:
        """Tried out in every state, undone again, and remembered in `can`."""
        formal, env = self.formal(action.params)
        at = "which"
        go = self.scratch.flag("go")
        body = [f"{go} = {PASSED};", *self._code(trying=True).body(action.body, env)]
        saved = self._saved(action)
        self._refuse_long(action, len(body) + 4 * len(saved))
        trial = self.names.fresh(f"try_{action.name}")
        effect = self.names.fresh(f"do_{action.name}")
        head = [
            *head,
            "/* A guard of it comes after an effect, so it is tried out in every state; 1: it can happen. */",
            f"inline {effect}({', '.join(formal)}) {{",
            *indented(body),
            "}",
            f"inline {trial}({', '.join([at, *formal])}) {{",
            *(f"  {shadow} = {cell};" for cell, shadow in saved),
            f"  {effect}({', '.join(formal)});",
            f"  {self.can}[{at}] = {go};",
            f"  {go} = 0;",
            *(line for cell, shadow in saved for line in (f"  {cell} = {shadow};", f"  {shadow} = 0;")),
            "}",
        ]
        can = f"{self.can}[{at}]"
        enabled = disj(Text(f"{can} == {value}", 4) for value in (PASSED, FAILED, WRONG))
        call = f"{effect}({', '.join(formal)});"
        lines = d_step(enabled, [call, f"assert({go} == {PASSED});", f"{go} = 0;"])
        if self.quiet_moves:
            lines = selection_of([lines, d_step(Text(f"{can} == {QUIET}", 4), ["skip;"])])
        head += [f"inline {name}({', '.join([at, *formal])}) {{", *indented(lines), "}"]
        options = []
        for args in arguments(action.params):
            given = ", ".join([str(self.tried), *self.actual(action.params, args)[0]])
            options.append([f"{name}({given});"])
            self.refresh.append(f"{trial}({given});")
            self.tried += 1
        return Step(head, options)

    def _saved(self, action: Action) -> list[tuple[str, str]]:
        """Variables that the action may change, each with a scratch variable to keep its value in."""
        written = {stmt.place.steps[0]: None for stmt in statements(action.body) if isinstance(stmt, Assign)}
        found = []
        for name, kind in self.storage.system.state.fields:
            if name in written:
                cells = list(self.storage.cells(kind, self.storage.variables[name]))
                shadows = self.scratch.array(f"old_{name}", len(cells))
                found += list(zip(cells, shadows, strict=True))
        return found


def d_step(guard: Text, lines: Lines) -> Lines:
    """One step that happens where the guard holds."""
    return ["d_step {", f"  {guard} ->", *indented(lines or ["skip;"]), "}"]


def selection_of(options: list[Lines]) -> Lines:
    """A choice between steps."""
    return ["if", *(line for option in options for line in [":: " + option[0], *indented(option[1:])]), "fi;"]


def comment(action: Action) -> Lines:
    """What the action is for, and where it is."""
    text = " ".join(f"{action.machine}: {action.doc}".split()).replace("*/", "* /")
    cites = f"; {', '.join(action.cites)}" if action.cites else ""
    return closed(textwrap.wrap(f"{text} ({action.loc}{cites})", 108))


def closed(lines: Lines) -> Lines:
    """A comment of several lines."""
    opened = [f"{'/*' if at == 0 else '  '} {line}" for at, line in enumerate(lines or [""])]
    return [*opened[:-1], f"{opened[-1]} */"]
