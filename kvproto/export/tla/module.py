"""A whole system as a TLA+ module and the configuration for TLC."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kvproto.export.names import Names
from kvproto.export.tla.bodies import Body
from kvproto.export.tla.definitions import Definitions
from kvproto.export.tla.failing import failing
from kvproto.export.tla.scope import Scope
from kvproto.export.tla.state import State, Variable
from kvproto.export.tla.text import OPEN, Text
from kvproto.export.tla.types import RESERVED, Types
from kvproto.export.tla.values import Env, Values
from kvproto.ir.nodes import LIVENESS, Action, Claim, Expr, Fairness, For, Init, Param, Place, Quant, Stmt, System
from kvproto.ir.types import Type
from kvproto.ir.walk import expressions, statements, subexpressions

WIDTH = 100

HELPERS = {
    "Min": "Min(S) == CHOOSE least \\in S : \\A other \\in S : least <= other",
    "Max": "Max(S) == CHOOSE most \\in S : \\A other \\in S : other <= most",
    "Sum": (
        "Sum(f) ==\n"
        "    LET total[S \\in SUBSET DOMAIN f] ==\n"
        "          IF S = {} THEN 0 ELSE LET one == CHOOSE any \\in S : TRUE IN f[one] + total[S \\ {one}]\n"
        "    IN  total[DOMAIN f]"
    ),
    "Div": (
        "Div(a, b) == IF b > 0 THEN a \\div b ELSE (-a) \\div (-b)\n"
        "Mod(a, b) == a - b * Div(a, b)"
    ),
}
"""Operators that the standard modules lack; division rounds down, as in Python."""


@dataclass(frozen=True, slots=True)
class Module:
    """The text of NAME.tla and of NAME.cfg."""

    text: str
    config: str


def export(system: System, *, name: str, properties: bool = False) -> Module:
    """The system as module `name`; with `properties` its claims are in the configuration as well."""
    return _Export(system, name, properties).export()


class _Export:
    def __init__(self, system: System, name: str, properties: bool) -> None:
        self.system = system
        self.properties = properties
        self.names = Names(RESERVED)
        self.name = Names(()).fresh(name)
        self.types = Types(self.names)
        self.needs: set[str] = set()
        self.variables = {field: (self.names.fresh(field), kind) for field, kind in system.state.fields}
        for kind in used_types(system):
            self.types.set_of(kind)
        for _, kind in system.state.fields:
            self.types.zero(kind)  # takes its names
        units: list[Init | Action | Claim] = [*system.inits, *system.actions, *system.claims]
        self.operators = {unit.name: self.names.fresh(unit.name) for unit in units}
        self.asserted = frozenset(c.name for c in system.claims if c.kind == "assert" and properties)
        self.deadlock = next((c for c in system.claims if c.kind == "deadlock" and properties), None)
        self.failing = [(a, body) for a in system.actions if self.deadlock and (body := failing(a, self.asserted))]
        self.failures = {action.name: self.names.fresh(f"{action.name}_fails") for action, _ in self.failing}

    def export(self) -> Module:
        """Module and configuration."""
        body = [*self._start(), *self._actions(), *self._failing(), *self._next(), *self._claims()]
        lines = [*self._head(), *self._definitions(), *self._declarations(), *body]
        width = max(4, (78 - len(f" MODULE {self.name} ")) // 2)
        head = f"{'-' * width} MODULE {self.name} {'-' * width}"
        text = "\n".join([head, *wrapped(lines), "=" * len(head)]) + "\n"
        return Module(text, "\n".join(self._config()) + "\n")

    # --- before the body ------------------------------------------------------------------------------

    def _head(self) -> list[str]:
        system = self.system
        preset = f"@{system.preset}" if system.preset else ""
        sizes = f", scope {system.scope}" if system.scope else ""
        given = ", ".join(f"{name}={value}" for name, value in system.parameters.items()) or "none"
        rows = [
            f"{system.model}{preset}{sizes}, written by kvproto export --to tla.  Parameters: {given}.",
            f"  java -cp tla2tools.jar tlc2.TLC -config {self.name}.cfg {self.name}.tla",
        ]
        modules = ["Integers", "FiniteSets", *(["TLC"] if "TLC" in self.needs else [])]
        return [*comment(*rows), f"EXTENDS {', '.join(modules)}", ""]

    def _definitions(self) -> Iterator[str]:
        if self.types.none:
            yield from ["CONSTANT None", ""]
        for name, text in self.types.definitions.values():
            yield f"{name} == {text}"
        for name, text in HELPERS.items():
            if name in self.needs:
                yield from ["", *text.splitlines()]
        yield ""

    def _declarations(self) -> Iterator[str]:
        names = [name for name, _ in self.variables.values()]
        yield f"VARIABLES {', '.join(names)}"
        yield f"vars == <<{', '.join(names)}>>"
        yield from ["", *comment("What the search of kvproto checks at every store."), "TypeOK =="]
        for name, kind in self.variables.values():
            yield f"    /\\ {name} \\in {self.types.set_of(kind)}"
        yield ""

    # --- bodies ---------------------------------------------------------------------------------------

    def _values(self) -> Values:
        return Values(self.types, Scope(self.names.taken), self.needs)

    def _body(
        self, params: tuple[Param, ...], source: tuple[Stmt, ...] = (), *, zero: bool = False
    ) -> tuple[Body, list[str]]:
        """A body about to start, and what its parameters are called."""
        values = self._values()
        kinds = self.variables.values()
        state = State({name: Variable(self.types.zero(kind) if zero else Text(name)) for name, kind in kinds})
        names = {name: values.scope.fresh(text) for name, text in self._arguments(params).items()}
        known = {name: Text(text) for name, text in names.items()}
        # The body reads the state, and the environment reads it for the expressions in the body.
        env = Env(_nothing_to_read, known)
        body = Body(values, Definitions(values.scope), state, env, self.asserted, self.variables, source)
        body.env = Env(body.read, known)
        return body, list(names.values())

    def _operator(self, name: str, params: tuple[Param, ...], body: Body, names: list[str], primed: str) -> list[str]:
        arguments = f"({', '.join(names)})" if params else ""
        return [f"{name}{arguments} ==", *(f"    {line}" for line in body.formula(primed)), ""]

    def _start(self) -> Iterator[str]:
        for init in self.system.inits:
            body, names = self._body(init.params, init.body, zero=True)
            body.run(init.body)
            yield from self._operator(self.operators[init.name], init.params, body, names, "")
        yield "Init =="
        if self.system.inits:
            yield from (f"    \\/ {self._some(self.operators[init.name], init.params)}" for init in self.system.inits)
        else:
            yield from (f"    /\\ {name} = {self.types.zero(kind)}" for name, kind in self.variables.values())
        yield ""

    def _actions(self) -> Iterator[str]:
        for action in self.system.actions:
            text = " ".join(f"{action.machine}: {action.doc}".split())
            cites = f"; {', '.join(action.cites)}" if action.cites else ""
            yield from comment(f"{text} ({action.loc}{cites})")
            body, names = self._body(action.params, action.body)
            body.run(action.body)
            yield from self._operator(self.operators[action.name], action.params, body, names, "'")

    def _failing(self) -> Iterator[str]:
        """What a step does that fails an assertion nobody asked about."""
        for action, block in self.failing:
            yield from comment("A step that fails an assertion changes nothing, so that it is no deadlock.")
            body, names = self._body(action.params, block)
            body.run(block)
            body.state = self._body(())[0].state
            yield from self._operator(self.failures[action.name], action.params, body, names, "'")

    def _some(self, operator: str, params: tuple[Param, ...], without: tuple[str, ...] = ()) -> str:
        """The operator for some choice of its parameters; those in `without` are bound already."""
        names = self._arguments(params)
        call = f"{operator}({', '.join(names.values())})" if params else operator
        free = [p for p in params if p.name not in without]
        bound = ", ".join(f"{names[p.name]} \\in {self.types.set_of(p.type)}" for p in free)
        return f"\\E {bound} : {call}" if free else call

    def _arguments(self, params: tuple[Param, ...]) -> dict[str, str]:
        """What parameters are called: like nothing at the top of the module."""
        scope = Scope(self.names.taken)
        return {p.name: scope.fresh(p.name.replace(".", "_")) for p in params}

    def _next(self) -> Iterator[str]:
        options = [self._some(self.operators[action.name], action.params) for action in self.system.actions]
        options += [self._some(self.failures[action.name], action.params) for action, _ in self.failing]
        if self.deadlock is not None and self.deadlock.cond is not None:
            yield from comment("Where nothing has to happen any more, nothing happening is no deadlock.")
            yield from ["Terminating ==", f"    /\\ {self._condition(self.deadlock.cond).at(OPEN + 1)}"]
            yield from ["    /\\ UNCHANGED vars", ""]
            options.append("Terminating")
        yield "Next =="
        yield from (f"    \\/ {option}" for option in options or ["FALSE"])
        yield ""
        if self.system.fairness:
            yield "Fairness =="
            yield from (f"    /\\ {self._fair(fair)}" for fair in self.system.fairness)
            yield from ["", "Spec == Init /\\ [][Next]_vars /\\ Fairness"]
        else:
            yield "Spec == Init /\\ [][Next]_vars"
        yield ""

    def _fair(self, fair: Fairness) -> str:
        actions = [a for a in self.system.actions if a.name in fair.actions]
        any_of = [self._some(self.operators[a.name], a.params, fair.per) for a in actions]
        group = any_of[0] if len(any_of) == 1 else " \\/ ".join(f"({text})" for text in any_of)
        per = [p for p in actions[0].params if p.name in fair.per]
        names = self._arguments(tuple(per))
        every = "".join(f"\\A {names[p.name]} \\in {self.types.set_of(p.type)} : " for p in per)
        return f"{every}{'WF' if fair.kind == 'weak' else 'SF'}_vars({group})"

    # --- claims ---------------------------------------------------------------------------------------

    def _condition(self, cond: Expr, known: dict[str, Text] | None = None) -> Text:
        body, _ = self._body(())
        return body.values.value(cond, Env(body.read, known or {}))

    def _claims(self) -> Iterator[str]:
        if self.system.constraint is not None:
            yield from comment("States outside of it are judged, but neither counted nor left.")
            yield from ["Within ==", f"    {self._condition(self.system.constraint)}", ""]
        for claim in self.system.claims:
            if claim.cond is not None and claim.kind != "deadlock":
                doc = inspect.cleandoc(claim.doc)
                yield from comment(claim.text, *([""] if doc else []), *doc.splitlines())
                yield from [f"{self.operators[claim.name]} ==", f"    {self._claim(claim)}", ""]

    def _claim(self, claim: Claim) -> str:
        assert claim.cond is not None
        values = self._values()
        known = {name: Text(values.scope.fresh(text)) for name, text in self._arguments(claim.params).items()}
        every = "".join(f"\\A {known[p.name]} \\in {self.types.set_of(p.type)} : " for p in claim.params)
        goal = self._condition(claim.cond, known)
        match claim.kind:
            case "sometimes":
                return f"~({goal})"
            case "eventually":
                return f"{every}<>({goal})"
            case "always_eventually":
                return f"{every}[]<>({goal})"
            case "eventually_always":
                return f"{every}<>[]({goal})"
            case "leads_to":
                assert claim.trigger is not None
                return f"{every}({self._condition(claim.trigger, known)}) ~> ({goal})"
            case _:
                return goal.text

    def _config(self) -> Iterator[str]:
        yield "SPECIFICATION Spec"
        if self.types.none:
            yield "CONSTANT None = None"
        yield "INVARIANT TypeOK"
        if self.system.constraint is not None:
            yield "CONSTRAINT Within"
        for claim in self.system.claims if self.properties else ():
            if claim.cond is None or claim.kind in ("assert", "deadlock"):
                continue
            if claim.kind == "sometimes":
                yield "\\* The next one says that it never happens, so TLC has to find it violated."
            kind = "PROPERTY" if claim.kind in LIVENESS else "INVARIANT"
            yield f"{kind} {self.operators[claim.name]}"
        yield f"CHECK_DEADLOCK {'TRUE' if self.deadlock is not None else 'FALSE'}"


def _nothing_to_read(place: Place, env: Env) -> Text:
    raise AssertionError((place, env))


def used_types(system: System) -> Iterator[Type]:
    """Every type that has to be a set in the module."""
    yield from (kind for _, kind in system.state.fields)
    bodies = [(a.params, a.body) for a in system.actions] + [(i.params, i.body) for i in system.inits]
    for params, body in bodies:
        yield from (p.type for p in params)
        for stmt in statements(body):
            if isinstance(stmt, For):
                yield stmt.domain.type
            yield from (t for e in expressions(stmt) for t in _domains(e))
    for claim in system.claims:
        yield from (p.type for p in claim.params)
        for cond in (claim.cond, claim.trigger):
            yield from () if cond is None else _domains(cond)
    if system.constraint is not None:
        yield from _domains(system.constraint)


def _domains(expr: Expr) -> Iterator[Type]:
    return (e.domain.type for e in subexpressions(expr) if isinstance(e, Quant))


def comment(*rows: str) -> list[str]:
    """A comment of several lines."""
    lines = [part for row in rows for part in textwrap.wrap(row, WIDTH - 6, drop_whitespace=bool(row.strip())) or [""]]
    lines = [line.replace("(*", "( *").replace("*)", "* )") for line in lines]
    width = max(map(len, lines))
    return [f"(* {line:<{width}} *)" for line in lines]


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Long lines broken behind operators, deeper than the bullet that they belong to."""
    for line in lines:
        if len(line) <= WIDTH or line.startswith("(*"):
            yield line
            continue
        start = " " * (len(line) - len(line.lstrip()))
        now = ""
        quoted = re.sub(r'"[^"]*"', lambda found: found[0].replace(" ", "\0"), line.strip())
        for glued in re.split(r"(?<=[\\/:,]) |(?<==>) |(?<=THEN) |(?<=ELSE) |(?<= IN) ", quoted):
            piece = glued.replace("\0", " ")
            if now and len(now) + len(piece) >= WIDTH:
                yield now
                now = f"{start}      {piece}"
            else:
                now = f"{now} {piece}" if now else f"{start}{piece}"
        yield now
