"""Quantifiers, comprehensions and choices: over sorts they stay quantifiers, over known values they are written out."""

from __future__ import annotations

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import (
    Quant,
)
from kvproto.ir.types import OptT, SetT, SortT, Type, Value
from kvproto.prove.logic.formula import (
    FALSE,
    TRUE,
    Choose,
    Formula,
    Num,
    Term,
    Var,
    conj,
    disj,
    forall,
    implies,
    neg,
)
from kvproto.prove.logic.substitute import substitute
from kvproto.prove.lowering.fail import SIZES_ONLY, refuse, refuse_arithmetic, refuse_count, refuse_element
from kvproto.prove.lowering.reading import Reading
from kvproto.prove.lowering.simplify import existing, simplified
from kvproto.prove.lowering.state import keys_of
from kvproto.prove.lowering.values import (
    Element,
    Elements,
    Meaning,
    Members,
    Number,
    as_formula,
    equal,
    fresh_var,
    literal,
    merged,
    plus,
    term_of,
    variable,
)


class Quantifiers(Reading):
    """Evaluates quantifiers."""

    def quant(self, expr: Quant) -> Meaning:
        """What a quantifier means here."""
        if expr.op in ("sum", "min", "max"):
            if isinstance(expr.domain.type, SortT):
                refuse_count(expr.loc)
            return self._total(expr)
        if not isinstance(expr.domain.type, SortT):
            return self._unrolled(expr)
        if not expr.domain.whole:
            refuse_element(expr.domain.type.name, expr.loc)
        return self._over_sort(expr, expr.domain.type.name)

    def _over_sort(self, expr: Quant, sort: str) -> Meaning:
        var = Var(expr.var, sort)
        if expr.op == "first":
            return self._first(expr, sort)
        before = dict(self.env)
        with self.binding(var):
            self.env[expr.var] = variable(var)
            where = TRUE if expr.where is None else self.formula(expr.where)
            with self.given(where):
                body = self.value(expr.body)
        self.env = before
        match expr.op:
            case "any":
                return existing((var,), conj((where, as_formula(body))))
            case "all":
                return simplified(forall((var,), implies(where, as_formula(body))))
            case _:
                return _collected(expr, var, where, body)

    def _first(self, expr: Quant, sort: str) -> Meaning:
        """`next(...)`: any element that fits, where the model takes the first."""
        if self.pure or self.bound:
            refuse(
                "KV165",
                "the first element that fits is looked for in a claim or inside of a loop",
                expr.loc,
                "a step may choose an element, but a claim or a round of a loop cannot",
                "say what all elements that fit satisfy: all(... for p in Page if ...)",
            )
        probe = fresh_var(sort)
        before = dict(self.env)
        with self.binding(probe):
            self.env[expr.var] = variable(probe)
            where = TRUE if expr.where is None else self.formula(expr.where)
        var = self.chosen(lambda v: substitute(where, {probe: v}), sort)
        self.env = dict(before)
        self.env[expr.var] = variable(var)
        fits = substitute(where, {probe: var})
        with self.given(fits):
            body = self.value(expr.body)
        self.env = before
        self.world.assumptions[
            f"{self.name} takes any {sort} that fits, where the model takes the first ({expr.loc})"
        ] = None
        with self.given(neg(fits)):
            if expr.default is None:
                self.must(FALSE, "KV205", "the first of nothing", expr.loc)
                return body
            other = self.value(expr.default)
        return merged(fits, body, other)

    def _unrolled(self, expr: Quant) -> Meaning:
        """A quantifier over known values."""
        values = known_values(expr.domain.type, expr.domain.values, expr.loc)
        before, path = dict(self.env), self.path
        rounds: list[tuple[Formula, Meaning]] = []
        for value in values:
            self.env[expr.var] = literal(value)
            where = TRUE if expr.where is None else self.formula(expr.where)
            with self.given(where):
                body = self.value(expr.body)
            rounds.append((where, body))
        found = self._of_rounds(expr, rounds)
        self.env, self.path = before, path
        return found

    def _of_rounds(self, expr: Quant, rounds: list[tuple[Formula, Meaning]]) -> Meaning:
        match expr.op:
            case "any":
                return disj(conj((where, as_formula(body))) for where, body in rounds)
            case "all":
                return conj(implies(where, as_formula(body)) for where, body in rounds)
            case "first":
                found: Meaning | None = None if expr.default is None else self.value(expr.default)
                if found is None:
                    none = neg(disj(where for where, _ in rounds))
                    self.must(neg(none), "KV205", "the first of nothing", expr.loc)
                for where, body in reversed(rounds):
                    found = body if found is None else merged(where, body, found)
                assert found is not None
                return found
            case _:
                return _union_of(expr, rounds)

    def _total(self, expr: Quant) -> Meaning:
        """A sum or an extreme over known values."""
        if expr.op != "sum":
            refuse_arithmetic(expr.op, expr.loc)
        total: Term = Num(0)
        before = dict(self.env)
        for value in known_values(expr.domain.type, expr.domain.values, expr.loc):
            self.env[expr.var] = literal(value)
            where = TRUE if expr.where is None else self.formula(expr.where)
            with self.given(where):
                one = term_of(self.value(expr.body))
            total = plus(total, one if where == TRUE else Choose(where, one, Num(0)))
        self.env = before
        return Number(total)


def known_values(kind: Type, values: tuple[Value, ...], loc: Loc) -> tuple[Value, ...]:
    """Values that a loop runs over, where it can be written out.  Raises KvError KV166."""
    if isinstance(kind, SetT) or (isinstance(kind, OptT) and isinstance(kind.inner, SortT)):
        refuse(
            "KV166",
            f"a loop or quantifier over values of {kind}",
            loc,
            "formulas quantify over elements of sorts, not over sets or optionals of them",
            f"quantify over the elements, or make the set a parameter of the action; {SIZES_ONLY}",
        )
    return values


def _collected(expr: Quant, var: Var, where: Formula, body: Meaning) -> Meaning:
    """`{body for var in sort if where}`."""
    match body:
        case Element():
            inner = body
            if inner.var == var:
                return Elements(inner.sort, lambda v: substitute(where, {var: v}))
            return Elements(inner.sort, lambda v: existing((var,), conj((where, inner.is_(v)))))
        case Elements():
            sets = body
            return Elements(sets.sort, lambda v: existing((var,), conj((where, sets.has(v)))))
        case Members():
            return Members(tuple((v, existing((var,), conj((where, test)))) for v, test in body.cases))
        case _:
            assert isinstance(expr.type, SetT)
            values = keys_of(expr.type.element, "a set")
            return Members(tuple((v, existing((var,), conj((where, equal(body, literal(v)))))) for v in values))


def _union_of(expr: Quant, rounds: list[tuple[Formula, Meaning]]) -> Meaning:
    """The set of what the rounds give."""
    assert isinstance(expr.type, SetT)
    if isinstance(expr.type.element, SortT):

        def has(v: Var) -> Formula:
            found = []
            for where, body in rounds:
                if isinstance(body, Element):
                    found.append(conj((where, body.is_(v))))
                elif isinstance(body, Elements):
                    found.append(conj((where, body.has(v))))
            return disj(found)

        return Elements(expr.type.element.name, has)

    def member(value: Value) -> Formula:
        return disj(
            conj((where, body.has(value) if isinstance(body, Members) else equal(body, literal(value))))
            for where, body in rounds
        )

    return Members(tuple((v, member(v)) for v in keys_of(expr.type.element, "a set")))
