"""Random expressions of a wanted type, as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import random_values
from random_scope import Helper, Pieces, Scope, is_int, is_shape, same

from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, OptT, RecordT, ScalarT, SetT, SortT, Type

Make = Callable[[], str]


def expression(scope: Scope, kind: Type, depth: int = 2) -> str:
    """An expression of that type; where it stands for a leaf of that type it fits, unless a fault is wanted."""
    match kind:
        case BoolT():
            return boolean(scope, depth)
        case IntT():
            return fitting(scope, kind, depth)
        case SortT():
            return element(scope, kind, depth)
        case EnumT():
            return member(scope, kind, depth)
        case OptT():
            return optional(scope, kind, depth)
        case SetT():
            return collection(scope, kind, depth)
        case RecordT(shape="record"):
            return random_values.record(scope, kind, depth)
        case RecordT(shape="set"):
            return random_values.records(scope, kind, depth)
        case _:
            raise AssertionError(kind)


def choose(scope: Scope, simple: list[Make], nested: list[Make], depth: int) -> str:
    """One of the ways to write an expression; nested ones only while depth is left."""
    world = scope.world
    if depth > 0 and nested and (not simple or world.chance(65)):
        return world.pick(nested)()
    return world.pick(simple)()


# --- places ----------------------------------------------------------------------------------------------


def written(scope: Scope, pieces: Pieces, depth: int) -> str:
    """The place with indices chosen."""
    return "".join(p if isinstance(p, str) else index(scope, p, depth) for p in pieces)


def index(scope: Scope, kind: ScalarT, depth: int) -> str:
    """An index of an array over `kind`."""
    world = scope.world
    if depth < 0:
        names = scope.names(same(kind))
        return world.pick([*names, *names, literal(scope, kind)])
    if isinstance(kind, SortT) and world.risky():
        options = scope.names(lambda k: k == OptT(kind))
        if options and world.chance(40):
            return world.pick(options)
        return f"{number(scope, min(depth, 1))} - {world.draw(0, 1)}"
    if isinstance(kind, SortT):
        return element(scope, kind, min(depth, 1))
    if isinstance(kind, IntT):
        return f"{number(scope, min(depth, 1))} - 0" if world.risky() else fitting(safe(scope), kind, min(depth, 1))
    return expression(scope, kind, min(depth, 1))


def safe(scope: Scope) -> Scope:
    """The scope with nothing that may fault."""
    return replace(scope, world=replace(scope.world, risk=0))


def reads(scope: Scope, wanted: Callable[[Type], bool], depth: int) -> list[Make]:
    """Ways to read something of a wanted type: locals, and parts of the state."""
    found: list[Make] = [partial(str, name) for name in scope.names(wanted)]
    spots = [p for p, _ in scope.readable(wanted) if depth >= 0 or len(p) == 1]
    if spots:
        found += [lambda: written(scope, scope.world.pick(spots), depth - 1)] * 3
    return found


def unwraps(scope: Scope, inner: ScalarT, depth: int) -> list[Make]:
    """Ways to use an optional as the value inside; faults where it is None."""
    if not scope.world.risky():
        return []
    return reads(scope, same(OptT(inner)), depth)


def calls(scope: Scope, result: Type, depth: int) -> list[Make]:
    """Ways to call a pure helper."""
    helpers = [h for h in scope.world.helpers if h.result == result and not h.effects]
    return [partial(_called, scope, helper, depth) for helper in helpers]


def _called(scope: Scope, helper: Helper, depth: int) -> str:
    given = "".join(", " + argument(scope, kind, depth - 1) for kind in helper.params)
    return f"{helper.name}(s{given})"


def argument(scope: Scope, kind: Type, depth: int) -> str:
    """An argument of a helper: it must have the very type."""
    if isinstance(kind, OptT):
        found = reads(scope, same(kind), depth)
        inner = "(False, True)" if isinstance(kind.inner, BoolT) else str(kind.inner)
        return scope.world.pick(found)() if found else f"next((y for y in {inner}), None)"
    if isinstance(kind, RecordT):
        return random_values.record(scope, kind, depth, named=True)
    if isinstance(kind, SortT):
        exact = reads(scope, same(kind), depth)
        return scope.world.pick(exact)() if exact else f"next((y for y in {kind}), {literal(scope, kind)})"
    return expression(scope, kind, depth)


# --- quantifiers -----------------------------------------------------------------------------------------


def domain(scope: Scope, depth: int, *, ordered: bool = True) -> tuple[str, Type]:
    """What a loop or comprehension ranges over, and the type of its elements."""
    world = scope.world
    sorts: list[tuple[str, Type]] = [(s.name, s) for s in world.sorts]
    ways = [*sorts, *sorts, *((e.name, e) for e in world.enums)]
    held = random_values.containers(scope)
    if held and world.chance(25):
        pieces, shape = world.pick(held)
        assert shape.element is not None
        return written(scope, pieces, depth - 1), shape.element
    if world.chance(8):
        sort = world.pick(world.sorts)
        return f"subsets({sort})", SetT(sort)
    kind = world.draw(0, 9)
    if kind <= 4 or (kind >= 8 and depth <= 0):
        return world.pick(ways)
    if kind <= 5:
        low = world.draw(-1, 1)
        return f"range({low}, {low + world.draw(0, 3)})", IntT()
    if kind <= 6:
        return f"range({'cfg.number' if world.chance(50) else world.draw(1, 3)})", IntT()
    if kind <= 7:
        if world.enums and world.chance(50):
            enum = world.pick(world.enums)
            return f"({enum}.{enum.members[-1]}, {enum}.{enum.members[0]})", enum
        return f"({world.draw(-1, 3)}, {world.draw(-1, 3)})", IntT()
    sets = scope.readable(lambda k: isinstance(k, SetT))
    if sets:
        pieces, found = world.pick(sets)
        assert isinstance(found, SetT)
        return written(scope, pieces, depth - 1), found.element
    if not ordered:
        sort = world.pick(world.sorts)
        inside, name = bound(scope, sort)
        return f"{{{name} for {name} in {sort} if {condition(inside, depth - 1)}}}", sort
    return world.pick(ways)


def bound(scope: Scope, kind: Type) -> tuple[Scope, str]:
    """A scope with a new variable of that type."""
    inside = scope.inner()
    name = scope.fresh("x")
    inside.values[name] = kind
    return inside, name


def clauses(scope: Scope, depth: int, loops: int = 1, *, ordered: bool = True) -> tuple[str, Scope]:
    """`for x in ... if ...`, and the scope of the body."""
    text = ""
    for _ in range(loops):
        where, kind = domain(scope, depth, ordered=ordered)
        scope, name = bound(scope, kind)
        text += f" for {name} in {where}"
        if scope.world.chance(50):
            text += f" if {condition(scope, depth - 1)}"
    return text, scope


def loops(scope: Scope) -> int:
    """One loop, now and then two."""
    return 2 if scope.world.chance(25) else 1


# --- booleans --------------------------------------------------------------------------------------------


def condition(scope: Scope, depth: int) -> str:
    """What may stand after `if`: a boolean, or a set."""
    if scope.world.chance(8):
        sets = reads(scope, lambda k: isinstance(k, SetT) or is_shape(k, "set", "bag"), depth)
        if sets:
            return f"{'not ' if scope.world.chance(50) else ''}{scope.world.pick(sets)()}"
    return boolean(scope, depth)


def boolean(scope: Scope, depth: int) -> str:
    """A truth value."""
    world = scope.world
    simple = reads(scope, same(BoolT()), depth)
    simple += [lambda: comparison(scope, depth)] * 4
    if world.chance(10):
        simple.append(lambda: world.pick(["True", "False", "cfg.flag"]))

    def both(word: str) -> Make:
        return lambda: f"({boolean(scope, depth - 1)} {word} {boolean(scope, depth - 1)})"

    def quantified(word: str) -> str:
        text, inside = clauses(scope, depth - 1, loops(scope), ordered=False)
        return f"{word}({condition(inside, depth - 1)}{text})"

    nested: list[Make] = [
        lambda: comparison(scope, depth),
        both("and"),
        both("or"),
        lambda: f"(not {condition(scope, depth - 1)})",
        lambda: quantified("any"),
        lambda: quantified("all"),
        lambda: f"({boolean(scope, depth - 1)} if {condition(scope, depth - 1)} else {boolean(scope, depth - 1)})",
        *calls(scope, BoolT(), depth),
    ]
    return choose(scope, simple, nested, depth)


def comparison(scope: Scope, depth: int) -> str:
    """One value against another."""
    world = scope.world

    def numbers() -> str:
        op = world.pick(["==", "<", "<=", ">", ">=", "!="])
        text = f"{number(scope, depth - 1)} {op} {number(scope, depth - 1)}"
        return f"{text} {world.pick(['<', '<=', '=='])} {number(scope, depth - 1)}" if world.chance(10) else text

    kinds: list[SortT | EnumT] = [*world.sorts, *world.enums]
    kinds = [k for k in kinds if reads(scope, same(k), depth - 1)] or kinds

    def subject(kind: SortT | EnumT) -> str:
        known = reads(scope, same(kind), depth - 1)
        return world.pick(known)() if known else expression(scope, kind, depth - 1)

    def alike() -> str:
        kind = world.pick(kinds)
        if isinstance(kind, SortT) and world.chance(40):
            return f"{argument(scope, kind, depth - 1)} {world.pick(['<', '>='])} {argument(scope, kind, depth - 1)}"
        op = world.pick(["==", "!="])
        return f"{subject(kind)} {op} {expression(scope, kind, depth - 1)}"

    def among() -> str:
        kind = world.pick(kinds)
        items = ", ".join(literal(scope, kind) for _ in range(world.draw(1, 3)))
        return f"{subject(kind)} {world.pick(['in', 'not in'])} ({items},)"

    ways: list[Make] = [numbers, alike, among, *_optional_tests(scope, depth), *_set_tests(scope, depth)]
    ways += random_values.tests(scope, depth)
    return f"({world.pick(ways)()})"


def _optional_tests(scope: Scope, depth: int) -> list[Make]:
    world = scope.world
    options = scope.readable(lambda k: isinstance(k, OptT))
    if not options:
        return []

    def tested() -> str:
        pieces, kind = world.pick(options)
        assert isinstance(kind, OptT)
        place = written(scope, pieces, depth - 1)
        other = number(scope, depth - 1) if is_int(kind.inner) else expression(scope, kind.inner, depth - 1)
        again = written(scope, world.pick([p for p, k in options if k == kind]), depth - 1)
        return world.pick(
            [
                f"{place} is None",
                f"{place} is not None",
                f"{place} == {other}",
                f"{other} != {place}",
                f"{place} == {again}",
                f"{place} not in (None, {other})",
                f"({place} is not None and {place} == {other})",
            ]
        )

    return [tested, tested]


def _set_tests(scope: Scope, depth: int) -> list[Make]:
    world = scope.world
    sets = scope.readable(lambda k: isinstance(k, SetT))
    if not sets:
        return []

    def tested() -> str:
        pieces, kind = world.pick(sets)
        assert isinstance(kind, SetT)
        place = written(scope, pieces, depth - 1)
        item = number(scope, depth - 1) if is_int(kind.element) else expression(scope, kind.element, depth - 1)
        other = collection(scope, kind, depth - 1)
        if is_int(kind.element):
            item += " + 0"
        return world.pick(
            [f"{item} in {place}", f"{item} not in {place}", f"{place} {world.pick(['<=', '==', '<'])} {other}"]
        )

    return [tested, tested]


# --- numbers ---------------------------------------------------------------------------------------------


def fitting(scope: Scope, kind: IntT, depth: int) -> str:
    """A number inside the bounds of the type, unless a fault is wanted."""
    world = scope.world
    if world.risky():
        return number(scope, depth)
    exact = reads(scope, same(kind), depth)
    if exact and world.chance(30):
        return world.pick(exact)()
    if kind.lo is None or kind.hi is None:
        return number(scope, depth)
    if depth <= 0 or world.chance(40):
        return str(world.draw(kind.lo, kind.hi))
    if world.chance(50):
        return f"min(max({number(scope, depth - 1)}, {kind.lo}), {kind.hi})"
    return f"{kind.lo} + ({number(scope, depth - 1)}) % {kind.hi - kind.lo + 1}"


def number(scope: Scope, depth: int) -> str:
    """Any number."""
    world = scope.world
    simple = [*reads(scope, is_int, depth) * 2, lambda: str(world.draw(-2, 3)), lambda: "cfg.number"]
    if world.chance(10):
        simple = [lambda: str(world.draw(-2, 3)), lambda: "(cfg.number + 1)", lambda: "(1 - cfg.number)"]

    def arithmetic() -> str:
        op = world.pick(["+", "-", "*"])
        return f"({number(scope, depth - 1)} {op} {number(scope, depth - 1)})"

    def division() -> str:
        divisor = number(scope, depth - 1) if world.risky() else str(world.pick([2, 3, -2, 1]))
        return f"({number(scope, depth - 1)} {world.pick(['//', '%'])} {divisor})"

    def total() -> str:
        text, inside = clauses(scope, depth - 1, loops(scope), ordered=False)
        body = boolean(inside, depth - 1) if world.chance(60) else number(inside, depth - 1)
        return f"sum({body}{text})"

    def extreme() -> str:
        text, inside = clauses(scope, depth - 1, ordered=False)
        default = "" if world.risky() else f", default={world.draw(-2, 3)}"
        body = f"({number(inside, depth - 1)}{text})" if default else f"{number(inside, depth - 1)}{text}"
        return f"{world.pick(['min', 'max'])}({body}{default})"

    def first() -> str:
        text, inside = clauses(scope, depth - 1)
        return f"next(({number(inside, depth - 1)}{text}), {world.draw(-2, 3)})"

    def counted() -> str:
        sets = reads(scope, lambda k: isinstance(k, SetT) or is_shape(k, "queue", "set", "bag"), depth)
        return f"len({world.pick(sets)() if sets else world.pick(world.sorts).name})"

    def entry() -> str:
        size = world.draw(1, 3)
        table = ", ".join(str(world.draw(-2, 3)) for _ in range(size))
        sorts = [sort for sort in world.sorts if sort.size <= size]
        if sorts and world.chance(50):
            return f"({table},)[{element(scope, world.pick(sorts), depth - 1)}]"
        # A negative index counts from the end in Python, and is refused here.
        inside = fitting(safe(scope), IntT(0, size - 1), depth - 1)
        return f"({table},)[{f'max({number(scope, depth - 1)}, 0)' if world.risky() else inside}]"

    nested: list[Make] = [
        *random_values.counts(scope, depth),
        entry,
        arithmetic,
        arithmetic,
        division,
        total,
        extreme,
        first,
        counted,
        lambda: f"{world.pick(['min', 'max'])}({number(scope, depth - 1)}, {number(scope, depth - 1)})",
        lambda: f"int({boolean(scope, depth - 1)})",
        lambda: f"int({element(scope, world.pick(world.sorts), depth - 1)})",
        lambda: f"(-{number(scope, depth - 1)})",
        lambda: f"({number(scope, depth - 1)} if {condition(scope, depth - 1)} else {number(scope, depth - 1)})",
        *calls(scope, IntT(), depth),
    ]
    options = reads(scope, lambda k: isinstance(k, OptT) and is_int(k.inner), depth)
    if options and world.risky():
        simple.append(lambda: f"({world.pick(options)()} + 0)")
    return choose(scope, simple, nested, depth)


# --- elements, members, optionals, sets ------------------------------------------------------------------


def literal(scope: Scope, kind: ScalarT) -> str:
    """A constant of the type."""
    world = scope.world
    match kind:
        case BoolT():
            return world.pick(["False", "True"])
        case SortT():
            return str(world.draw(0, kind.size - 1))
        case EnumT():
            return f"{kind}.{world.pick(kind.members)}"
        case IntT(lo, hi):
            return str(world.draw(-1 if lo is None else lo, 2 if hi is None else hi))


def element(scope: Scope, kind: SortT, depth: int) -> str:
    """An element of a sort."""
    world = scope.world
    simple = [lambda: literal(scope, kind), *reads(scope, same(kind), depth) * 3, *unwraps(scope, kind, depth)]

    def first() -> str:
        inside, name = bound(scope, kind)
        known = scope.names(same(kind))
        default = world.pick(known) if known else literal(scope, kind)
        return f"next(({name} for {name} in {kind} if {condition(inside, depth - 1)}), {default})"

    def conditional() -> str:
        return f"({argument(scope, kind, 0)} if {condition(scope, depth - 1)} else {element(scope, kind, depth - 1)})"

    def numbered() -> str:
        wanted = IntT(0, kind.size - 1)
        return f"{kind}({number(scope, depth - 1) if world.risky() else fitting(safe(scope), wanted, depth - 1)})"

    return choose(scope, simple, [first, conditional, numbered, *calls(scope, kind, depth)], depth)


def member(scope: Scope, kind: EnumT, depth: int) -> str:
    """A member of an enumeration."""
    simple = [lambda: literal(scope, kind), *reads(scope, same(kind), depth) * 3, *unwraps(scope, kind, depth)]

    def first() -> str:
        inside, name = bound(scope, kind)
        return f"next(({name} for {name} in {kind} if {condition(inside, depth - 1)}), {literal(scope, kind)})"

    def conditional() -> str:
        test = condition(scope, depth - 1)
        return f"({member(scope, kind, depth - 1)} if {test} else {member(scope, kind, depth - 1)})"

    return choose(scope, simple, [first, conditional, *calls(scope, kind, depth)], depth)


def optional(scope: Scope, kind: OptT, depth: int) -> str:
    """An optional value."""
    simple: list[Make] = [lambda: "None", *reads(scope, same(kind), depth) * 2]
    simple += [lambda: expression(scope, kind.inner, depth)] * 2
    nested: list[Make] = [lambda: expression(scope, kind.inner, depth)]
    if isinstance(kind.inner, IntT):  # alternatives would have to agree in their bounds
        return choose(scope, simple, nested, depth)

    def first() -> str:
        inside, name = bound(scope, kind.inner)
        where = "(False, True)" if isinstance(kind.inner, BoolT) else str(kind.inner)
        return f"next(({name} for {name} in {where} if {condition(inside, depth - 1)}), None)"

    nested += [first, first]
    nested.append(lambda: f"({expression(scope, kind, depth - 1)} if {condition(scope, depth - 1)} else None)")
    return choose(scope, simple, [*nested, *calls(scope, kind, depth)], depth)


def collection(scope: Scope, kind: SetT, depth: int) -> str:
    """A set."""
    world = scope.world
    item = kind.element

    def named() -> str:
        """Numbers in a literal fit: Python is laxer where the set is compared and not stored."""
        inside = safe(scope) if is_int(item) else scope
        return f"{{{', '.join(expression(inside, item, depth - 1) for _ in range(world.draw(1, 2)))}}}"

    simple = [named, lambda: f"{{{literal(scope, item)}}}", *reads(scope, same(kind), depth) * 2]

    def comprehended() -> str:
        if isinstance(item, SortT | EnumT) and world.chance(60):
            inside, name = bound(scope, item)
            return f"{{{name} for {name} in {item} if {condition(inside, depth - 1)}}}"
        text, inside = clauses(scope, depth - 1, loops(scope), ordered=False)
        exact = reads(inside, same(item), depth - 1)
        return f"{{{world.pick(exact)()}{text}}}" if exact else named()

    def combined() -> str:
        op = world.pick(["|", "-", "&"])
        return f"({collection(scope, kind, depth - 1)} {op} {collection(scope, kind, depth - 1)})"

    return choose(scope, simple, [comprehended, comprehended, combined], depth)


def aliased(scope: Scope, wanted: Callable[[Type], bool], depth: int) -> tuple[str, Type] | None:
    """A part of the state that is wanted, with its type."""
    found = [(p, k) for p, k in scope.places(wanted) if len(p) > 1 or "." in str(p[0])]
    if not found:
        return None
    pieces, kind = scope.world.pick(found)
    return written(scope, pieces, depth), kind


def is_part(kind: Type) -> bool:
    """Records, arrays and sets: what a name can stand for."""
    return isinstance(kind, ArrayT | RecordT | SetT)
