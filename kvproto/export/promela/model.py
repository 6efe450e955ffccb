"""A whole system as a Promela file.

One process chooses among the instances of all actions; each is one `d_step`, so that SPIN stores exactly the states
that kvproto counts.  See `docs/language.md` for what a model means and `storage` for how its state is kept.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from kvproto.diagnostics import KvError, Loc
from kvproto.export.names import Names
from kvproto.export.promela.actions import Actions, Step, arguments, closed
from kvproto.export.promela.code import FAILED, PASSED, WRONG, Code, Lines, indented, selection
from kvproto.export.promela.faults import Faults
from kvproto.export.promela.guards import is_late
from kvproto.export.promela.scratch import Scratch
from kvproto.export.promela.storage import RESERVED, Storage
from kvproto.export.promela.text import COMPARE, TRUE, Text, disj, neg
from kvproto.export.promela.values import Env, Values
from kvproto.export.ranges import type_bounds
from kvproto.export.refusal import refusal
from kvproto.ir.nodes import LIVENESS, Action, Assert, Claim, Const, Expr, Init, Require, System
from kvproto.ir.types import IntT, SetT, cardinality, leaves, show_path, values_of
from kvproto.ir.walk import expressions, statements, subexpressions

MAX_INSTANCES = 4096
"""More options than that in one process, and SPIN's program takes minutes to compile."""

MAX_STARTS = 256
"""Up to so many choices of an init function's parameters are written out."""

LONGEST = 1000
"""SPIN takes up to 2048 statements in one step."""

MACROS = {
    "MIN": "(a, b) ((a) < (b) -> (a) : (b))",
    "MAX": "(a, b) ((a) < (b) -> (b) : (a))",
    "DIV": "(a, b) ((a) / (b) - ((a) % (b) != 0 && ((a) % (b) < 0) != ((b) < 0)))",
    "MOD": "(a, b) (((a) % (b) + (b)) % (b))",
}
"""Python's arithmetic; SPIN's division rounds toward zero."""

LARGEST = 2**31 - 1

WIDTH = 112


