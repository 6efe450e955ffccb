"""What all parts of the translator share: the frame, fresh names, errors, and how types meet."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn, TypeVar

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import Binary, BinaryOp, Const, Expr, Let, Local, Logic, Place, Read, SetLocal, Stmt, Unary
from kvproto.ir.types import (
    ArrayT,
    BoolT,
    EnumT,
    IntT,
    LeafT,
    NoneT,
    OptT,
    Path,
    RecordT,
    SetT,
    SortT,
    Type,
    leaves,
)
from kvproto.ir.walk import can_fault
from kvproto.lang.frontend.values import Alias, Bundle, Found, Frame, Operand, Static, Variable, leaf_names

BOOL = BoolT()
INT = IntT()

V = TypeVar("V", bound=Found)


class Core(ABC):
    """State of one translation and the rules by which types meet."""

    def __init__(self, state: RecordT) -> None:
        self.state = state
        self.frame: Frame
        self.block: list[Stmt] = []
        self.fixed: set[str] = set()
        """IR names of parameters and loop variables: they never change while they are in scope."""
        self.sources: dict[str, str] = {}
        """The text of each file that something was read from, helpers included."""
        self._fresh = 0

    @abstractmethod
    def operand(self, node: ast.expr) -> Operand:
        """Translate an expression to whatever it stands for."""

    @abstractmethod
    def condition(self, node: ast.BoolOp) -> Expr:
        """Translate `and` and `or` as a condition."""

    @abstractmethod
    def nonempty(self, found: Alias | Bundle, node: ast.AST) -> Expr | None:
        """Whether a large set or a bag has elements; None for everything else."""

    @abstractmethod
    def call(self, node: ast.Call) -> Operand:
        """Translate a call in expression position."""

    @abstractmethod
    def comprehension(self, op: str, node: ast.expr, default: ast.expr | None = None) -> Found:
        """Translate a generator or comprehension under `op`."""

    def fail(self, code: str, node: ast.AST, message: str, reason: str, cure: str) -> NoReturn:
        """Raise the error at the node's place in the function being translated."""
        self.frame.source.fail(code, node, message, reason, cure)

    def loc(self, node: ast.AST) -> Loc:
        """Place of a node of the function being translated."""
        return self.frame.source.loc(node)

    def fresh(self, stem: str) -> str:
        """A local name that no source name can clash with."""
        self._fresh += 1
        return f"{stem}.{self._fresh}"

    def bind(self, name: str, kind: Type, value: Expr, loc: Loc) -> None:
        """Give a local its value: a statement, or a `Let` around the rest in expression position."""
        self.keep(SetLocal(name, kind, value, loc))

    def name_value(self, name: str, found: Found, loc: Loc) -> Variable:
        """Give a variable its value, leaf by leaf if it is a record or an array."""
        if not isinstance(found, Bundle):
            self.bind(name, found.type, found, loc)
        else:
            for inner, part in zip(leaf_names(name, found.type), found.parts, strict=True):
                self.bind(inner, part.type, part, loc)
        return Variable(name, found.type)

    def variable(self, found: Variable, loc: Loc) -> Found:
        """The value of a variable."""
        kind = found.type
        if not isinstance(kind, RecordT | ArrayT):
            return Local(kind, found.name, loc)
        parts = zip(leaf_names(found.name, kind), leaves(kind), strict=True)
        return Bundle(kind, tuple(Local(leaf, name, loc) for name, (_, leaf) in parts), loc)

    def parameter(self, name: str, kind: Type) -> Variable:
        """A name that is never assigned, with all its leaves."""
        self.fixed.update(leaf_names(name, kind) if isinstance(kind, RecordT | ArrayT) else [name])
        return Variable(name, kind, fixed=True)

    def scoped(self, translate: Callable[[], V]) -> V:
        """A value that is computed only sometimes, or once a round: locals it needs stay inside of it."""
        frame = self.frame
        pure, lets = frame.pure, frame.lets
        frame.pure, frame.lets = True, []
        found = self.within_lets(translate(), frame.lets)
        frame.pure, frame.lets = pure, lets
        return found

    @staticmethod
    def within_lets(found: V, lets: Sequence[SetLocal]) -> V:
        """The value with its locals around it."""

        def within(part: Expr) -> Expr:
            for setting in reversed(lets):
                part = Let(part.type, setting.name, setting.value, part, setting.loc)
            return part

        if not isinstance(found, Bundle):
            return within(found)  # type: ignore[return-value]
        return replace(found, parts=tuple(map(within, found.parts)))

    def keep(self, setting: SetLocal) -> None:
        """Put a local's value where the code being translated will find it."""
        if self.frame.pure:
            self.frame.lets.append(setting)
        else:
            self.block.append(setting)

    def freeze(self, alias: Alias) -> Alias:
        """The same part of the state for as long as a name stands for it: indices are evaluated now."""
        steps: list[str | Expr] = []
        for step in alias.place.steps:
            if isinstance(step, str | Const) or (isinstance(step, Local) and step.name in self.fixed):
                steps.append(step)
            else:
                name = self.fresh("index")
                self.fixed.add(name)
                self.bind(name, step.type, step, step.loc)
                steps.append(Local(step.type, name, step.loc))
        return Alias(Place(alias.place.type, tuple(steps), alias.place.loc))

    # --- expressions of a wanted type -------------------------------------------------------------------

    def expr(self, node: ast.expr) -> Expr:
        """Translate an expression that must be a value."""
        return self.value(self.operand(node), node)

    def anything(self, node: ast.expr) -> Found:
        """Translate an expression that must be a value of any type, records and arrays included."""
        return self.whole(self.operand(node), node)

    def whole(self, found: Operand, node: ast.AST) -> Found:
        """The value of an operand of any type."""
        if isinstance(found, Alias) and isinstance(found.place.type, RecordT | ArrayT):
            return self.contents(found.place, node)
        return found if isinstance(found, Bundle) else self.value(found, node)

    def contents(self, place: Place, node: ast.AST, *, borrowed: bool = True) -> Bundle:
        """What a record or array of the state holds now."""
        kind, loc = place.type, self.loc(node)
        assert isinstance(kind, RecordT | ArrayT)
        frozen = self.freeze(Alias(place)).place
        parts = [self.leaf(frozen, path, leaf, node) for path, leaf in leaves(kind)]
        return Bundle(kind, tuple(Read(part.type, part, loc) for part in parts), loc, borrowed)

    def leaf(self, place: Place, path: Path, kind: LeafT, node: ast.AST) -> Place:
        """A leaf inside a part of the state."""
        loc, inner = self.loc(node), place.type
        steps: list[str | Expr] = []
        for part in path:
            if isinstance(inner, ArrayT):
                steps.append(Const(inner.index, part, loc))
                inner = inner.element
            else:
                assert isinstance(inner, RecordT)
                steps.append(str(part))
                inner = dict(inner.fields)[str(part)]
        return Place(kind, (*place.steps, *steps), loc)

    def value(self, found: Operand, node: ast.AST) -> Expr:
        """The value of an operand that is no record and no array."""
        if isinstance(found, Alias) and isinstance(found.place.type, SetT):
            return Read(found.place.type, found.place, self.loc(node))
        if isinstance(found, Alias | Bundle):
            kind = found.place.type if isinstance(found, Alias) else found.type
            self.fail(
                "KV143",
                node,
                f"{kind} is no single value",
                "here stands a number, a boolean, a member, an element, an optional or a set",
                "name the field or the element you mean",
            )
        if isinstance(found, Static):
            name = getattr(found.value, "__name__", None) or repr(found.value)
            self.fail(
                "KV102",
                node,
                f"{name} is not a value of a model",
                "only finite values can be stored, compared or passed on",
                "use a member, an element, a number or a boolean",
            )
        return found

    def truth(self, node: ast.expr) -> Expr:
        """Translate a condition: a boolean, or a set (true unless empty)."""
        if isinstance(node, ast.BoolOp):
            return self.condition(node)
        operand = self.operand(node)
        if isinstance(operand, Alias | Bundle) and (some := self.nonempty(operand, node)) is not None:
            return some
        found = self.value(operand, node)
        if isinstance(found.type, BoolT):
            return found
        if isinstance(found.type, SetT):
            count = Unary(INT, "card", found, found.loc)
            return Binary(BOOL, "!=", count, Const(INT, 0, found.loc), found.loc)
        self.no_condition(found.type, node)

    def no_condition(self, kind: Type, node: ast.AST) -> NoReturn:
        """KV144: something that is neither true nor false."""
        reason = "element 0 and the number 0 are false in Python, which is hardly ever what a guard means"
        cure = "compare it, for example `!= 0`"
        match kind:
            case OptT():
                cure = "compare it: `is not None`"
            case EnumT(members=members, name=name):
                reason, cure = "every member is true in Python", f"compare it, for example `== {name}.{members[0]}`"
            case ArrayT() | RecordT():
                reason, cure = "in Python it is always true", "ask for one of its parts"
            case NoneT():
                reason, cure = "None is never true", "write False, or compare something with None"
            case SetT() | RecordT(shape="set" | "bag"):
                reason = "`and` and `or` give one of their operands, which would be a set and not a truth value here"
                cure = "write len(...) > 0"
        self.fail("KV144", node, f"a value of type {kind} is used as a condition", reason, cure)

    def integer(self, node: ast.expr) -> Expr:
        """Translate an operand of arithmetic."""
        return self.as_integer(self.expr(node), node)

    def as_integer(self, found: Expr, node: ast.AST) -> Expr:
        """A value as an operand of arithmetic."""
        if isinstance(found.type, OptT) and isinstance(found.type.inner, IntT):
            found = Unary(found.type.inner, "unwrap", found, found.loc)
        if not isinstance(found.type, IntT):
            self._no_number(found.type, node)
        return found

    def _no_number(self, kind: Type, node: ast.AST) -> NoReturn:
        reason, cure = "arithmetic and order are for numbers", "use a number, or sum(...) to count"
        match kind:
            case SortT() | OptT(inner=SortT()):
                reason = "sorts are names without arithmetic, so that searches may treat their elements alike"
                cure = f"write int(...) if the order of {kind} really matters"
            case BoolT():
                cure = "write int(...) to count True as 1"
            case EnumT():
                cure = "use == or `in (A, B)`"
            case SetT():
                cure = "count its elements with len(...)"
        self.fail("KV109", node, f"a value of type {kind} is used as a number", reason, cure)

    def logic(self, op: str, args: Sequence[Expr], node: ast.AST) -> Expr:
        """`and` / `or` of conditions; one argument is itself."""
        if not args:
            return Const(BOOL, op == "and", self.loc(node))
        if len(args) == 1:
            return args[0]
        return Logic(BOOL, "and" if op == "and" else "or", tuple(args), self.loc(node))

    def binary(self, op: BinaryOp, left: Expr, right: Expr, kind: Type, node: ast.AST) -> Expr:
        """A binary node at the place of `node`."""
        return Binary(kind, op, left, right, self.loc(node))

    def negate(self, found: Expr) -> Expr:
        """`not found`."""
        return Unary(BOOL, "not", found, found.loc)

    def once(self, found: Expr, use: Callable[[Expr], Expr]) -> Expr:
        """A condition over a value that is computed first and on every way, where computing it can fail."""
        if not can_fault(found):
            return use(found)
        name = self.fresh("value")
        return Let(BOOL, name, found, use(Local(found.type, name, found.loc)), found.loc)

    def sure(self, found: Expr) -> Expr:
        """The value, computed before anything else if computing it can fail."""
        return self.named(found) if can_fault(found) else found

    def named(self, found: Expr) -> Expr:
        """The value, computed now and once."""
        if isinstance(found, Const) or (isinstance(found, Local) and found.name in self.fixed):
            return found
        name = self.fresh("value")
        self.fixed.add(name)
        self.bind(name, found.type, found, found.loc)
        return Local(found.type, name, found.loc)
