"""Expressions of the IR as formulas and terms over the state before the step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import (
    Binary,
    Checked,
    Cond,
    Const,
    Expr,
    Let,
    Local,
    Logic,
    Place,
    Quant,
    Read,
    SetOf,
    ToIndex,
    Unary,
)
from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, OptT, RecordT, SetT, SortT, Type, Value
from kvproto.prove.formula import (
    FALSE,
    INT,
    TRUE,
    Apply,
    Atom,
    Choose,
    Compare,
    Formula,
    Num,
    Plus,
    Same,
    Symbol,
    Term,
    Times,
    Truth,
    Var,
    conj,
    disj,
    forall,
    free_variables,
    implies,
    neg,
)
from kvproto.prove.lower_count import zero_test
from kvproto.prove.lower_fail import SIZES_ONLY, refuse
from kvproto.prove.lower_simplify import existing, simplified
from kvproto.prove.lower_state import HOLE, Key, Layout, Leaf, keys_of
from kvproto.prove.lower_values import (
    Carried,
    Element,
    Elements,
    Finite,
    Meaning,
    Members,
    Number,
    Predicate,
    among,
    as_formula,
    combined,
    contained,
    equal,
    fresh_var,
    merged,
    nothing,
    some_element,
    truth_as_finite,
    variable,
)
from kvproto.prove.substitute import in_term, substitute


@dataclass(slots=True)
class Duty:
    """What must hold for the step not to go wrong, once the guards before it hold."""

    name: str
    text: str
    formula: Formula
    loc: Loc
    after: int
    """How many guards stand before it."""


@dataclass(slots=True)
class World:
    """What all functions of one model share while they are lowered."""

    state: RecordT
    layout: Layout
    numbers: Mapping[str, Symbol]
    """Symbolic parameters, by the names that their locals have."""
    orders: dict[str, Symbol] = field(default_factory=dict)
    """The order of a sort, where the model compares its elements."""
    assumptions: dict[str, None] = field(default_factory=dict)

    def order(self, sort: str) -> Symbol:
        """The strict order of a sort."""
        return self.orders.setdefault(sort, Symbol(f"{sort}.before", (sort, sort), spelled="{0} < {1}"))


class Expressions:
    """Evaluates expressions in one function, in the state as it is at that point of the function."""

    def __init__(self, world: World, name: str, *, pure: bool) -> None:
        self.world = world
        self.name = name
        self.pure = pure
        """A claim: it can choose nothing, so there are no witnesses."""
        self.store: dict[str, Formula | Term] = {}
        """Values of symbols that have changed, over their formals."""
        self.env: dict[str, Meaning] = {}
        self.path: Formula = TRUE
        """When the point of the function is reached, among those who meet the guards so far."""
        self.guards: list[Formula] = []
        self.duties: list[Duty] = []
        self.bound: list[Var] = []
        """Variables of quantifiers and loops around."""
        self.witnesses: dict[Formula, Var] = {}
        self.reads: list[tuple[Symbol, tuple[Var, ...]]] = []

    # --- surroundings ---------------------------------------------------------------------------------

    @contextmanager
    def given(self, test: Formula) -> Iterator[None]:
        """What is evaluated only where `test` holds."""
        before, self.path = self.path, conj((self.path, test))
        try:
            yield
        finally:
            self.path = before

    @contextmanager
    def binding(self, var: Var) -> Iterator[None]:
        """What is evaluated for every value of `var`; duties and guards inside are about all of them."""
        first_duty, first_guard = len(self.duties), len(self.guards)
        self.bound.append(var)
        try:
            yield
        finally:
            self.bound.pop()
        for duty in self.duties[first_duty:]:
            duty.formula = forall((var,), duty.formula) if var in free_variables(duty.formula) else duty.formula
        for at, guard in enumerate(self.guards[first_guard:], first_guard):
            self.guards[at] = forall((var,), guard) if var in free_variables(guard) else guard

    def must(self, test: Formula, code: str, message: str, loc: Loc) -> None:
        """A duty at this point."""
        formula = simplified(implies(self.path, test))
        if formula != TRUE:
            self.duties.append(Duty(f"{code} at {loc.line}", message, formula, loc, len(self.guards)))

    def witness(self, element: Element) -> Var | None:
        """A variable for an element: one that the step chooses, as the element is the only one that fits.

        None where the element depends on a variable of a quantifier or a loop, or where nothing can be chosen.
        """
        if element.var is not None:
            return element.var
        probe = fresh_var(element.sort)
        test = element.is_(probe)
        if self.pure or free_variables(test) & set(self.bound):
            return None
        return self.chosen(lambda v: substitute(test, {probe: v}), element.sort)

    def chosen(self, fits: Predicate, sort: str) -> Var:
        """A new parameter of the step: an element that fits, any element where none does."""
        generic = Var(f"{sort[:1].lower()}..w", sort)
        test = fits(generic)
        if test not in self.witnesses:
            var = Var(f"{sort.lower()}.w{len(self.witnesses) + 1}", sort)
            self.witnesses[test] = var
            self.guards.append(disj((fits(var), neg(some_element(sort, fits)))))
        return self.witnesses[test]

    # --- the state ------------------------------------------------------------------------------------

    def stored(self, symbol: Symbol, args: tuple[Var, ...]) -> Formula | Term:
        """The present value of a symbol at some arguments."""
        self.reads.append((symbol, args))
        if symbol.name not in self.store:
            return Apply(symbol, args) if symbol.result == INT else Atom(symbol, args)
        formals = self.world.layout.formals[symbol.name]
        renaming: dict[Var, Term] = dict(zip(formals, args, strict=True))
        value = self.store[symbol.name]
        return in_term(value, renaming) if symbol.result == INT else substitute(value, renaming)  # type: ignore[arg-type]

    def relation(self, symbol: Symbol, args: tuple[Var, ...]) -> Formula:
        """The present truth of a relation."""
        found = self.stored(symbol, args)
        assert not isinstance(found, Var | Num | Apply | Plus | Times | Choose)
        return found

    def cells(self, place: Place) -> list[tuple[Formula, Leaf, tuple[Element, ...]]]:
        """Where a place is: a leaf with its arguments, in each case that its other indices distinguish."""
        cases: list[tuple[Formula, Key, tuple[Element, ...]]] = [(TRUE, (), ())]
        kind: Type = self.world.state
        for step in place.steps:
            if isinstance(step, str):
                assert isinstance(kind, RecordT)
                kind = dict(kind.fields)[step]
                cases = [(test, (*key, step), args) for test, key, args in cases]
                continue
            assert isinstance(kind, ArrayT)
            ways = list(self._ways(step, kind.index))
            cases = [
                (conj((test, more)), (*key, part), (*args, *arg))
                for test, key, args in cases
                for more, part, arg in ways
            ]
            kind = kind.element
        return [(test, self.world.layout.leaves[key], args) for test, key, args in cases if test != FALSE]

    def _ways(self, index: Expr, kind: Type) -> Iterator[tuple[Formula, Value, tuple[Element, ...]]]:
        found = self.value(index)
        match found:
            case Element():
                if found.none != FALSE:
                    yield found.none, None, ()
                yield neg(found.none), HOLE, (found,)
            case Number():
                assert isinstance(kind, IntT | OptT)
                for key in keys_of(kind, "this"):
                    test = found.none if key is None else equal(found, Number(Num(int(key))))  # type: ignore[arg-type]
                    if test != FALSE:
                        yield test, key, ()
            case _:
                for key, test in truth_as_finite(found).cases:
                    if test != FALSE:
                        yield test, key, ()

    def read(self, expr: Read) -> Meaning:
        """The value of a place."""
        found: Meaning | None = None
        for test, leaf, args in self.cells(expr.place):
            value = self._at(leaf, args, (), expr.loc)
            found = value if found is None else merged(test, value, found)
        assert found is not None
        return found

    def _at(self, leaf: Leaf, args: tuple[Element, ...], done: tuple[Var, ...], loc: Loc) -> Meaning:
        """The value of a leaf; arguments that no variable stands for are quantified over."""
        if len(done) == len(args):
            return self._leaf_value(leaf, done)
        arg = args[len(done)]
        var = self.witness(arg)
        if var is not None:
            return self._at(leaf, args, (*done, var), loc)
        if leaf.kind == "int":
            refuse(
                "KV165",
                "a number is read at an element that the state gives, inside of a quantifier or a loop",
                loc,
                "an element that is looked up is a relation here, and a number has no value for several elements",
                "quantify over the element: `all(... for r in Req if s.owner[p] == r)`",
            )
        return self._looked_up(leaf, args, done, arg, loc)

    def _looked_up(
        self, leaf: Leaf, args: tuple[Element, ...], done: tuple[Var, ...], arg: Element, loc: Loc
    ) -> Meaning:
        var = fresh_var(arg.sort)
        with self.binding(var):
            found = self._at(leaf, args, (*done, var), loc)

        def there(test: Formula) -> Formula:
            return existing((var,), conj((arg.is_(var), test)))

        match found:
            case Finite():
                return Finite(tuple((value, there(test)) for value, test in found.cases))
            case Element():
                inner = found
                return Element(inner.sort, lambda v: there(inner.is_(v)), there(inner.none))
            case Elements():
                members = found
                return Elements(members.sort, lambda v: there(members.has(v)))
            case Members():
                return Members(tuple((value, there(test)) for value, test in found.cases))
            case _:
                return there(as_formula(found))

    def _leaf_value(self, leaf: Leaf, args: tuple[Var, ...]) -> Meaning:
        match leaf.kind:
            case "bool":
                return self.relation(leaf.symbol, args)
            case "finite":
                cases: list[tuple[Value, Formula]] = [(v, self.relation(x, args)) for v, x in leaf.symbols.items()]
                if leaf.optional:
                    cases.append((None, neg(disj(test for _, test in cases))))
                return Finite(tuple(cases))
            case "members":
                return Members(tuple((v, self.relation(x, args)) for v, x in leaf.symbols.items()))
            case "set":
                return Elements(leaf.element, self._row(leaf, args))
            case "sort":
                is_ = self._row(leaf, args)
                none = neg(some_element(leaf.element, is_)) if leaf.optional else FALSE
                return Element(leaf.element, is_, none)
            case "int":
                term = self.stored(leaf.symbol, args)
                none = neg(self.relation(leaf.symbols[None], args)) if leaf.optional else FALSE
                assert isinstance(term, Var | Num | Apply | Plus | Times | Choose)
                return Number(term, none)

    def _row(self, leaf: Leaf, args: tuple[Var, ...]) -> Predicate:
        """The last argument of a relation left open, in the state as it is now."""
        probe = fresh_var(leaf.element)
        now = self.relation(leaf.symbol, (*args, probe))
        return lambda v: substitute(now, {probe: v})

    # --- expressions ----------------------------------------------------------------------------------

    def formula(self, expr: Expr) -> Formula:
        """A condition."""
        return simplified(as_formula(self.value(expr)))

    def value(self, expr: Expr) -> Meaning:
        """What an expression means here."""
        match expr:
            case Const():
                return self._constant(expr)
            case Local():
                return self._local(expr)
            case Read():
                return self.read(expr)
            case Unary():
                return self._unary(expr)
            case Binary():
                return self._binary(expr)
            case Logic():
                return self._logic(expr)
            case Cond():
                return self._cond(expr)
            case Let():
                self.env[expr.name] = self.value(expr.value)
                return self.value(expr.body)
            case Checked():
                self.must(self.formula(expr.test), expr.code, expr.message, expr.loc)
                return self.value(expr.body)
            case SetOf():
                return self._set_of(expr)
            case ToIndex():
                return self._to_index(expr)
            case Quant():
                return self._quant(expr)

    def _constant(self, expr: Const) -> Meaning:
        kind, value = expr.type, expr.value
        inner = kind.inner if isinstance(kind, OptT) else kind
        match inner:
            case SortT():
                if value is None:
                    return nothing(inner.name)
                self._one_element(inner.name, expr.loc)
            case BoolT() if not isinstance(kind, OptT):
                return Truth(bool(value))
            case BoolT() | EnumT():
                return Finite(((value, TRUE),))
            case IntT():
                return Number(Num(0), TRUE) if value is None else Number(Num(int(value)))  # type: ignore[arg-type]
            case SetT(element=SortT() as element):
                if value:
                    self._one_element(element.name, expr.loc)
                return Elements(element.name, lambda _: FALSE)
            case SetT(element=element):
                assert isinstance(value, frozenset)
                return Members(tuple((v, Truth(v in value)) for v in keys_of(element, "a set")))
            case _:
                raise AssertionError(f"a constant of type {kind}")

    def _one_element(self, sort: str, loc: Loc) -> NoReturn:
        refuse(
            "KV161",
            f"an element of {sort} is named",
            loc,
            "a proof is about any number of elements, of which none has a number or a name of its own",
            f"make it a parameter, or a field of the state of type {sort}; {SIZES_ONLY}",
        )

    def _local(self, expr: Local) -> Meaning:
        if expr.name in self.world.numbers:
            return Number(Apply(self.world.numbers[expr.name]))
        found = self.env[expr.name]
        if isinstance(found, Carried):
            refuse(
                "KV164",
                f"{expr.name.split('.')[0]!r} goes from one round of a loop to the next",
                expr.loc,
                "rounds of a loop over a sort have no order here, so each has to stand for itself",
                "use any(...), all(...) or a set, or choose the element with a parameter of the action",
            )
        return found

    def _logic(self, expr: Logic) -> Formula:
        tests: list[Formula] = []
        before = self.path
        for arg in expr.args:
            test = as_formula(self.value(arg))
            tests.append(test)
            self.path = conj((self.path, test if expr.op == "and" else neg(test)))
        self.path = before
        return conj(tests) if expr.op == "and" else disj(tests)

    def _cond(self, expr: Cond) -> Meaning:
        test = self.formula(expr.test)
        if isinstance(test, Truth):
            return self.value(expr.then if test.value else expr.orelse)
        with self.given(test):
            then = self.value(expr.then)
        with self.given(neg(test)):
            other = self.value(expr.orelse)
        return merged(test, then, other)

    def _unary(self, expr: Unary) -> Meaning:
        if expr.op == "card":
            self._counted(expr.loc)
        if expr.op == "int" and isinstance(expr.arg.type, SortT):
            self._numbered(expr.arg.type.name, expr.loc)
        found = self.value(expr.arg)
        match expr.op:
            case "not":
                return neg(as_formula(found))
            case "neg":
                return Number(Times(-1, term_of(found)))
            case "int":
                return found if isinstance(found, Number) else Number(Choose(as_formula(found), Num(1), Num(0)))
            case "is_none":
                return none_of(found)
            case "some":
                if isinstance(expr.type, OptT) and isinstance(expr.type.inner, IntT) and isinstance(found, Number):
                    self.fits(found, expr.type.inner, expr.loc)
                return truth_as_finite(found) if isinstance(expr.type, OptT) and _is_bool(expr.type) else found
            case _:
                return self._unwrapped(found, expr)

    def _unwrapped(self, found: Meaning, expr: Unary) -> Meaning:
        none = none_of(found)
        self.must(neg(none), "KV203", f"None is used where {expr.type} is needed", expr.loc)
        match found:
            case Element():
                return Element(found.sort, found.is_, FALSE, found.var)
            case Number():
                return Number(found.term)
            case Finite():
                cases = tuple((value, test) for value, test in found.cases if value is not None)
                return disj(test for value, test in cases if value) if isinstance(expr.type, BoolT) else Finite(cases)
            case _:
                return found

    def fits(self, number: Number, kind: IntT, loc: Loc) -> None:
        """A duty: the number is within known bounds.  Where numbers are symbols a bound is a horizon."""
        if self.world.numbers:
            return
        for bound, low in ((kind.lo, True), (kind.hi, False)):
            if bound is not None:
                pair = (Num(bound), number.term) if low else (number.term, Num(bound))
                self.must(Compare("<=", *pair), "KV201", f"a number does not fit {kind}", loc)

    def _counted(self, loc: Loc) -> NoReturn:
        refuse(
            "KV163",
            "elements are counted",
            loc,
            "how many there are depends on the sizes of sorts, and a proof is about all sizes",
            f"ask whether there is one (any, not), or compare sets; {SIZES_ONLY}",
        )

    def _numbered(self, sort: str, loc: Loc) -> NoReturn:
        refuse(
            "KV161",
            f"the number of an element of {sort} is used",
            loc,
            "elements are in an order here (`p < q`), but have no numbers",
            f"compare the elements themselves; {SIZES_ONLY}",
        )

    def _to_index(self, expr: ToIndex) -> Meaning:
        if isinstance(expr.type, SortT):
            self._numbered(expr.type.name, expr.loc)
        found = self.value(expr.arg)
        if isinstance(found, Number) and isinstance(expr.type, IntT):
            for bound, low in ((expr.type.lo, True), (expr.type.hi, False)):
                if bound is not None:
                    pair = (Num(bound), found.term) if low else (found.term, Num(bound))
                    self.must(Compare("<=", *pair), "KV202", f"an index is outside {expr.type}", expr.loc)
        return found

    def _set_of(self, expr: SetOf) -> Meaning:
        assert isinstance(expr.type, SetT)
        items = [self.value(item) for item in expr.items]
        if isinstance(expr.type.element, SortT):
            elements = [item for item in items if isinstance(item, Element)]
            return Elements(expr.type.element.name, lambda v: disj(item.is_(v) for item in elements))
        values = keys_of(expr.type.element, "a set")
        return Members(tuple((v, disj(equal(item, literal(v)) for item in items)) for v in values))

    # --- operators ------------------------------------------------------------------------------------

    def _binary(self, expr: Binary) -> Meaning:
        if (counted := zero_test(self, expr)) is not None:
            return counted
        if expr.op in ("<", "<=") and (order := self._order(expr)) is not None:
            return order
        left, right = self.value(expr.left), self.value(expr.right)
        match expr.op:
            case "==":
                return equal(left, right)
            case "!=":
                return neg(equal(left, right))
            case "in":
                return among(left, right)
            case "union" | "inter" | "diff":
                return combined(expr.op, left, right)
            case "subset":
                return contained(left, right)
            case "<" | "<=":
                return simplified(Compare(expr.op, term_of(left), term_of(right)))
            case "+":
                return Number(plus(term_of(left), term_of(right)))
            case "-":
                return Number(plus(term_of(left), times(-1, term_of(right))))
            case "min" | "max":
                one, other = term_of(left), term_of(right)
                first = Compare("<=", one, other)
                return Number(Choose(first, one, other) if expr.op == "min" else Choose(first, other, one))
            case "*":
                return self._product(term_of(left), term_of(right), expr.loc)
            case _:
                self._arithmetic(expr.op, expr.loc)

    def _order(self, expr: Binary) -> Formula | None:
        """The order of elements, by itself or of their numbers."""
        sides = [_without_int(side) for side in (expr.left, expr.right)]
        if not all(isinstance(side.type, SortT) for side in sides):
            return None
        one, other = (self.value(side) for side in sides)
        assert isinstance(one, Element) and isinstance(other, Element)
        before = self.world.order(one.sort)

        def less(v: Var, w: Var) -> Formula:
            same = Same(v, w) if expr.op == "<=" and v != w else Truth(expr.op == "<=" and v == w)
            return disj((Atom(before, (v, w)), same))

        if one.var is not None and other.var is not None:
            return less(one.var, other.var)
        first, second = one, other
        return some_element(
            one.sort,
            lambda v: conj((first.is_(v), some_element(one.sort, lambda w: conj((second.is_(w), less(v, w)))))),
        )

    def _product(self, one: Term, other: Term, loc: Loc) -> Number:
        if isinstance(one, Num):
            return Number(times(one.value, other))
        if isinstance(other, Num):
            return Number(times(other.value, one))
        self._arithmetic("*", loc)

    def _arithmetic(self, op: str, loc: Loc) -> NoReturn:
        refuse(
            "KV163",
            f"numbers are combined by {op}, and neither is known",
            loc,
            "sums, differences and known multiples of numbers can be decided, products and quotients cannot",
            f"give one of the numbers a value: --set NAME=VALUE; {SIZES_ONLY}",
        )

    # --- quantifiers ----------------------------------------------------------------------------------

    def _quant(self, expr: Quant) -> Meaning:
        if expr.op in ("sum", "min", "max"):
            if isinstance(expr.domain.type, SortT):
                self._counted(expr.loc)
            return self._total(expr)
        if not isinstance(expr.domain.type, SortT):
            return self._unrolled(expr)
        if not expr.domain.whole:
            self._one_element(expr.domain.type.name, expr.loc)
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
            self._arithmetic(expr.op, expr.loc)
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


def literal(value: Value) -> Meaning:
    """A known value."""
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, int):
        return Number(Num(value))
    return Finite(((value, TRUE),))


def none_of(found: Meaning) -> Formula:
    """When a value is None."""
    return found.none if isinstance(found, Element | Number | Finite) else FALSE


def term_of(found: Meaning) -> Term:
    """A number."""
    if isinstance(found, Number):
        return found.term
    return Choose(as_formula(found), Num(1), Num(0))


def plus(one: Term, other: Term) -> Term:
    """A sum, computed where both sides are known."""
    if isinstance(one, Num) and isinstance(other, Num):
        return Num(one.value + other.value)
    if one == Num(0):
        return other
    return one if other == Num(0) else Plus(one, other)


def times(factor: int, term: Term) -> Term:
    """A multiple."""
    if isinstance(term, Num):
        return Num(factor * term.value)
    return term if factor == 1 else Times(factor, term)


def _is_bool(kind: OptT) -> bool:
    return isinstance(kind.inner, BoolT)


def _without_int(expr: Expr) -> Expr:
    """The element whose number is taken."""
    return expr.arg if isinstance(expr, Unary) and expr.op == "int" else expr


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
