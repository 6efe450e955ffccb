"""Random models as text: a Hypothesis strategy.

Types are drawn first and every expression is made for the type that is needed, so that the language accepts nearly
every text.  A model is drawn with a *risk*: none, and nothing in it can fault; some, and indices, divisors, optionals
and numbers may be wrong here and there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st
from random_expressions import boolean, condition
from random_scope import Helper, Integers, Scope, World, is_leaf, is_shape, room, size_of, text_of
from random_statements import Lines, block, effect_helper, guard, indented, pure_helper, store, valued_helper

from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, OptT, RecordT, ScalarT, SetT, SortT, Type

MAX_SIZE = 1 << 12
"""The state has at most so many values, so that most searches stay small."""

HEAD = """\
from enum import Enum

from kvproto.lang import Array, Bag, Bool, Int, Machine, Model, Opt, Params, Queue, Record, Set, Sort
from kvproto.lang import action, flag, init, invariant, number, require, subsets

"""


@st.composite
def models(draw: st.DrawFn) -> str:
    """The text of a random model."""
    return write(lambda low, high: draw(st.integers(low, high)))


def write(draw: Integers) -> str:
    """The text of a model chosen by `draw`."""
    world = World(draw)
    world.risk = world.pick([0, 0, 5, 15, 30, 60])
    world.flag, world.number = world.chance(50), draw(0, 3)
    world.sorts = [SortT(f"S{i}", world.pick([2, 3, 2, 1])) for i in range(draw(1, 3))]
    world.enums = [EnumT(f"E{i}", ("P", "Q", "R")[: draw(2, 3)]) for i in range(draw(0, 2))]
    types = _types(world)
    helpers = [line for i in range(draw(0, 3)) for line in _helper(world, i)]
    actions = [line for i in range(draw(1, 4)) for line in _action(world, i)]
    actions += [line for i in range(draw(1, 4)) for line in _spread(world, i)]
    inits = [line for i in range(draw(0, 2)) for line in _init(world, i)]
    claims = [line for i in range(draw(0, 2)) for line in _claim(world, i)]
    terminal = world.draw(0, 3)
    end = ["", "deadlock=True, ", "terminal=terminal, ", "terminal=terminal, "][terminal]
    if terminal >= 2:
        scope = _scope(world)
        claims += ["", "", "def terminal(s):", *indented(pure_helper(scope, BoolT()))]
    if world.chance(25):
        end += "constraint=within, "
        claims += ["", "", "def within(s):", f"    return {boolean(_scope(world), 2)}"]
    model = ["", "", f'model = Model("random", "", state=State, parts=[__name__], {end}params=Config)']
    return HEAD + "\n".join([*types, *helpers, *actions, *inits, *claims, *model]) + "\n"


# --- types -----------------------------------------------------------------------------------------------


def _types(world: World) -> Lines:
    lines = [f'{s} = Sort("{s}", size={s.size})' for s in world.sorts]
    lines += [
        "",
        "",
        "class Config(Params):",
        f'    flag = flag({world.flag}, "")',
        f'    number = number({world.number}, "")',
    ]
    lines += ["", "", "cfg = Config()"]
    for enum in world.enums:
        members = [f"    {name} = {at}" for at, name in enumerate(enum.members)]
        lines += ["", "", f"class {enum}(Enum):", *members]
    world.records = []
    for at in range(world.draw(0, 2)):
        world.records.append(_record(world, f"R{at}", world.draw(1, 2), 24))
    state = _record(world, "State", world.draw(3, 7), MAX_SIZE)
    world.state = replace(state, fields=(*state.fields, ("ok", BoolT())))
    for record in [*world.records, world.state]:
        lines += ["", "", f"class {record}(Record):", *(f"    {n}: {text_of(k)}" for n, k in record.fields)]
    return [*lines, "", "", 'm = Machine("m", "")']


def _record(world: World, name: str, fields: int, limit: int) -> RecordT:
    """A record with at least one field, whose values are not too many."""
    found: list[tuple[str, Type]] = []
    size = 1
    stem = name[0].lower() + name[1:] if name != "State" else "f"
    for at in range(fields):
        kind = _field(world)
        if size * size_of(kind) > limit:
            kind = BoolT()
        if size * size_of(kind) <= limit:
            found.append((f"{stem}_{at}", kind))
            size *= size_of(kind)
    return RecordT(name, tuple(found) or ((f"{stem}_0", BoolT()),))


def _field(world: World) -> Type:
    shape = world.draw(0, 11)
    if shape <= 3:
        return _leaf(world)
    if shape >= 10:
        return world.container()
    if shape <= 7 or not world.records:
        return ArrayT(
            _index(world),
            world.pick([*world.records, *world.records]) if world.records and world.chance(50) else _leaf(world),
        )
    if shape == 8:
        return world.pick(world.records)
    return ArrayT(_index(world), ArrayT(_index(world), _leaf(world)))


def _index(world: World) -> ScalarT:
    low = world.draw(-1, 1)
    return world.pick([*world.sorts, *world.sorts, *world.enums, IntT(low, low + world.draw(0, 2))])


def _leaf(world: World) -> Type:
    way = world.draw(0, 9)
    if way <= 4:
        return world.scalar()
    inner = world.pick([*world.sorts, *world.sorts, *world.enums, world.integers(), BoolT()])
    return OptT(inner) if way <= 7 else SetT(inner)


# --- functions -------------------------------------------------------------------------------------------


def _scope(world: World) -> Scope:
    return Scope(world, {"s": world.state})


def _parameters(scope: Scope, most: int) -> str:
    text = ""
    world = scope.world
    for _ in range(world.draw(0, most)):
        kind: Type = world.pick([world.pick(world.sorts), world.scalar()])
        if world.chance(20):
            kind = world.pick([SetT(world.pick(world.sorts)), OptT(world.pick(world.sorts)), *world.small_records(8)])
        name = scope.fresh("p")
        scope.values[name] = kind
        text += f", {name}: {text_of(kind)}"
    return text


def _helper(world: World, number: int) -> Lines:
    scope = _scope(world)
    options = [OptT(s) for s in world.sorts]
    kinds: list[Type] = [BoolT(), IntT(), *world.sorts, *world.enums, *options, *world.records]
    params = tuple(world.pick(kinds) for _ in range(world.draw(0, 2)))
    names = [scope.fresh("p") for _ in params]
    scope.values.update(zip(names, params, strict=True))
    way = world.draw(0, 3)
    result = None if way == 0 else world.pick(kinds)
    if result is None:
        body = effect_helper(scope)
    else:
        body = valued_helper(scope, result) if way == 1 else pure_helper(scope, result)
    world.helpers.append(Helper(f"h{number}", params, result, effects=way <= 1))
    return ["", "", f"def h{number}(s{''.join(', ' + n for n in names)}):", *indented(body)]


def _action(world: World, number: int) -> Lines:
    scope = _scope(world)
    params = _parameters(scope, 2)
    lines = [guard(scope) for _ in range(world.pick([0, 1, 1, 2]))]
    scope.early = True
    lines += [line for _ in range(world.draw(1, 2)) for line in store(scope)]
    if world.chance(75):
        lines += block(scope, 3)
    return ["", "", "@action(m)", f"def a{number}(s{params}):", *indented(lines)]


def _spread(world: World, number: int) -> Lines:
    """An action that stores whatever its parameters say, so that there is more than a handful of states."""
    scope = _scope(world)
    pieces, kind = world.pick(scope.places(lambda k: is_leaf(k) or is_shape(k, "queue", "set", "bag")))
    params, place = "", ""

    def parameter(of: Type) -> str:
        nonlocal params
        name = scope.fresh("p")
        scope.values[name] = of
        params += f", {name}: {text_of(of)}"
        return name

    for piece in pieces:
        place += piece if isinstance(piece, str) else parameter(piece)
    match kind:
        case RecordT():
            line = _fed(scope, place, kind, parameter)
        case SetT(element):
            line = f"{place}.{world.pick(['add', 'discard', 'add'])}({parameter(element)})"
        case OptT(inner):
            line = f"{place} = {parameter(inner)}" if world.chance(70) else f"{place} = None"
        case _:
            assert isinstance(kind, BoolT | IntT | SortT | EnumT)
            line = f"{place} = {parameter(kind)}"
    guards = [guard(scope)] if world.chance(50) else []
    if is_shape(kind, "queue", "bag") and not world.risky():
        guards.append(f"require({_spare(line, place, kind)})")
    return ["", "", "@action(m)", f"def b{number}(s{params}):", *indented([*guards, line])]


def _fed(scope: Scope, place: str, kind: RecordT, parameter: Callable[[Type], str]) -> str:
    """A line that puts a parameter into a queue, bag or set, or takes something out."""
    if kind.shape == "queue" and scope.world.chance(40):
        return f"{place}.pop(0)"
    assert kind.element is not None
    method = "append" if kind.shape == "queue" else scope.world.pick(["add", "discard", "add"])
    return f"{place}.{method}({parameter(kind.element)})"


def _spare(line: str, place: str, kind: Type) -> str:
    """What has to hold so that the line cannot go wrong."""
    if ".pop" in line:
        return f"len({place}) > 0"
    if ".append" in line:
        return f"len({place}) < {room(kind)}"
    return f"{place}.count({line.rsplit('(', 1)[1][:-1]}) < {room(kind)}" if ".add" in line else "True"


def _init(world: World, number: int) -> Lines:
    world = replace(world, risk=0)
    scope = _scope(world)
    scope.guards = False
    params = _parameters(scope, 2)
    return ["", "", "@init", f"def i{number}(s{params}):", *indented(block(scope, 3))]


def _claim(world: World, number: int) -> Lines:
    scope = _scope(world)
    head = ["", "", '@invariant("")', f"def c{number}(s):"]
    if world.chance(30):
        return [*head, *indented(pure_helper(scope, BoolT()))]
    return [*head, f"    return {boolean(scope, 3)}"]


__all__ = ["condition", "models", "write"]
