"""Statements of the IR, in order, as one guarded simultaneous update.

Every statement changes the values that later ones read, so all values are formulas over the state before the step.
What stands under an `if` is executed under its condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import Assert, Assign, Binary, Expr, For, If, Read, Require, SetLocal, SetOf, Stmt
from kvproto.ir.printer import show_place
from kvproto.ir.types import SetT, SortT
from kvproto.ir.walk import statements
from kvproto.prove.logic.formula import (
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
    free_variables,
    implies,
    neg,
)
from kvproto.prove.logic.formula import And as AndFormula
from kvproto.prove.logic.substitute import in_term, substitute
from kvproto.prove.lowering.exprs import Expressions
from kvproto.prove.lowering.fail import SIZES_ONLY, refuse, refuse_element
from kvproto.prove.lowering.quants import known_values
from kvproto.prove.lowering.simplify import existing, simple_term, simplified
from kvproto.prove.lowering.state import Leaf, functional, ite
from kvproto.prove.lowering.values import (
    Carried,
    Element,
    Elements,
    Finite,
    Meaning,
    Members,
    as_formula,
    equal,
    literal,
    merged,
    none_of,
    term_of,
    truth_as_finite,
    variable,
)

Arg = Element | None
"""An argument of a symbol that is written; None: all elements."""


@dataclass(frozen=True, slots=True)
class Write:
    """A store: which cells of a symbol, when, and what; `hit` and `value` are over the formals of the symbol."""

    symbol: Symbol
    args: tuple[Arg, ...]
    hit: Formula
    value: Formula | Term
    loc: Loc


class Steps(Expressions):
    """Executes statements on formulas."""

    def __init__(self, *args: object, **options: bool) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.writes: list[Write] = []
        self.round: Formula = TRUE
        """The path at which a round of the innermost loop begins."""

    def block(self, body: Sequence[Stmt]) -> None:
        """Execute statements in order."""
        for stmt in body:
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        """Execute one statement."""
        match stmt:
            case Require():
                test = simplified(implies(self.path, self.formula(stmt.cond)))
                if test != TRUE:
                    self.guards.append(test)
            case Assert():
                self.asserted(stmt)
            case Assign():
                self.assign(stmt)
            case SetLocal():
                self.set_local(stmt.name, self.value(stmt.value))
            case If():
                test = self.formula(stmt.test)
                with self.given(test):
                    if self.path != Truth(False):
                        self.block(stmt.then)
                with self.given(neg(test)):
                    if self.path != Truth(False):
                        self.block(stmt.orelse)
            case For():
                self.loop(stmt)

    def set_local(self, name: str, value: Meaning) -> None:
        """Give a local a value on this path.  One that a loop carries has none before a round has set it for sure."""
        old = self.env.get(name)
        if old is None or self.path == TRUE or (isinstance(old, Carried) and self.path == self.round):
            self.env[name] = value
        elif not isinstance(old, Carried):
            self.env[name] = merged(self.path, value, old)

    def asserted(self, stmt: Assert) -> None:
        """A claim about the step: a duty under the name of the claim."""
        count = len(self.duties)
        self.must(self.formula(stmt.cond), "assert", stmt.message, stmt.loc)
        for duty in self.duties[count:]:
            if duty.name.startswith("assert at"):
                duty.name = stmt.claim

    # --- stores ---------------------------------------------------------------------------------------

    def assign(self, stmt: Assign) -> None:
        """Store into every place that the indices may mean."""
        delta = _one_by_one(stmt)
        for test, leaf, args in self.cells(stmt.place):
            with self.given(test):
                if delta is not None:
                    self._change_set(leaf, args, *delta, stmt.loc)
                else:
                    self._store(leaf, args, self.value(stmt.value), stmt)

    def _store(self, leaf: Leaf, args: tuple[Element, ...], value: Meaning, stmt: Assign) -> None:
        match leaf.kind:
            case "bool":
                self.write(leaf.symbol, args, as_formula(value), stmt.loc)
            case "finite":
                found = truth_as_finite(value) if not isinstance(value, Finite) else value
                for key, symbol in leaf.symbols.items():
                    self.write(symbol, args, found.when(key), stmt.loc)
            case "members":
                assert isinstance(value, Members)
                for key, symbol in leaf.symbols.items():
                    self.write(symbol, args, value.has(key), stmt.loc)
            case "sort":
                assert isinstance(value, Element)
                self._write_row(leaf, args, value.is_, stmt.loc)
            case "set":
                assert isinstance(value, Elements)
                self._write_row(leaf, args, value.has, stmt.loc)
            case "int":
                self._store_number(leaf, args, value, stmt)

    def _store_number(self, leaf: Leaf, args: tuple[Element, ...], value: Meaning, stmt: Assign) -> None:
        term, none = term_of(value), none_of(value)
        for bound, low in zip(leaf.bounds, (True, False), strict=True):
            if bound is not None:
                inside = Compare("<=", bound, term) if low else Compare("<=", term, bound)
                text = f"a number does not fit {stmt.place.type}"
                self.must(disj((none, simplified(inside))), "KV201", text, stmt.loc)
        if leaf.optional:
            self.write(leaf.symbols[None], args, neg(none), stmt.loc)
        self.write(leaf.symbol, args, term, stmt.loc)

    def _write_row(self, leaf: Leaf, args: tuple[Element, ...], test: Callable[[Var], Formula], loc: Loc) -> None:
        last = self.world.layout.formals[leaf.symbol.name][-1]
        self.write(leaf.symbol, (*args, None), test(last), loc)

    def _change_set(
        self, leaf: Leaf, args: tuple[Element, ...], op: str, items: Sequence[Expr], loc: Loc
    ) -> None:
        """`add` and `discard`: single elements, all others stay."""
        inside = Truth(op == "union")
        for item in items:
            value = self.value(item)
            if leaf.kind == "set":
                assert isinstance(value, Element)
                self.write(leaf.symbol, (*args, value), inside, loc)
                continue
            for key, symbol in leaf.symbols.items():
                with self.given(equal(value, literal(key))):
                    if self.path != Truth(False):
                        self.write(symbol, args, inside, loc)

    def write(self, symbol: Symbol, args: tuple[Arg, ...], value: Formula | Term, loc: Loc) -> None:
        """Give the cells that the arguments mean a value, over the formals of the symbol, on this path."""
        formals = self.world.layout.formals[symbol.name]
        matches = (arg.is_(formal) for arg, formal in zip(args, formals, strict=True) if arg is not None)
        hit = simplified(conj((*matches, self.path)))
        self._put(Write(symbol, args, hit, value, loc))

    def _put(self, write: Write) -> None:
        self.writes.append(write)
        self.store[write.symbol.name] = _changed(self._present(write.symbol), write)

    def _present(self, symbol: Symbol) -> Formula | Term:
        if symbol.name in self.store:
            return self.store[symbol.name]
        formals = self.world.layout.formals[symbol.name]
        return Apply(symbol, formals) if symbol.result == INT else Atom(symbol, formals)

    # --- loops ----------------------------------------------------------------------------------------

    def loop(self, stmt: For) -> None:
        """Known values one after the other; elements of a sort all at once."""
        if isinstance(stmt.domain.type, SortT):
            if not stmt.domain.whole:
                refuse_element(stmt.domain.type.name, stmt.loc)
            self._all_at_once(stmt, stmt.domain.type.name)
            return
        for value in known_values(stmt.domain.type, stmt.domain.values, stmt.loc):
            self.env[stmt.var] = literal(value)
            with self.given(TRUE if stmt.where is None else self.formula(stmt.where)):
                self.block(stmt.body)

    def _all_at_once(self, stmt: For, sort: str) -> None:
        """One round for an element that stands for all of them.

        That is right if no round depends on another: each reads and writes the cells of its own element, or all
        write the same, or one of them at most writes.
        """
        var = Var(stmt.var, sort)
        reads, self.reads = self.reads, []
        writes, self.writes = self.writes, []
        before = dict(self.store)
        carried, around = self._carry(stmt), self.round
        with self.binding(var):
            self.env[stmt.var] = variable(var)
            with self.given(TRUE if stmt.where is None else self.formula(stmt.where)):
                self.round = self.path
                self.block(stmt.body)
        self.round = around
        for name in carried:
            self.env[name] = Carried(name)
        inner_reads, inner = self.reads, self.writes
        self.reads, self.writes = [*reads, *inner_reads], writes
        after, self.store = self.store, before
        for symbol in dict.fromkeys(write.symbol for write in inner):
            self._all_rounds(symbol, [w for w in inner if w.symbol == symbol], inner_reads, var, after[symbol.name])

    def _carry(self, stmt: For) -> list[str]:
        """Locals that the body sets: what they hold before a round is not what they held before the loop."""
        names = list(dict.fromkeys(s.name for s in statements(stmt.body) if isinstance(s, SetLocal)))
        for name in names:
            if name in self.env:
                self.env[name] = Carried(name)
        return names

    def _all_rounds(
        self,
        symbol: Symbol,
        writes: list[Write],
        reads: list[tuple[Symbol, tuple[Var, ...]]],
        var: Var,
        after: Formula | Term,
    ) -> None:
        """The value of a symbol after a loop over `var`, of which one round gives `after`."""
        own = [args for read, args in reads if read == symbol]
        at = _own_position(writes, own, var)
        if at is not None:
            self._pointwise(symbol, writes, var, at, after)
        elif not own and _same_value(writes, var):
            for write in writes:
                self._put(Write(symbol, _open(write.args, var), existing((var,), write.hit), write.value, write.loc))
        elif not own and symbol.result != INT and all(self._once(write, var) for write in writes) and len(writes) == 1:
            self._single(writes[0], var)
        else:
            name = symbol.spelled or symbol.name
            refuse(
                "KV164",
                f"rounds of a loop write {name.format(*('...' for _ in symbol.args))} one after the other",
                writes[0].loc,
                "rounds of a loop over a sort have no order here: each has to keep to the cells of its own element,\n"
                "  or all of them have to write the same",
                f"index what is written with the loop variable, or use any(...) and all(...); {SIZES_ONLY}",
            )

    def _pointwise(self, symbol: Symbol, writes: list[Write], var: Var, at: int, after: Formula | Term) -> None:
        """Each cell as the round of its own element leaves it."""
        formal = self.world.layout.formals[symbol.name][at]
        own: dict[Var, Term] = {var: formal}
        for write in writes:
            value = _in_value(write.value, own)
            self.writes.append(
                Write(symbol, _open(write.args, var), simplified(substitute(write.hit, own)), value, write.loc)
            )
        self.store[symbol.name] = _simple_value(_in_value(after, own))

    def _once(self, write: Write, var: Var) -> bool:
        """Whether one round at most can write: what it requires determines its element."""
        parts = write.hit.parts if isinstance(write.hit, AndFormula) else (write.hit,)
        return any(_determines(part, var, functional(self.world.layout)) for part in parts)

    def _single(self, write: Write, var: Var) -> None:
        assert not isinstance(write.value, Var | Num | Apply | Plus | Times | Choose)
        hit = existing((var,), write.hit)
        value = existing((var,), conj((write.hit, write.value)))
        self._put(Write(write.symbol, _open(write.args, var), hit, value, write.loc))


def _one_by_one(stmt: Assign) -> tuple[str, Sequence[Expr]] | None:
    """The operator and the elements of `s.a |= {p}` and `s.a -= {p}`."""
    value = stmt.value
    if isinstance(value, Binary) and value.op in ("union", "diff") and isinstance(stmt.place.type, SetT):
        same = isinstance(value.left, Read) and show_place(value.left.place) == show_place(stmt.place)
        if same and isinstance(value.right, SetOf):
            return value.op, value.right.items
    return None


def _own_position(writes: list[Write], reads: list[tuple[Var, ...]], var: Var) -> int | None:
    """The argument in which every write and read of the symbol has the loop variable."""
    for at in range(len(writes[0].args)):
        if all((arg := w.args[at]) is not None and arg.var == var for w in writes):
            if all(args[at] == var for args in reads):
                return at
    return None


def _same_value(writes: list[Write], var: Var) -> bool:
    """Whether all rounds write one value, whatever their element."""
    return len({w.value for w in writes}) == 1 and var not in free_variables(writes[0].value)


def _determines(part: Formula, var: Var, relations: frozenset[str]) -> bool:
    match part:
        case Atom():
            return part.symbol.name in relations and part.args[-1] == var and var not in part.args[:-1]
        case Same():
            return part.left != part.right and var in (part.left, part.right)
        case _:
            return False


def _open(args: tuple[Arg, ...], var: Var) -> tuple[Arg, ...]:
    """Arguments as they are seen from outside of the loop: its variable is any element."""
    return tuple(None if arg is None or arg.var is None or arg.var == var else arg for arg in args)


def _changed(old: Formula | Term, write: Write) -> Formula | Term:
    if write.symbol.result == INT:
        return simple_term(Choose(write.hit, write.value, old), {})  # type: ignore[arg-type]
    return simplified(ite(write.hit, write.value, old))  # type: ignore[arg-type]


def _in_value(value: Formula | Term, renaming: dict[Var, Term]) -> Formula | Term:
    return in_term(value, renaming) if _is_term(value) else substitute(value, renaming)  # type: ignore[arg-type]


def _simple_value(value: Formula | Term) -> Formula | Term:
    return simple_term(value, {}) if _is_term(value) else simplified(value)  # type: ignore[arg-type]


def _is_term(value: Formula | Term) -> bool:
    return isinstance(value, Var | Num | Apply | Plus | Times | Choose)
