"""What all parts of the translator share: the frame, fresh names, errors, and how types meet."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NoReturn

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import (
    Binary,
    BinaryOp,
    Cond,
    Const,
    Expr,
    Let,
    Local,
    Logic,
    Place,
    Read,
    SetLocal,
    SetOf,
    Stmt,
    ToIndex,
    Unary,
)
from kvproto.ir.types import (
    BoolT,
    EnumT,
    IntT,
    LeafT,
    NoneT,
    OptT,
    RecordT,
    ScalarT,
    SetT,
    SortT,
    Type,
    fits,
)
from kvproto.ir.walk import can_fault
from kvproto.lang.frontend.values import Alias, Frame, Operand, Static

BOOL = BoolT()
INT = IntT()


class Core(ABC):
    """State of one translation and the rules by which types meet."""

    def __init__(self, state: RecordT) -> None:
        self.state = state
        self.frame: Frame
        self.block: list[Stmt] = []
        self.fixed: set[str] = set()
        """IR names of parameters and loop variables: they never change while they are in scope."""
        self._fresh = 0

    @abstractmethod
    def operand(self, node: ast.expr) -> Operand:
        """Translate an expression to whatever it stands for."""

    @abstractmethod
    def condition(self, node: ast.BoolOp) -> Expr:
        """Translate `and` and `or` as a condition."""

    @abstractmethod
    def call(self, node: ast.Call) -> Operand:
        """Translate a call in expression position."""

    @abstractmethod
    def comprehension(self, op: str, node: ast.expr, default: ast.expr | None = None) -> Expr:
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

    def scoped(self, translate: Callable[[], Expr]) -> Expr:
        """An expression that is evaluated only sometimes, or once a round: locals it needs stay inside of it."""
        frame = self.frame
        pure, lets = frame.pure, frame.lets
        frame.pure, frame.lets = True, []
        found = self.within_lets(translate(), frame.lets)
        frame.pure, frame.lets = pure, lets
        return found

    @staticmethod
    def within_lets(found: Expr, lets: Sequence[SetLocal]) -> Expr:
        """The expression with its locals around it."""
        for setting in reversed(lets):
            found = Let(found.type, setting.name, setting.value, found, setting.loc)
        return found

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

    def value(self, found: Operand, node: ast.AST) -> Expr:
        """The value of an operand; records and arrays have none."""
        if isinstance(found, Alias):
            if isinstance(found.place.type, SetT):
                return Read(found.place.type, found.place, self.loc(node))
            self.fail(
                "KV143",
                node,
                f"{found.place.type} is a part of the state, not a value",
                "values are numbers, booleans, members, elements, optionals and sets",
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
        found = self.expr(node)
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
            case NoneT():
                reason, cure = "None is never true", "write False, or compare something with None"
            case SetT():
                reason = "`and` and `or` give one of their operands, which would be a set and not a truth value here"
                cure = "write len(...) > 0"
        self.fail("KV144", node, f"a value of type {kind} is used as a condition", reason, cure)

    def integer(self, node: ast.expr) -> Expr:
        """Translate an operand of arithmetic."""
        found = self.expr(node)
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

    def coerce(self, found: Expr, wanted: Type, node: ast.AST, what: str) -> Expr:
        """`found` as a value of type `wanted`, or KV107."""
        have = found.type
        if isinstance(have, NoneT) and isinstance(wanted, OptT):
            return Const(wanted, None, found.loc)
        if isinstance(wanted, OptT) and not isinstance(have, OptT):
            inner = self.coerce(found, wanted.inner, node, what)
            return Unary(wanted, "some", inner, found.loc)
        if isinstance(have, OptT) and not isinstance(wanted, OptT):
            inner = Unary(have.inner, "unwrap", found, found.loc)
            return self.coerce(inner, wanted, node, what)
        if isinstance(have, OptT) and isinstance(wanted, OptT) and have != wanted:
            return self._coerce_optional(found, have, wanted, node, what)
        if isinstance(have, SetT) and isinstance(wanted, SetT):
            return self._coerce_set(found, wanted, node, what)
        if isinstance(found, Const) and isinstance(have, IntT) and isinstance(wanted, IntT | SortT):
            return self._constant(found, wanted, node)
        if self.alike(have, wanted):
            return found
        self.mismatch(have, wanted, node, what)

    def _coerce_optional(self, found: Expr, have: OptT, wanted: OptT, node: ast.AST, what: str) -> Expr:
        """An optional number with other bounds: its value is checked when it is stored."""
        if not self.alike(have.inner, wanted.inner):
            self.mismatch(have, wanted, node, what)
        inside = Unary(wanted, "some", Unary(have.inner, "unwrap", found, found.loc), found.loc)
        nothing = Const(wanted, None, found.loc)
        return Cond(wanted, Unary(BOOL, "is_none", found, found.loc), nothing, inside, found.loc)

    def single(self, kind: Type, node: ast.AST, what: str) -> ScalarT:
        """The type as that of an element of something, or KV107."""
        if isinstance(kind, BoolT | IntT | SortT | EnumT):
            return kind
        self.fail(
            "KV107",
            node,
            f"{what} cannot have type {kind}",
            "elements are single values: booleans, numbers, members of enumerations, elements of sorts",
            "leave None out: `if x is not None`" if isinstance(kind, OptT | NoneT) else "name the elements themselves",
        )

    def bounded_set(self, kind: SetT, node: ast.AST) -> SetT:
        """A set type whose elements can be enumerated, or KV135."""
        if isinstance(kind.element, IntT) and (kind.element.lo is None or kind.element.hi is None):
            self.fail(
                "KV135",
                node,
                "a set of numbers without bounds",
                "a set holds elements of a type with few values",
                "give it a type: numbers: Set(Int(0, 3)) = ..., or collect elements of a sort",
            )
        return kind

    def mismatch(self, have: Type, wanted: Type, node: ast.AST, what: str) -> NoReturn:
        """KV107: a value of the wrong type."""
        self.fail(
            "KV107",
            node,
            f"{what} has type {have}, but {wanted} is needed here",
            "types must agree, so that every value fits its place in every reachable state",
            "use a value of the type that is needed" + (", or None" if isinstance(wanted, OptT) else ""),
        )

    @staticmethod
    def alike(one: Type, other: Type) -> bool:
        """Same type; two integers are alike whatever their bounds, since stores are checked."""
        return (isinstance(one, IntT) and isinstance(other, IntT)) or one == other

    def _constant(self, found: Const, wanted: IntT | SortT, node: ast.AST) -> Expr:
        if not fits(found.value, wanted):
            bounds = f"0..{wanted.size - 1}" if isinstance(wanted, SortT) else f"{wanted.lo}..{wanted.hi}"
            self.fail(
                "KV130",
                node,
                f"{found.value} is outside {wanted} ({bounds})",
                "a constant that never fits is a mistake in every scope like this one",
                "use a value inside the type, or widen the type",
            )
        return Const(wanted, found.value, found.loc, found.parameter)

    def _coerce_set(self, found: Expr, wanted: SetT, node: ast.AST, what: str) -> Expr:
        if isinstance(found, SetOf):
            items = tuple(self.coerce(item, wanted.element, node, "an element") for item in found.items)
            return SetOf(wanted, items, found.loc)
        if not self.alike(found.type, wanted):
            self.mismatch(found.type, wanted, node, what)
        return found

    # --- comparison -----------------------------------------------------------------------------------

    def equal(self, left: Expr, right: Expr, node: ast.AST) -> Expr:
        """`left == right` after both have met in one type."""
        loc = self.loc(node)
        if isinstance(right.type, NoneT) or isinstance(left.type, NoneT):
            tested = left if isinstance(right.type, NoneT) else right
            if isinstance(tested.type, OptT):
                return Unary(BOOL, "is_none", tested, loc)
            self.fail(
                "KV133",
                node,
                f"a value of type {tested.type} is compared with None",
                "only optional values can be None, so this test has one fixed answer",
                "make the variable Opt(...), or drop the test",
            )
        if isinstance(left.type, SetT) and isinstance(right.type, SetT):
            return Binary(BOOL, "==", *self.same_sets(left, right, node), loc)
        if isinstance(left, Const) and not isinstance(right, Const):
            left, right = right, left
        if isinstance(right.type, OptT) and not isinstance(left.type, OptT):
            left, right = right, left
        if isinstance(left.type, OptT) and isinstance(right.type, OptT) and self.alike(left.type, right.type):
            return Binary(BOOL, "==", left, right, loc)
        if isinstance(left.type, OptT) and isinstance(left.type.inner, IntT):
            if isinstance(right.type, OptT):
                neither, same = Unary(BOOL, "is_none", left, loc), self._equal_number(left, right, node)
                return Cond(BOOL, Unary(BOOL, "is_none", right, loc), neither, same, loc)
            return self._equal_number(left, right, node)
        if isinstance(left.type, OptT):
            inner = self.coerce_compared(right, left.type.inner, node)
            return Binary(BOOL, "==", left, Unary(left.type, "some", inner, right.loc), loc)
        return Binary(BOOL, "==", left, self.coerce_compared(right, left.type, node), loc)

    def same_sets(self, left: Expr, right: Expr, node: ast.AST) -> tuple[Expr, Expr]:
        """Two sets of one type; a literal takes the type of the other side."""
        if isinstance(left, SetOf) and not (isinstance(right, SetOf) and left.items):
            return self.coerce(left, right.type, node, "the left side"), right
        return left, self.coerce(right, left.type, node, "the right side")

    def _equal_number(self, left: Expr, right: Expr, node: ast.AST) -> Expr:
        """An optional number and a number, which may lie outside the optional's bounds."""
        assert isinstance(left.type, OptT)
        loc = self.loc(node)
        there = self.negate(Unary(BOOL, "is_none", left, loc))
        inner = Unary(left.type.inner, "unwrap", left, loc)
        number = self.coerce_compared(right, left.type.inner, node)
        return self.once(number, lambda n: self.logic("and", [there, Binary(BOOL, "==", inner, n, loc)], node))

    def once(self, found: Expr, use: Callable[[Expr], Expr]) -> Expr:
        """A condition over a value that is computed first and on every way, where computing it can fail."""
        if not can_fault(found):
            return use(found)
        name = self.fresh("value")
        return Let(BOOL, name, found, use(Local(found.type, name, found.loc)), found.loc)

    def coerce_compared(self, found: Expr, wanted: Type, node: ast.AST) -> Expr:
        """Like `coerce`, but a number outside the other side's bounds just is not equal to it."""
        if isinstance(found.type, IntT) and isinstance(wanted, IntT):
            return found
        bare = found.type.inner if isinstance(found.type, OptT) else found.type
        element = isinstance(found, Const) and isinstance(bare, IntT) and isinstance(wanted, SortT)
        if not element and not self.alike(bare, wanted):
            self.fail(
                "KV107",
                node,
                f"a value of type {wanted} is compared with one of type {found.type}",
                "values of different types are never equal, so this test has one fixed answer",
                "compare values of one type",
            )
        return self.coerce(found, wanted, node, "one side")

    def meet(self, parts: Sequence[tuple[Expr, ast.AST]]) -> Type:
        """The one type that several alternatives have: integers, an optional if one is None, else equal types."""
        kinds = [part.type for part, _ in parts]
        solid = [k for k in kinds if not isinstance(k, NoneT)]
        if not solid:
            return NoneT()
        optional = len(solid) < len(kinds) or any(isinstance(k, OptT) for k in solid)
        bare: list[Type] = [k.inner if isinstance(k, OptT) else k for k in solid]
        first = next((k for k in bare if not isinstance(k, IntT)), INT)
        for part, node in parts:
            inner = part.type.inner if isinstance(part.type, OptT) else part.type
            constant_index = isinstance(part, Const) and isinstance(inner, IntT) and isinstance(first, SortT)
            if not isinstance(inner, NoneT) and not self.alike(inner, first) and not constant_index:
                self.mismatch(part.type, first, node, "one alternative")
        if not optional:
            return first
        if isinstance(first, IntT):
            first = self._bounds_of(bare, parts)
        if not isinstance(first, BoolT | IntT | SortT | EnumT):
            self.mismatch(NoneT(), first, parts[0][1], "one alternative")
        return OptT(first)

    def _bounds_of(self, kinds: Sequence[Type], parts: Sequence[tuple[Expr, ast.AST]]) -> IntT:
        """Bounds that hold all alternatives; an optional number needs them."""
        numbers = [(k.lo, k.hi) for k in kinds if isinstance(k, IntT) and k.lo is not None and k.hi is not None]
        if len(numbers) < len(kinds):
            self.fail(
                "KV135",
                parts[0][1],
                "an optional number without bounds",
                "one alternative is None and another is a computed number",
                "give it a type: x: Opt(Int(0, 3)) = ..., or store it in a variable of the state",
            )
        return IntT(min(lo for lo, _ in numbers), max(hi for _, hi in numbers))

    def index(self, found: Expr, wanted: ScalarT, node: ast.AST) -> Expr:
        """An index of an array: an element of its sort, or a number that is checked to be one."""
        if isinstance(found.type, OptT):
            found = Unary(found.type.inner, "unwrap", found, found.loc)
        if isinstance(found.type, IntT) and isinstance(wanted, SortT | IntT):
            if isinstance(found, Const):
                return self._constant(found, wanted, node)
            sure = isinstance(found, Read) or (isinstance(found, Local) and found.name in self.fixed)
            same = sure and isinstance(wanted, IntT) and found.type == wanted
            return found if same else ToIndex(wanted, found, self.loc(node))
        return self.coerce(found, wanted, node, "the index")

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

    @staticmethod
    def leaf(kind: Type) -> LeafT:
        """A type that one variable can have."""
        assert isinstance(kind, BoolT | IntT | SortT | EnumT | OptT | SetT), kind
        return kind
