"""When an action can happen, as one condition of the state.

A `require` that stands before all effects can be asked in the state in which the action would happen; that is so for
every path through nearly every body.  The others (`is_late`) are found out by trying: see `code`.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.export.promela.faults import Faults
from kvproto.export.promela.text import FALSE, TRUE, Text, conj, decide, disj, neg
from kvproto.export.promela.values import Env, Meaning, Values
from kvproto.export.ranges import bounds, domain_bounds
from kvproto.ir.nodes import Assert, Assign, For, If, Require, SetLocal, Stmt
from kvproto.ir.walk import statements


def decides(body: tuple[Stmt, ...]) -> bool:
    """Whether anything in it can say that the action does not happen."""
    return any(isinstance(stmt, Require | Assert) for stmt in statements(body))


def is_late(body: tuple[Stmt, ...]) -> bool:
    """Whether on some path a `require` or an assertion comes after an effect."""
    return _late(body, False)[0]


def _late(body: tuple[Stmt, ...], touched: bool) -> tuple[bool, bool]:
    """(some decision comes late, effects have happened by the end), `touched` if they have at the beginning."""
    late = False
    for stmt in body:
        match stmt:
            case Require() | Assert():
                late = late or touched
            case Assign():
                touched = True
            case If():
                then, orelse = _late(stmt.then, touched), _late(stmt.orelse, touched)
                late, touched = late or then[0] or orelse[0], then[1] or orelse[1]
            case For():
                inner = _late(stmt.body, touched)
                again = _late(stmt.body, inner[1])
                late, touched = late or again[0], again[1]
            case _:
                pass
    return late, touched


@dataclass(frozen=True, slots=True)
class Way:
    """What a piece of a body comes to: it passes, it is an error of the model, it fails an assertion that is asked for,
    or it fails one that is not (`quiet`).

    Where none of the four is true a `require` stopped it.  `env` is what locals are worth after it passed.
    """

    env: Env
    passes: Text = TRUE
    wrong: Text = FALSE
    fails: Text = FALSE
    quiet: Text = FALSE

    def then(self, other: Way) -> Way:
        """This, and then the other."""
        return Way(
            other.env,
            conj([self.passes, other.passes]),
            disj([self.wrong, conj([self.passes, other.wrong])]),
            disj([self.fails, conj([self.passes, other.fails])]),
            disj([self.quiet, conj([self.passes, other.quiet])]),
        )

    def if_(self, test: Text, orelse: Way, env: Env) -> Way:
        """This where the test holds, else the other."""
        return Way(
            env,
            decide(test, self.passes, orelse.passes),
            decide(test, self.wrong, orelse.wrong),
            decide(test, self.fails, orelse.fails),
            decide(test, self.quiet, orelse.quiet),
        )


class Guards:
    """Works out guards of bodies whose decisions come before their effects; `claims` are asked for."""

    def __init__(self, values: Values, faults: Faults, claims: frozenset[str]) -> None:
        self.values = values
        self.faults = faults
        self.claims = claims

    def way(self, body: tuple[Stmt, ...], env: Env) -> Way:
        """What the part of the body comes to that decides; what comes after the last decision is left out."""
        done = Way(env)
        for at, stmt in enumerate(body):
            if not decides(body[at:]):
                break
            done = done.then(self._statement(stmt, done.env))
        return done

    def _statement(self, stmt: Stmt, env: Env) -> Way:
        match stmt:
            case Require(cond=cond):
                sound, holds = self.faults.sound(cond, env), self.values.number(cond, env)
                return Way(env, conj([sound, holds]), neg(sound))
            case Assert(cond=cond, claim=claim):
                sound, holds = self.faults.sound(cond, env), self.values.number(cond, env)
                fails = conj([sound, neg(holds)])
                asked = claim in self.claims
                return Way(env, conj([sound, holds]), neg(sound), *((fails, FALSE) if asked else (FALSE, fails)))
            case SetLocal(name=name, value=value):
                inner = env.bind(name, self.values.value(value, env), bounds(value, env.ranges))
                return self._asked(self.faults.sound(value, env), inner)
            case If():
                return self._if(stmt, env)
            case For():
                return self._for(stmt, env)
            case Assign():
                return Way(env)  # no decision comes after it

    def _asked(self, sound: Text, env: Env) -> Way:
        """Evaluating something that decides nothing by itself."""
        return Way(env, sound, neg(sound))

    def _if(self, stmt: If, env: Env) -> Way:
        test = self.values.number(stmt.test, env)
        then, orelse = self._branch(stmt.then, env), self._branch(stmt.orelse, env)
        chosen = then.if_(test, orelse, self._merged(test, then.env, orelse.env))
        return self._asked(self.faults.sound(stmt.test, env), env).then(chosen)

    def _branch(self, body: tuple[Stmt, ...], env: Env) -> Way:
        """The branch up to its first effect: locals set before it may be asked for later."""
        done = Way(env)
        for stmt in body:
            if isinstance(stmt, Assign):
                break
            done = done.then(self._statement(stmt, done.env))
        return done

    def _merged(self, test: Text, then: Env, orelse: Env) -> Env:
        """Names that both branches know."""
        names: dict[str, Meaning] = {}
        for name in then.values.keys() & orelse.values.keys():
            names[name] = self.values.either(test, then.values[name], orelse.values[name])
        same = then.ranges.items() & orelse.ranges.items()
        return Env(names, dict(same))

    def _for(self, stmt: For, env: Env) -> Way:
        done = Way(env)
        known = domain_bounds(stmt.var, stmt.domain.type, stmt.domain.values)
        for item in stmt.domain.values:
            inner = done.env.bind(stmt.var, self.values.constant(item, stmt.domain.type), known.get(stmt.var))
            turn = Way(inner)
            if stmt.where is None:
                done = done.then(turn.then(self._branch(stmt.body, inner)))
                continue
            test, body = self.values.number(stmt.where, inner), self._branch(stmt.body, inner)
            chosen = body.if_(test, turn, self._merged(test, body.env, inner))
            done = done.then(self._asked(self.faults.sound(stmt.where, inner), inner).then(chosen))
        return done
