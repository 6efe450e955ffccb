"""Bodies of actions and init functions: statements in order become guards and one new value for each variable.

A change that is read again, a long local and a loop get a name in a LET; the rest is written where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kvproto.export.tla.definitions import Definition, Definitions, definition_lines, mentions
from kvproto.export.tla.loops import fold, parallel
from kvproto.export.tla.state import SHORT, Path, State
from kvproto.export.tla.text import AND, FALSE, TRUE, Text, choose, conj, decide, equal_to, implies, neg
from kvproto.export.tla.values import Env, Values
from kvproto.ir.nodes import Assert, Assign, Expr, For, If, Local, Place, Require, SetLocal, Stmt
from kvproto.ir.types import ArrayT, BoolT, RecordT, Type
from kvproto.ir.walk import can_fault, indices, subexpressions


@dataclass(slots=True)
class Body:
    """A body under way."""

    values: Values
    definitions: Definitions
    state: State
    env: Env
    claims: frozenset[str]
    variables: Mapping[str, tuple[str, Type]]
    """Field of the state -> variable and its type."""
    source: tuple[Stmt, ...]
    """All statements of the body, of which those of a branch are a part."""
    unsure: set[str] = field(default_factory=set)
    """Locals that may have no value; all branches share them."""
    guards: list[tuple[int, Text]] = field(default_factory=list)
    """Conditions, each with the number of definitions that were made before it."""

    def run(self, block: tuple[Stmt, ...]) -> None:
        """Execute statements in order."""
        for stmt in block:
            self._statement(stmt)

    def guard(self, cond: Text) -> None:
        """The body happens only if this holds."""
        if cond != TRUE:
            self.guards.append((len(self.definitions.found), cond))

    def _statement(self, stmt: Stmt) -> None:
        match stmt:
            case Require(cond=cond):
                self.guard(self.values.value(cond, self.env))
            case Assert(cond=cond, claim=claim):
                holds = self.values.value(cond, self.env)
                if claim in self.claims:
                    self.values.needs.add("TLC")
                    holds = Text(f'Assert({holds}, "{claim}")')
                self.guard(holds)
            case SetLocal(name=name, value=value):
                if self.may_be_wrong(value):
                    self.unsure.add(name)
                self.set_local(name, self.values.value(value, self.env))
            case Assign(place=place, value=value):
                new = self.values.value(value, self.env)
                sure = not any(self.may_be_wrong(index) for index in indices(place))
                self.state.write(self.variable(place), self.path(place, self.env), new, sure=sure)
            case If():
                self._if(stmt)
            case For():
                self._for(stmt)

    def may_be_wrong(self, expr: Expr) -> bool:
        """Whether the expression has no value in some states, those in which nothing comes of it."""
        inside = [e.name for e in subexpressions(expr) if isinstance(e, Local)]
        return can_fault(expr) or any(name in self.unsure for name in inside)

    def set_local(self, name: str, value: Text) -> None:
        """Give a local a value."""
        short = value if len(value.text) <= SHORT else self.definitions.define(name, value)
        self.env = self.env.bind(name, short)

    def variable(self, place: Place) -> str:
        """The variable that a place belongs to."""
        return self.variables[str(place.steps[0])][0]

    def path(self, place: Place, env: Env) -> tuple[str, ...]:
        """The accesses of a place below its variable."""
        return tuple(
            f".{self.values.types.field(step)}" if isinstance(step, str) else f"[{self.values.value(step, env)}]"
            for step in place.steps[1:]
        )

    def read(self, place: Place, env: Env) -> Text:
        """The present value of a place."""
        return self.state.read(self.variable(place), self.path(place, env), self.definitions.define)

    # --- branches -------------------------------------------------------------------------------------

    def branch(self) -> Body:
        """The same moment, to go on from in another way; definitions are shared."""
        found = replace(self, state=self.state.copy(), guards=[])
        found.env = Env(found.read, self.env.values)
        return found

    def inside(self, state: State, locals_: Mapping[str, Text]) -> Body:
        """The inside of a loop: definitions of its own, and locals that are worth something else."""
        found = replace(self, definitions=Definitions(self.definitions.scope), state=state, guards=[])
        found.env = Env(found.read, {**self.env.values, **locals_})
        return found

    def _if(self, stmt: If) -> None:
        test = self.values.value(stmt.test, self.env)
        if test in (TRUE, FALSE):
            self.run(stmt.then if test == TRUE else stmt.orelse)
            return
        then, orelse = self.branch(), self.branch()
        then.run(stmt.then)
        orelse.run(stmt.orelse)
        self.join(test, then, orelse)

    def type_at(self, variable: str, path: Path) -> Type:
        """The type of a part of a variable."""
        kind = next(kind for name, kind in self.variables.values() if name == variable)
        for step in path:
            if isinstance(kind, ArrayT):
                kind = kind.element
            else:
                assert isinstance(kind, RecordT)
                kind = next(t for n, t in kind.fields if f".{self.values.types.field(n)}" == step)
        return kind

    def choosing(self, variable: str, path: Path) -> Callable[[Text, Text, Text], Text]:
        """How a part of a variable is chosen by a test."""
        return decide if isinstance(self.type_at(variable, path), BoolT) else choose

    def join(self, test: Text, then: Body, orelse: Body) -> None:
        """Go on after two ways."""
        first, second = (conj(text for _, text in way.guards) for way in (then, orelse))
        if first == TRUE:
            self.guard(implies(neg(test), second))
        elif second == TRUE:
            self.guard(implies(test, first))
        else:
            self.guard(choose(test, first, second))
        if len(test.text) > SHORT and self.state.differences(then.state, orelse.state) > 1:
            test = self.definitions.define("when", test)
        self.state = self.state.merged(test, then.state, orelse.state, self.choosing, self.definitions)
        known = then.env.values.keys() & orelse.env.values.keys()
        for name in [n for n in then.env.values if n in known]:
            one, other = then.env.values[name], orelse.env.values[name]
            if one != other:
                self.set_local(name, choose(test, one, other))
            else:
                self.env = self.env.bind(name, one)

    # --- loops ----------------------------------------------------------------------------------------

    def _for(self, stmt: For) -> None:
        if not stmt.domain.values or not (stmt.body or stmt.where):
            return
        if len(stmt.domain.values) == 1:
            self.turn(stmt, self.values.types.value(stmt.domain.values[0], stmt.domain.type))
        elif not parallel(self, stmt):
            fold(self, stmt)

    def turn(self, stmt: For, value: Text) -> None:
        """One turn of a loop."""
        self.env = self.env.bind(stmt.var, value)
        where = TRUE if stmt.where is None else self.values.value(stmt.where, self.env)
        if where == TRUE:
            self.run(stmt.body)
            return
        then, orelse = self.branch(), self.branch()
        then.run(stmt.body)
        self.join(where, then, orelse)

    # --- the formula ----------------------------------------------------------------------------------

    def formula(self, primed: str) -> list[str]:
        """Conjuncts, each at the margin, for variables with that ending."""
        if any(text == FALSE for _, text in self.guards):
            return ["FALSE"]
        updates, same = [], []
        for name, variable in self.state.variables.items():
            text = variable.text.text
            if primed and text == name:
                same.append(name)
            else:
                updates.append(f"{name}{primed} = {equal_to(variable.text)}")
        if same:
            updates.append(f"UNCHANGED {same[0]}" if len(same) == 1 else f"UNCHANGED <<{', '.join(same)}>>")
        made = self.needed([*updates, *(guard.text for _, guard in self.guards)])
        names = [definition.name for definition in made]
        early = [not any(mentions(text.text, name) for name in names) for _, text in self.guards]
        turn = early.index(False) if False in early else len(early)
        bullets = [f"/\\ {text.at(AND)}" for _, text in self.guards] + [f"/\\ {update}" for update in updates]
        if not made:
            return bullets
        let, rest = definition_lines(made), bullets[turn:]
        lines = [*bullets[:turn], f"/\\ LET {let[0]}", *(f"       {line}" for line in let[1:])]
        return [*lines, f"   IN  {rest[0]}", *(f"       {line}" for line in rest[1:])]

    def needed(self, texts: list[str]) -> list[Definition]:
        """Definitions that are used."""
        found: list[Definition] = []
        for definition in reversed(self.definitions.found):
            if any(mentions(text, definition.name) for text in texts):
                found.insert(0, definition)
                texts = [*texts, *definition.lines]
        return found
