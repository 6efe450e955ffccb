"""Random statements of actions, init functions and helpers, as lines of text."""

from __future__ import annotations

from collections.abc import Callable

from random_expressions import (
    Make,
    aliased,
    argument,
    boolean,
    condition,
    domain,
    element,
    expression,
    is_part,
    literal,
    number,
    safe,
    written,
)
from random_scope import Scope, is_int, is_leaf, is_shape, room, same, text_of
from random_values import constructed
from random_values import element as held_element

from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, OptT, RecordT, SetT, SortT, Type

Lines = list[str]
Write = Callable[[], Lines]


def block(scope: Scope, size: int) -> Lines:
    """Up to `size` statements; names made inside are known to later ones."""
    lines: Lines = []
    for _ in range(scope.world.draw(1, size)):
        lines += statement(scope)
    return lines


def indented(lines: Lines) -> Lines:
    """One level deeper."""
    return [f"    {line}" for line in lines]


def statement(scope: Scope) -> Lines:
    """One statement of any kind."""
    world = scope.world
    ways: list[Write] = [lambda: store(scope)] * 5
    ways += [lambda: augmented(scope)] * 2
    ways += [lambda: local(scope)] * 3
    ways += [lambda: reassigned(scope)] * 3
    ways += [lambda: mutated(scope)] * 2
    ways += [lambda: stored_record(scope)] * 2
    ways += [lambda: moved(scope)] * (6 if scope.places(lambda k: is_shape(k, "queue", "set", "bag")) else 1)
    ways += [lambda: alias(scope), lambda: copied(scope), lambda: helped(scope), lambda: helped(scope)]
    if scope.guards and world.chance(5):
        return [f"require({condition(scope, 1)})"]
    if scope.guards and world.chance(5):
        return [f"assert {condition(scope, 1)}"]
    if scope.depth < 3:
        ways += [lambda: branches(scope)] * 5
        ways += [lambda: matched(scope)] * 2
        if scope.loops < 2:
            ways += [lambda: loop(scope)] * 4
    return world.pick(ways)()


# --- stores ----------------------------------------------------------------------------------------------


def store(scope: Scope) -> Lines:
    """Something new in a variable of the state."""
    pieces, kind = scope.world.pick(scope.places(is_leaf))
    depth = scope.world.draw(0, 2)
    if isinstance(kind, IntT | BoolT | EnumT) and scope.world.chance(40):
        return [f"{written(scope, pieces, 0)} = {literal(scope, kind)}"]
    if isinstance(kind, SetT) and is_int(kind.element) and scope.world.risky():
        return [f"{written(scope, pieces, 1)} = {{{number(scope, 1)} + 0}}"]
    return [f"{written(scope, pieces, 1)} = {expression(scope, kind, depth)}"]


def augmented(scope: Scope) -> Lines:
    """`+=` and its like, inside the bounds unless a fault is wanted."""
    world = scope.world
    found = scope.places(lambda k: isinstance(k, IntT | SetT))
    if not found:
        return store(scope)
    pieces, kind = world.pick(found)
    place = written(scope, pieces, 1)
    if isinstance(kind, SetT):
        return [f"{place} {world.pick(['|=', '-=', '&='])} {expression(scope, kind, 1)}"]
    assert isinstance(kind, IntT)
    line = f"{place} {world.pick(['+=', '-='])} 1"
    if world.risky():
        return [world.pick([line, f"{place} {world.pick(['*=', '//=', '%=', '+='])} {number(scope, 1)}"])]
    guard = f"if {place} < {kind.hi}:" if "+" in line else f"if {place} > {kind.lo}:"
    return [guard, f"    {line}"]


def mutated(scope: Scope) -> Lines:
    """A method of a set."""
    world = scope.world
    found = scope.places(lambda k: isinstance(k, SetT))
    if not found:
        return store(scope)
    pieces, kind = world.pick(found)
    assert isinstance(kind, SetT)
    place = written(scope, pieces, 1)
    method = world.pick(["add", "discard", "clear", "add"])
    if method == "clear":
        return [f"{place}.clear()"]
    item = expression(scope, kind.element, 1)
    return [f"{place}.{method}({item})"]


def stored_record(scope: Scope) -> Lines:
    """A record, or a set of records, stored whole."""
    world = scope.world
    found = [(p, k) for p, k in scope.places(lambda k: is_shape(k, "record", "set")) if len(p) > 1 or "." in str(p[0])]
    if not found:
        return store(scope)
    pieces, kind = world.pick(found)
    place = written(scope, pieces, 1)
    if is_shape(kind, "set") and world.chance(50):
        return [f"{place} {world.pick(['|=', '-=', '&='])} {expression(scope, kind, 1)}"]
    return [f"{place} = {expression(scope, kind, 1)}"]


