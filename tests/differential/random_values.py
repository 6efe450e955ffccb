"""Random records, and random questions about queues, bags and sets of records, as text."""

from __future__ import annotations

from collections.abc import Callable

import random_expressions as expressions
from random_scope import Pieces, Scope, is_int, is_shape, same

from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, OptT, RecordT, SortT, Type

Make = Callable[[], str]


def containers(scope: Scope, *shapes: str) -> list[tuple[Pieces, RecordT]]:
    """Queues, bags and large sets in scope."""
    wanted = shapes or ("queue", "set", "bag")
    found = scope.readable(lambda kind: is_shape(kind, *wanted))
    return [(pieces, kind) for pieces, kind in found if isinstance(kind, RecordT)]


def element(scope: Scope, kind: Type, depth: int) -> str:
    """A value that belongs to an element type; it does not fault unless that is wanted."""
    inside = scope if isinstance(kind, BoolT | SortT | EnumT | RecordT | OptT) else expressions.safe(scope)
    return expressions.expression(inside, kind, depth)


# --- records ---------------------------------------------------------------------------------------------


def record(scope: Scope, kind: RecordT, depth: int, *, named: bool = False) -> str:
    """A record; one that is `named` is not chosen among parts of the state."""
    world = scope.world
    known: list[Make] = [*expressions.reads(scope, same(kind), depth), *expressions.calls(scope, kind, depth)]
    if depth <= 0 or named or world.chance(60):
        return world.pick(known)() if known and world.chance(50) else constructed(scope, kind, depth)
    if world.chance(50):
        test = expressions.condition(scope, depth - 1)
        return f"({record(scope, kind, depth - 1)} if {test} else {record(scope, kind, depth - 1)})"
    held = [(p, k) for p, k in containers(scope) if k.element == kind]
    if not held:
        return constructed(scope, kind, depth)
    pieces, _ = world.pick(held)
    inside, name = expressions.bound(scope, kind)
    place = expressions.written(scope, pieces, depth - 1)
    test = expressions.condition(inside, depth - 1)
    return f"next(({name} for {name} in {place} if {test}), {constructed(scope, kind, 0)})"


def constructed(scope: Scope, kind: RecordT, depth: int) -> str:
    """A record made on the spot; fields that are left out are zero."""
    given = []
    for name, inner in kind.fields:
        if isinstance(inner, ArrayT) or is_shape(inner, "queue", "bag", "set") or scope.world.chance(25):
            continue
        risky = scope if not is_int(inner) or scope.world.risky() else expressions.safe(scope)
        given.append(f"{name}={expressions.expression(risky, inner, depth - 1)}")
    return f"{kind}({', '.join(given)})"


# --- sets of records -------------------------------------------------------------------------------------


def records(scope: Scope, kind: RecordT, depth: int) -> str:
    """A set of records."""
    world = scope.world
    item = kind.element
    assert isinstance(item, RecordT)

    def named() -> str:
        return f"{{{', '.join(element(scope, item, depth - 1) for _ in range(world.draw(1, 2)))}}}"

    def filtered() -> str:
        pieces, _ = world.pick([(p, k) for p, k in containers(scope) if k.element == item])
        inside, name = expressions.bound(scope, item)
        place = expressions.written(scope, pieces, depth - 1)
        return f"{{{name} for {name} in {place} if {expressions.condition(inside, depth - 1)}}}"

    def built() -> str:
        text, inside = expressions.clauses(scope, depth - 1, ordered=False)
        return f"{{{constructed(inside, item, depth - 1)}{text}}}"

    def combined() -> str:
        op = world.pick(["|", "-", "&"])
        return f"({records(scope, kind, depth - 1)} {op} {records(scope, kind, depth - 1)})"

    simple: list[Make] = [named, *expressions.reads(scope, same(kind), depth) * 2]
    nested: list[Make] = [built, combined]
    if any(k.element == item for _, k in containers(scope)):
        nested += [filtered, filtered]
    return expressions.choose(scope, simple, nested, depth)


# --- questions -------------------------------------------------------------------------------------------


def tests(scope: Scope, depth: int) -> list[Make]:
    """Conditions on records, queues, bags and sets of records."""
    world = scope.world
    found: list[Make] = []
    held = containers(scope)
    if held:

        def asked() -> str:
            pieces, kind = world.pick(held)
            assert kind.element is not None
            place = expressions.written(scope, pieces, depth - 1)
            again = expressions.written(scope, world.pick([p for p, k in held if k == kind]), depth - 1)
            ways: list[Make] = [
                lambda: f"{element(scope, kind.element, depth - 1)} {world.pick(['in', 'not in'])} {place}",  # type: ignore[arg-type]
                lambda: f"{place} {world.pick(['==', '!='])} {again}",
            ]
            if kind.shape == "set":
                op = world.pick(["<=", "==", "<", ">="])
                ways.append(lambda: f"{place} {op} {records(scope, kind, depth - 1)}")
            if kind.shape == "queue" and not isinstance(kind.element, OptT):
                ways.append(lambda: f"len({place}) > 0 and {_first(scope, place, kind.element, depth)}")  # type: ignore[arg-type]
            return world.pick(ways)()

        found += [asked] * 3
    classes = [r for r in world.records if expressions.reads(scope, same(r), depth)]
    if classes:

        def compared() -> str:
            kind = world.pick(classes)
            one = world.pick(expressions.reads(scope, same(kind), depth))()
            return f"{one} {world.pick(['==', '!='])} {record(scope, kind, depth - 1)}"

        found += [compared] * 2
    arrays = scope.readable(lambda k: isinstance(k, ArrayT))
    if arrays:

        def alike() -> str:
            pieces, kind = world.pick(arrays)
            other, _ = world.pick([(p, k) for p, k in arrays if k == kind])
            return f"{expressions.written(scope, pieces, depth - 1)} == {expressions.written(scope, other, depth - 1)}"

        found.append(alike)
    return found


def _first(scope: Scope, place: str, kind: Type, depth: int) -> str:
    """A question about the first element of a queue that has one."""
    at = "0" if scope.world.chance(70) else f"len({place}) - 1"
    if isinstance(kind, RecordT):
        name, inner = scope.world.pick(kind.fields)
        if isinstance(inner, BoolT | SortT | EnumT):
            return f"{place}[{at}].{name} == {expressions.literal(scope, inner)}"
    return f"{place}[{at}] == {element(scope, kind, depth - 1)}"


def counts(scope: Scope, depth: int) -> list[Make]:
    """Numbers that bags and queues of numbers give."""
    world = scope.world
    bags = containers(scope, "bag")
    lines = [(p, k) for p, k in containers(scope, "queue") if isinstance(k.element, IntT)]
    found: list[Make] = []
    if bags:

        def counted() -> str:
            pieces, kind = world.pick(bags)
            assert kind.element is not None
            place = expressions.written(scope, pieces, depth - 1)
            return f"{place}.count({element(scope, kind.element, depth - 1)})"

        found.append(counted)
    if lines and world.risky():

        def indexed() -> str:
            pieces, _ = world.pick(lines)
            return f"{expressions.written(scope, pieces, depth - 1)}[{expressions.number(scope, depth - 1)} + 0]"

        found.append(indexed)
    return found


