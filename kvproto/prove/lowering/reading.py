"""Reading the state while a function is lowered: what stands where, on which path, for which elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import (
    Expr,
    Place,
    Read,
)
from kvproto.ir.types import ArrayT, IntT, OptT, RecordT, Type, Value
from kvproto.prove.logic.formula import (
    FALSE,
    INT,
    TRUE,
    Apply,
    Atom,
    Choose,
    Formula,
    Num,
    Plus,
    Symbol,
    Term,
    Times,
    Var,
    conj,
    disj,
    forall,
    free_variables,
    implies,
    neg,
)
from kvproto.prove.logic.substitute import in_term, substitute
from kvproto.prove.lowering.fail import refuse
from kvproto.prove.lowering.simplify import existing, simplified, tidied
from kvproto.prove.lowering.state import HOLE, Key, Layout, Leaf, keys_of
from kvproto.prove.lowering.values import (
    Element,
    Elements,
    Finite,
    Meaning,
    Members,
    Number,
    Predicate,
    as_formula,
    equal,
    fresh_var,
    merged,
    some_element,
    truth_as_finite,
)


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


class Reading(ABC):
    """The state as it is at one point of a function, and what is known about that point."""

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
        # Bound variables under the same names, so that what the path says of them is recognised.
        formula = simplified(tidied(implies(self.path, test)))
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

    @abstractmethod
    def value(self, expr: Expr) -> Meaning:
        """What an expression means here."""

    def formula(self, expr: Expr) -> Formula:
        """A condition."""
        return simplified(as_formula(self.value(expr)))