def moved(scope: Scope) -> Lines:
    """Something goes into a queue, bag or set of records, or comes out; guarded unless a fault is wanted."""
    world = scope.world
    held = scope.places(lambda k: is_shape(k, "queue", "set", "bag"))
    if not held:
        return store(scope)
    pieces, kind = world.pick(held)
    place = written(scope, pieces, 0)
    assert isinstance(kind, RecordT) and kind.element is not None
    item = held_element(scope, kind.element, 1)
    if world.chance(8):
        return [f"{place}.clear()"]
    if kind.shape == "set":
        return [f"{place}.{world.pick(['add', 'discard', 'add'])}({item})"]
    if kind.shape == "bag" and world.chance(30):
        return [f"{place}.discard({item})"]
    if kind.shape == "bag":
        guard, line = f"if {place}.count({item}) < {room(kind)}:", f"{place}.add({item})"
    elif world.chance(50):
        guard, line = f"if len({place}) < {room(kind)}:", f"{place}.append({item})"
    else:
        guard, line = _popped(scope, place, kind)
    return [line] if world.risky() else [guard, f"    {line}"]


def _popped(scope: Scope, place: str, kind: RecordT) -> tuple[str, str]:
    """A guard, and a line that takes something out of a queue."""
    world = scope.world
    at = world.draw(0, room(kind) - 1) if world.chance(25) else 0
    call = f"{place}.pop({'' if world.chance(15) else at})"
    goals = [p for p, k in scope.places(lambda k: k == kind.element) if len(p) > 1 or "." in str(p[0])]
    if goals and world.chance(60):
        call = f"{written(scope, world.pick(goals), 0)} = {call}"
    return f"if len({place}) > {at}:", call


def copied(scope: Scope) -> Lines:
    """A record or array stored whole."""
    world = scope.world
    found = [
        (p, k) for p, k in scope.places(lambda k: isinstance(k, RecordT | ArrayT)) if len(p) > 1 or "." in str(p[0])
    ]
    if not found:
        return store(scope)
    pieces, kind = world.pick(found)
    source, _ = world.pick([(p, k) for p, k in found if k == kind])
    return [f"{written(scope, pieces, 1)} = {written(scope, source, 1)}"]


# --- locals ----------------------------------------------------------------------------------------------


def local(scope: Scope) -> Lines:
    """A new local."""
    world = scope.world
    kind: Type = world.pick([IntT(), BoolT(), *world.sorts, *world.enums, IntT(), *world.records])
    options = scope.places(lambda k: isinstance(k, OptT))
    if options and world.chance(30):
        kind = world.pick(options)[1]
    if kind == IntT() and world.risky():
        kind = world.integers()
    inside = scope if isinstance(kind, BoolT) else safe(scope)  # Python does not check what a local holds
    if isinstance(kind, RecordT):
        text = constructed(scope, kind, 1)
    else:
        text = number(scope, 1) if kind == IntT() else expression(inside, kind, 1)
    name = scope.fresh("v")
    note = f": {text_of(kind)}" if isinstance(kind, OptT | SortT) or (is_int(kind) and kind != IntT()) else ""
    scope.values[name] = kind
    scope.assigned.add(name)
    return [f"{name}{note} = {text}"]


def reassigned(scope: Scope) -> Lines:
    """A new value for a local; numbers are mostly counted."""
    world = scope.world
    names = sorted(scope.assigned)
    if not names:
        return local(scope)
    name = world.pick(names)
    kind = scope.values[name]
    others = [n for n in names if n != name and scope.values[n] == kind]
    if others and world.chance(30):
        return [f"{name} = {world.pick(others)}"]
    if is_int(kind):
        if world.chance(60):
            return [f"{name} {world.pick(['+=', '-='])} {world.draw(1, 2)}"]
        return [f"{name} = {number(scope, 1) if kind == IntT() else expression(scope, kind, 1)}"]
    if isinstance(kind, SortT):
        return [f"{name} = {argument(scope, kind, 1)}"]
    if isinstance(kind, RecordT):
        return [f"{name} = {constructed(scope, kind, 1)}"]
    return [f"{name} = {expression(scope if isinstance(kind, BoolT) else safe(scope), kind, 1)}"]


def alias(scope: Scope) -> Lines:
    """A name for a record, an array or a set of the state."""
    found = aliased(scope, is_part, 1)
    if found is None:
        return store(scope)
    name = scope.fresh("q")
    scope.roots[name] = found[1]
    return [f"{name} = {found[0]}"]


# --- branches and loops ----------------------------------------------------------------------------------


