"""What an action does, as Promela statements inside one `d_step`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kvproto.export.promela.faults import Faults
from kvproto.export.promela.scratch import Scratch
from kvproto.export.promela.storage import Storage, offset, position
from kvproto.export.promela.text import FALSE, TRUE, Text, conj, neg
from kvproto.export.promela.values import Env, Meaning, Values
from kvproto.export.ranges import domain_bounds
from kvproto.ir.nodes import Assert, Assign, Domain, Expr, For, If, Require, SetLocal, Stmt
from kvproto.ir.types import IntT, SetT
from kvproto.ir.walk import can_fault, expressions, statements

Lines = list[str]

BLOCKED, PASSED, FAILED, WRONG, QUIET = range(5)
"""What trying a body comes to: a guard is false, it went through, a claim fails, an error of the model, a claim fails
that was not asked for."""


def indented(lines: Iterable[str]) -> Lines:
    """One level deeper."""
    return [f"  {line}" for line in lines]


def selection(options: list[tuple[Text, Lines]], orelse: Lines) -> Lines:
    """`if :: a -> ... :: else -> ... fi`; an option whose condition is constant decides by itself."""
    kept: list[tuple[Text, Lines]] = []
    for test, body in options:
        if test == TRUE:
            orelse = body
            break
        if test != FALSE:
            kept.append((test, body))
    if not kept or not (orelse or any(body for _, body in kept)):
        return orelse
    lines = ["if"]
    for test, body in kept:
        lines += [f":: {test} ->", *indented(body)] if body else [f":: {test}"]
    return [*lines, *([":: else ->", *indented(orelse)] if orelse else [":: else"]), "fi;"]


@dataclass(slots=True)
class Code:
    """Translates the body of one action.

    With `trying` the body finds out on its way whether it passes, and leaves the answer in the variable `go`; else its
    decisions are known to be in its favour.  Assertions of `claims` are made, others are guards.
    """

    values: Values
    faults: Faults
    scratch: Scratch
    claims: frozenset[str]
    trying: bool = False
    used: dict[str, None] = field(default_factory=dict)
    """Scratch variables that the body has left a value in."""

    @property
    def storage(self) -> Storage:
        """Where the state is."""
        return self.values.storage

    def body(self, body: tuple[Stmt, ...], env: Env) -> Lines:
        """The statements, and scratch variables zero again behind them."""
        for stmt in statements(body):
            if isinstance(stmt, SetLocal):
                if stmt.name not in env.values:
                    env = env.bind(stmt.name, self.scratch.local(stmt.name, stmt.type, env.variables()))
        lines = self.block(body, env)
        return [*lines, *(f"{name} = 0;" for name in self.used)]

    def block(self, body: tuple[Stmt, ...], env: Env) -> Lines:
        """Statements in order; what comes after one that may stop the body is behind a test."""
        lines: Lines = []
        for at, stmt in enumerate(body):
            lines += self.statement(stmt, env)
            rest = body[at + 1 :]
            if rest and self.trying and self.may_stop(stmt):
                go_on = Text(f"{self.go} == {PASSED}")
                return [*lines, *selection([(go_on, self.block(rest, env))], [])]
        return lines

    @property
    def go(self) -> str:
        """The variable that says how trying goes."""
        return self.scratch.flag("go")

    def may_stop(self, stmt: Stmt) -> bool:
        """Whether the statement can end the body."""
        inside = list(statements((stmt,)))
        if any(isinstance(s, Require | Assert) for s in inside):
            return True
        if any(isinstance(s, Assign) and isinstance(s.value.type, IntT) for s in inside):
            return True
        return any(can_fault(e) for s in inside for e in expressions(s))

    # --- statements -----------------------------------------------------------------------------------

    def statement(self, stmt: Stmt, env: Env) -> Lines:
        """One statement."""
        match stmt:
            case Require(cond=cond):
                return self._decision(cond, env, BLOCKED) if self.trying else []
            case Assert(cond=cond, claim=claim):
                return self._assertion(cond, claim, env)
            case SetLocal(name=name, value=value):
                return self._checked(self.faults.sound(value, env), self._set(env.values[name], value, env))
            case Assign():
                return self._store(stmt, env)
            case If(test=test, then=then, orelse=orelse):
                taken = self.values.number(test, env)
                yes = self.block(then, env) if taken != FALSE else []
                no = self.block(orelse, env) if taken != TRUE else []
                return self._checked(self.faults.sound(test, env), selection([(taken, yes)], no))
            case For():
                return self._for(stmt, env)

    def _checked(self, sound: Text, lines: Lines) -> Lines:
        """Statements that only have a meaning if nothing goes wrong."""
        if sound == TRUE:
            return lines
        if self.trying:
            return selection([(neg(sound), [f"{self.go} = {WRONG};"])], lines)
        return [f"assert({sound});", *lines]

    def _decision(self, cond: Expr, env: Env, otherwise: int) -> Lines:
        holds = self.values.number(cond, env)
        stop = selection([(neg(holds), [f"{self.go} = {otherwise};"])], [])
        return self._checked(self.faults.sound(cond, env), stop)

    def _assertion(self, cond: Expr, claim: str, env: Env) -> Lines:
        if self.trying:
            return self._decision(cond, env, FAILED if claim in self.claims else QUIET)
        return [f"assert({self.values.number(cond, env)});"] if claim in self.claims else []

    def _store(self, stmt: Assign, env: Env) -> Lines:
        kind = stmt.place.type
        sound = [self.faults.sound(stmt.value, env)]
        sound += [self.faults.sound(step, env) for step in stmt.place.steps if not isinstance(step, str)]
        before, at = self._hoisted(stmt, env)
        if isinstance(kind, SetT):
            target = self.values.at(stmt.place, kind, at)
            return self._checked(conj(sound), [*before, *self._set(target, stmt.value, env)])
        value = self.values.number(stmt.value, env)
        if isinstance(kind, IntT):
            sound.append(self.faults.fits(stmt.value, kind, env))
            value = offset(value, kind)
        return self._checked(conj(sound), [*before, f"{self.values.cell(stmt.place, at)} = {value};"])

    def _hoisted(self, stmt: Assign, env: Env) -> tuple[Lines, list[Text]]:
        """Positions of the place that is stored into; one that reads the same array is worked out before."""
        lines: Lines = []
        found = []
        for number, at in enumerate(self.values.positions(stmt.place, env)):
            if self.storage.is_inside(stmt.place, at.text):
                name = self.scratch.flag(f"at{number}")
                self._use(name)
                lines.append(f"{name} = {at};")
                at = Text(name)
            found.append(at)
        return lines, found

    def _set(self, target: Meaning, value: Expr, env: Env) -> Lines:
        """An assignment to a variable or to the words of a set."""
        if isinstance(target, Text):
            self._use(target.text)
            return [f"{target} = {self.values.number(value, env)};"]
        found = self.values.words(value, env)
        if len(target) == 1:
            self._use(target[0].text)
            return [f"{target[0]} = {found[0]};"]
        # All words are worked out before any is stored: each may depend on all.
        new = [Text(name) for name in self.scratch.array("word", len(found))]
        for word in [*target, *new]:
            self._use(word.text)
        return [
            *(f"{a} = {b};" for a, b in zip(new, found, strict=True)),
            *(f"{a} = {b};" for a, b in zip(target, new, strict=True)),
        ]

    def _use(self, variable: str) -> None:
        """Remember a scratch variable, which a variable of the state is not."""
        if self.scratch.owns(variable):
            self.used[variable] = None

    def _for(self, stmt: For, env: Env) -> Lines:
        numbers = [position(v, stmt.domain.type) for v in stmt.domain.values]
        known = domain_bounds(stmt.var, stmt.domain.type, stmt.domain.values).get(stmt.var)
        if len(numbers) < 2 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            return self._written_out(stmt, env)
        counter = self.scratch.counter(stmt.var, stmt.domain.type, env.variables())
        value: Meaning = [counter] if isinstance(stmt.domain.type, SetT) else counter
        turn = self._turn(stmt, env.bind(stmt.var, value, known))
        if self.trying and self.may_stop(stmt):
            turn = selection([(Text(f"{self.go} == {PASSED}"), turn)], [])
        if not turn:
            return []
        self.used[counter.text] = None
        first, last = self._ends(stmt.domain)
        return [f"for ({counter} : {first} .. {last}) {{", *indented(turn), "}"]

    def _ends(self, domain: Domain) -> tuple[int, int]:
        """The first and the last number of a loop."""
        if isinstance(domain.type, IntT):
            numbers = [v for v in domain.values if isinstance(v, int)]
            return numbers[0], numbers[-1]
        return position(domain.values[0], domain.type), position(domain.values[-1], domain.type)

    def _written_out(self, stmt: For, env: Env) -> Lines:
        lines: Lines = []
        known = domain_bounds(stmt.var, stmt.domain.type, stmt.domain.values).get(stmt.var)
        for item in stmt.domain.values:
            constant = self.values.constant(item, stmt.domain.type)
            turn = self._turn(stmt, env.bind(stmt.var, constant, known))
            if self.trying and self.may_stop(stmt) and lines:
                turn = selection([(Text(f"{self.go} == {PASSED}"), turn)], [])
            lines += turn
        return lines

    def _turn(self, stmt: For, env: Env) -> Lines:
        body = self.block(stmt.body, env)
        if stmt.where is None:
            return body
        options = [(self.values.number(stmt.where, env), body)]
        return self._checked(self.faults.sound(stmt.where, env), selection(options, []))