@dataclass(frozen=True, slots=True)
class Promela:
    """An exported model.

    SPIN stores `extra` states more than kvproto counts; `vector` is about how many bytes a state takes there.
    """

    text: str
    extra: int
    vector: int

    @property
    def flags(self) -> tuple[str, ...]:
        """What SPIN's C compiler has to be told about it."""
        return wide(self.vector)


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
        params = {p.name: None for a in system.actions for p in a.params}
        params |= {p.name: None for i in system.inits for p in i.params}
        self.values = Values(self.storage)
        self.faults = Faults(self.values)
        self.scratch = Scratch(self.storage, self.names)
        self.late = any(is_late(a.body) for a in system.actions)
        self.choices: Lines = []
        self.start, self.out = self.names.fresh("from_zeros"), self.names.fresh("out")
        can = self.names.fresh("can") if self.late else ""
        self.actions = Actions(
            self.storage,
            self.names,
            self.values,
            self.faults,
            self.scratch,
            self.asserted,
            {name: self.names.fresh(name) for name in params},
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
        self._refuse_many()
        self._refuse_large_numbers()
        steps = [self.actions.step(action) for action in self.system.actions]
        starts = bool(self.system.inits or self.settles)
        process = self._process(steps, starts)
        settle = self._settle() if self.settles else []
        forget = self._forget() if self.returns else []
        inlines = [line for step in steps for line in [*step.inlines, ""]]
        vector = self._vector()
        body = [*inlines, *forget, *settle, *process]
        used = "\n".join(body)
        macros = [f"#define {name}{text}" for name, text in MACROS.items() if f"{name}(" in used]
        none = [f"#define {self.storage.none} 0"] if self.storage.none in used else []
        lines = [*head(self.system, self.claims, int(starts), vector), *none, *macros, *self._declarations(), ""]
        text = "\n".join(wrapped([*lines, *body]))
        return Promela(text + "\n", int(starts), vector)

    def _refuse_many(self) -> None:
        counts = {action.name: prod(cardinality(p.type) for p in action.params) for action in self.system.actions}
        total = sum(counts.values())
        if total > MAX_INSTANCES:
            action = max(self.system.actions, key=lambda a: counts[a.name])
            raise refusal(
                self.system,
                "Promela",
                f"there are {total} action instances, {counts[action.name]} of them of {action.name}",
                reason=f"each becomes an option of one process, of which {MAX_INSTANCES} compile in a minute or so",
                cure="export a smaller scope",
                loc=action.loc,
            )

    def _refuse_large_numbers(self) -> None:
        for path, kind in leaves(self.system.state):
            if not isinstance(kind, SetT) and cardinality(kind) > LARGEST:
                raise self._too_large(f"{show_path(path, self.system.state)} has {cardinality(kind)} values", None)
        for expr in self._expressions():
            value = expr.value if isinstance(expr, Const) else None
            if isinstance(value, int) and abs(value) > LARGEST:
                raise self._too_large(f"the number is {value}", expr.loc)

    def _too_large(self, what: str, loc: Loc | None) -> KvError:
        reason = "its numbers have 32 bits, and would silently be others"
        return refusal(self.system, "Promela", what, reason=reason, cure="use smaller numbers, or --to tla", loc=loc)

    def _expressions(self) -> Iterator[Expr]:
        """Every expression of the system, with all its parts."""
        units: list[Action | Init] = [*self.system.actions, *self.system.inits]
        tops = [e for unit in units for stmt in statements(unit.body) for e in expressions(stmt)]
        tops += [c.cond for c in self.claims if c.cond is not None]
        tops += [] if self.system.constraint is None else [self.system.constraint]
        for top in tops:
            yield from subexpressions(top)

    # --- declarations ---------------------------------------------------------------------------------

    def _declarations(self) -> Lines:
        lines = [*self.storage.declarations()]
        if self.late:
            lines.append(f"byte {self.actions.can}[{max(1, self.actions.tried)}];")
        if self.returns:
            lines.append(f"bit {self.out};")
        lines += self.choices
        enums = dict.fromkeys(kind for kind, _ in self.storage.members)
        members = [f"#define {self.storage.member(e, m)} {at}" for e in enums for at, m in enumerate(e.members)]
        scratch = [*self.scratch.declarations()]
        hidden = ["#ifdef NOHID", "#define hidden", "#endif", *scratch] if scratch else []
        return [*members, "", *lines, *hidden]

    def _vector(self) -> int:
        """About how many bytes SPIN takes for a state."""
        size = {"bit": 1, "byte": 1, "short": 2, "int": 4}
        cells = [size[kind] for kind in self.storage.cell_types()]
        return 32 + sum(cells) + self.actions.tried + 4 * len(self.choices)

    # --- what happens around the steps ----------------------------------------------------------------

    def _forget(self) -> Lines:
        """Back to all zeros, which is where SPIN started."""
        fields = self.system.state.fields
        cells = [cell for name, kind in fields for cell in self.storage.cells(kind, self.storage.variables[name])]
        cells += [f"{self.actions.can}[{at}]" for at in range(self.actions.tried)]
        lines: Lines = []
        for at in range(0, len(cells), LONGEST):
            lines += d_step([f"{cell} = 0;" for cell in cells[at : at + LONGEST]])
        return ["inline forget() {", *indented(lines), "}", ""]

    def _settle(self) -> Lines:
        """What is done in every state that is reached: claims are judged, late actions are tried."""
        lines: Lines = []
        for claim in self.invariants:
            if claim.cond is not None:
                lines += d_step([f"/* {claim.name} */", *self._asserted(claim.cond)])
        constraint = self.system.constraint
        refresh = [line for trial in self.actions.refresh for line in d_step([trial])]
        if constraint is not None:
            outside = neg(self.values.number(constraint, Env()))
            lines += d_step([*self._sound(constraint), *selection([(outside, [f"{self.out} = 1;"])], [])])
            refresh = selection([(Text(self.out), [])], refresh)
        lines += refresh
        if any(_may_refuse(i) for i in self.system.inits):
            lines = selection([(Text(self.out), [])], lines)
        return ["inline settle() {", *indented(lines or ["skip;"]), "}", ""]

    def _sound(self, cond: Expr) -> Lines:
        sound = self.faults.sound(cond, Env())
        return [] if sound == TRUE else [f"assert({sound});"]

    def _asserted(self, cond: Expr) -> Lines:
        return [*self._sound(cond), f"assert({self.values.number(cond, Env())});"]

    # --- the process ----------------------------------------------------------------------------------

    def _process(self, steps: list[Step], starts: bool) -> Lines:
        options = [option for step in steps for option in step.options]
        lines: Lines = []
        if starts:
            lines += [f"{self.start}:", *indented(choice("if", self._starts(), "fi"))]
        if self.deadlock is None:
            lines.append("end:")
        if self.settles and options:
            options = [["atomic {", *indented([*choice("if", options, "fi;"), *self._after()]), "}"]]
        if self.deadlock is not None:
            options.append(self._stuck(self.deadlock.cond))
        return ["active proctype system() {", *lines, *indented(choice("do", options or [["false;"]], "od")), "}"]

    def _after(self) -> Lines:
        lines = ["settle();"] if self.settles else []
        if self.returns:
            back = ["forget();", f"{self.out} = 0;", f"goto {self.start};"]
            lines += ["if", f":: {self.out} ->", *indented(back), ":: else", "fi;"]
        return lines

    def _stuck(self, terminal: Expr | None) -> Lines:
        """Nothing can happen: that is in order where the terminal predicate says so."""
        checks = self._asserted(terminal) if terminal is not None else ["assert(false);"]
        return ["atomic {", "  else ->", *indented(indented(checks)), "}"]

    # --- initial states -------------------------------------------------------------------------------

    def _starts(self) -> list[Lines]:
        """Options that lead from all zeros to the initial states."""
        found: list[Lines] = []
        for init in self.system.inits:
            if prod(cardinality(p.type) for p in init.params) > MAX_STARTS:
                found.append(self._start(init, *self._chosen(init)))
            else:
                for args in arguments(init.params):
                    found.append(self._start(init, self.actions.actual(init.params, args)[1], [], []))
        return found or [["atomic {", *indented(self._after()), "}"]]

    def _start(self, init: Init, env: Env, before: Lines, clear: Lines) -> Lines:
        """An init function."""
        refuses = _may_refuse(init)
        code = Code(self.values, self.faults, self.scratch, self.asserted, trying=refuses)
        body = code.body(init.body, env)
        if refuses:
            go = self.scratch.flag("go")
            error = disj(Text(f"{go} == {value}", COMPARE) for value in (FAILED, WRONG))
            refused = [(error, ["assert(false);"]), (Text(f"{go} != {PASSED}", COMPARE), [f"{self.out} = 1;"])]
            body = [f"{go} = {PASSED};", *body, *selection(refused, []), f"{go} = 0;"]
        step = ["d_step {", *indented([*(body or ["skip;"]), *clear]), "}"]
        return ["atomic {", f"  /* {init.name} */", *indented([*before, *step, *self._after()]), "}"]

    def _chosen(self, init: Init) -> tuple[Env, Lines, Lines]:
        """Parameters with too many choices for an option each: one after the other, inside the atomic step."""
        env, before, clear = Env(), list[str](), list[str]()
        for param in init.params:
            name = self.names.fresh(f"{init.name}_{param.name}")
            self.choices.append(f"int {name};")
            clear.append(f"{name} = 0;")
            if isinstance(param.type, SetT):
                for at in range(cardinality(param.type.element)):
                    before += ["if", f":: {name} = {name} | {1 << at};", ":: skip;", "fi;"]
                env = env.bind(param.name, [Text(name)])
                continue
            values = [self.values.constant(v, param.type) for v in values_of(param.type)]
            before += ["if", *(f":: {name} = {value};" for value in values), "fi;"]
            env = env.bind(param.name, Text(name), type_bounds(param.type) if isinstance(param.type, IntT) else None)
        return env, before, clear


def d_step(lines: Lines) -> Lines:
    """Statements that SPIN takes in one step."""
    return ["d_step {", *indented(lines), "}"] if lines else []


def wrapped(lines: Lines) -> Lines:
    """Long lines broken between operands."""
    found = []
    for line in lines:
        # A macro call is one line for SPIN's preprocessor, which would move the ends of lines behind it.
        if len(line) <= WIDTH or line.lstrip().startswith(("#", "/*")) or any(f"{name}(" in line for name in MACROS):
            found.append(line)
            continue
        start = line[: len(line) - len(line.lstrip())]
        found += broken(line.strip(), start)
    return found


def broken(line: str, start: str) -> Lines:
    """A long line in pieces.  Each ends in an operator: SPIN takes the end of a line for a semicolon elsewhere."""
    pieces = re.split(r"(?<=[&|=<>+:,-]) (?!$)", line)
    found: Lines = []
    now = start
    for piece in pieces:
        room = WIDTH - len(piece) - 1
        if now.strip() and len(now) > room:
            found.append(now)
            now = f"{start}    {piece}"
        else:
            now = f"{now} {piece}" if now.strip() else f"{start}{piece}"
    return [*found, now]


def choice(opening: str, options: list[Lines], closing: str) -> Lines:
    """`if` or `do` with options of several lines each."""
    lines = [opening]
    for option in options:
        lines += [f":: {option[0]}", *indented(option[1:])]
    return [*lines, closing]


def _may_refuse(init: Init) -> bool:
    return any(isinstance(stmt, Require | Assert) for stmt in statements(init.body))


def wide(vector: int) -> tuple[str, ...]:
    """What SPIN's C compiler has to be told of large states."""
    return (f"-DVECTORSZ={2 * vector}",) if vector > 900 else ()


def head(system: System, claims: tuple[Claim, ...], extra: int, vector: int) -> Lines:
    """What the file is, how to run it, and how to read the figures."""
    sizes = f", scope {system.scope}" if system.scope else ""
    preset = f"@{system.preset}" if system.preset else ""
    more_flags = "".join(f" {flag}" for flag in wide(vector))
    more = "one state more than kvproto counts, all zeros, before it starts" if extra else "as many states as kvproto"
    rows = [
        f"{system.model}{preset}{sizes}, written by kvproto export --to promela.",
        "Parameters: " + (", ".join(f"{name}={value}" for name, value in system.parameters.items()) or "none") + ".",
        f"  spin -o2 -a FILE && cc -O2 -w -DSAFETY -DNOREDUCE{more_flags} -o pan pan.c && ./pan -m1000000 -n",
        f"SPIN stores {more}; without -o2 it would drop variables that are only written.",
        "For -DBFS, which knows no hidden variables, add -DNOHID behind spin.",
    ]
    for claim in claims:
        if claim.kind in LIVENESS or claim.kind == "sometimes":
            rows.append(f"Not in this file: {claim.name} ({claim.kind}); --to tla has it.")
    return closed([line for row in rows for line in textwrap.wrap(row, WIDTH, subsequent_indent="  ")])