def branches(scope: Scope) -> Lines:
    """if / elif / else; with an early return now and then."""
    world = scope.world
    lines = [f"if {condition(scope, 2)}:", *_inside(scope, leave=True)]
    if world.chance(25):
        lines += [f"elif {condition(scope, 1)}:", *_inside(scope)]
    if world.chance(50):
        lines += ["else:", *_inside(scope)]
    return lines


def _inside(scope: Scope, *, leave: bool = False) -> Lines:
    inner = scope.inner()
    lines = block(inner, 3)
    if leave and scope.early and scope.loops == 0 and scope.world.chance(10):
        lines.append("return")
    return indented(lines)


def matched(scope: Scope) -> Lines:
    """match on a variable of the state."""
    world = scope.world
    found = scope.places(lambda k: isinstance(k, EnumT | IntT | OptT | BoolT))
    if not found:
        return branches(scope)
    pieces, kind = world.pick(found)
    inner = kind.inner if isinstance(kind, OptT) else kind
    assert isinstance(inner, BoolT | IntT | SortT | EnumT)
    lines = [f"match {written(scope, pieces, 1)}:"]
    for _ in range(world.draw(1, 2)):
        pattern = literal(scope, inner)
        if isinstance(kind, OptT) and world.chance(40):
            pattern = "None"
        elif world.chance(25):
            pattern += f" | {literal(scope, inner)}"
        guard = f" if {boolean(scope, 1)}" if world.chance(20) else ""
        lines += [f"    case {pattern}{guard}:", *indented(_inside(scope))]
    if world.chance(50):
        lines += ["    case _:", *indented(_inside(scope))]
    return lines


def loop(scope: Scope) -> Lines:
    """A loop; a counter in front of it now and then."""
    world = scope.world
    before: Lines = []
    if world.chance(40):
        name = scope.fresh("n")
        scope.values[name] = IntT()
        scope.assigned.add(name)
        before = [f"{name} = {world.draw(-1, 1)}"]
    where, kind = domain(scope, 1)
    inner = scope.inner()
    inner.loops += 1
    name = scope.fresh("x")
    inner.values[name] = kind
    test = condition(inner, 1)
    body = ["pass"] if world.chance(5) else block(inner, 3)
    if world.chance(40):
        body = [f"if {test}:", *indented(body)]
    return [*before, f"for {name} in {where}:", *indented(body)]


def helped(scope: Scope) -> Lines:
    """A helper called in a line of its own, or for its value."""
    world = scope.world
    if not world.helpers:
        return branches(scope) if scope.depth < 3 else store(scope)
    helper = world.pick(world.helpers)
    given = "".join(", " + argument(scope, p, 1) for p in helper.params)
    call = f"{helper.name}(s{given})"
    if helper.result is None:
        return [call]
    name = scope.fresh("v")
    scope.values[name] = helper.result
    if helper.result == IntT() or isinstance(helper.result, BoolT):
        scope.assigned.add(name)
    return [f"{name} = {call}"]


# --- whole bodies ----------------------------------------------------------------------------------------


def effect_helper(scope: Scope) -> Lines:
    """The body of a helper that stores; it may return early."""
    scope.early = True
    return block(scope, 3)


def valued_helper(scope: Scope, kind: Type) -> Lines:
    """The body of a helper that stores and gives a value, on every way."""
    lines = block(scope, 2)
    if scope.world.chance(50):
        inner = scope.inner()
        lines += [f"if {condition(scope, 1)}:", *indented([*block(inner, 2), f"return {result(inner, kind)}"])]
    return [*lines, f"return {result(scope, kind)}"]


def pure_helper(scope: Scope, kind: Type) -> Lines:
    """The body of a helper that only computes: locals, `if`, `return`."""
    lines: Lines = []
    if scope.world.chance(50):
        name = scope.fresh("v")
        lines.append(f"{name} = {number(scope, 1)}")
        scope.values[name] = IntT()
    if scope.world.chance(30):
        found = aliased(scope, is_part, 1)
        if found is not None:
            name = scope.fresh("q")
            lines.append(f"{name} = {found[0]}")
            scope.roots[name] = found[1]
    if scope.world.chance(50):
        lines += [f"if {condition(scope, 1)}:", f"    return {result(scope, kind)}"]
    return [*lines, f"return {result(scope, kind)}"]


def result(scope: Scope, kind: Type) -> str:
    """A value to return; elements of sorts that are visibly ones."""
    if kind == IntT():
        return number(scope, 1)
    return argument(scope, kind, 1) if isinstance(kind, SortT | OptT | RecordT) else expression(scope, kind, 1)


def guard(scope: Scope) -> str:
    """A guard of an action."""
    return f"require({condition(scope, scope.world.draw(0, 2))})"


__all__ = ["Make", "block", "effect_helper", "element", "guard", "indented", "pure_helper", "same", "valued_helper"]
