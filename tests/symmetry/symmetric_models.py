"""Random models whose sorts are mostly used symmetrically, with what might break that: loops, faults, order, names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

Integers = Callable[[int, int], int]
Lines = list[str]

HEAD = """\
from enum import Enum

from kvproto.lang import Array, Bag, Bool, Int, Machine, Model, Opt, Params, Queue, Record, Set, Sort
from kvproto.lang import action, init, invariant, require


class E(Enum):
    P = 0
    Q = 1
    R = 2
"""

SIMPLE = ("Bool", "E", "Int(0, 2)")


@dataclass
class Scope:
    """What can be named at one point of a function."""

    draw: Integers
    sorts: list[str]
    fields: dict[str, str]
    risk: int
    order: int
    elements: dict[str, str] = field(default_factory=dict)
    numbers: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    counter: list[int] = field(default_factory=lambda: [0])
    loops: int = 0

    def inner(self, name: str = "", sort: str = "") -> Scope:
        """The scope of a block or of a comprehension over a sort."""
        elements = {**self.elements, name: sort} if name else dict(self.elements)
        return replace(self, elements=elements, numbers=list(self.numbers), flags=list(self.flags))

    def chance(self, percent: int) -> bool:
        """True in that many cases of a hundred."""
        return self.draw(0, 99) < percent

    def risky(self) -> bool:
        """Whether something may fail here."""
        return self.chance(self.risk)

    def unruly(self) -> bool:
        """Whether elements may be told apart here."""
        return self.chance(self.order)

    def pick(self, items: list[str]) -> str:
        """One of the items."""
        return items[self.draw(0, len(items) - 1)]

    def fresh(self, stem: str) -> str:
        """A new name."""
        self.counter[0] += 1
        return f"{stem}{self.counter[0]}"

    # --- places and elements ----------------------------------------------------------------------------

    def element(self, sort: str) -> str | None:
        """An element of a sort."""
        ways = [name for name, kind in self.elements.items() if kind == sort]
        ways += self.places(sort, 1)
        if self.risky():
            ways += self.places(f"Opt({sort})", 1)
        if self.unruly():
            ways += [f"next((z for z in {sort} if z != {name}), {name})" for name in ways[:1]]
            ways.append("0")
        return self.pick(ways) if ways else None

    def places(self, wanted: str, depth: int = 2) -> list[str]:
        """Places of the state that hold a type."""
        found = []
        for name, kind in self.fields.items():
            place, inner = f"s.{name}", kind
            while inner != wanted and inner.startswith("Array(") and depth > 0:
                index, inner = inner[6:-1].split(", ", 1)
                names = [n for n, k in self.elements.items() if k == index]
                if self.unruly():
                    names += ["0", f"next(z for z in {index})"][:1]
                if not names:
                    inner = "nothing"
                    break
                place += f"[{self.pick(names)}]"
            if inner == wanted and place != "s":
                found.append(place)
        return found

    # --- expressions ------------------------------------------------------------------------------------

    def truth(self, depth: int) -> str:
        """A condition."""
        ways: list[Callable[[], str | None]] = [self._compared, self._compared, self._member, self._flag]
        if depth > 0:
            ways += [self._quantified(depth)] * 3
            ways += [
                lambda: f"({self.truth(depth - 1)} {self.pick(['and', 'or'])} {self.truth(depth - 1)})",
                lambda: f"(not {self.truth(depth - 1)})",
                lambda: f"{self.number(depth - 1)} {self.pick(['<', '==', '>='])} {self.number(depth - 1)}",
            ]
        for _ in range(6):
            found = ways[self.draw(0, len(ways) - 1)]()
            if found is not None:
                return found
        return f"{self.number(0)} < 2"

    def _compared(self) -> str | None:
        numbers = self.places("Int(0, 2)")
        if numbers and self.risky():
            return f"(2 // {self.pick(numbers)} == {self.draw(1, 2)})"
        sort = self.pick(self.sorts)
        optional, one, other = self.places(f"Opt({sort})"), self.element(sort), self.element(sort)
        if optional and self.chance(50):
            place = self.pick(optional)
            return f"({place} is None)" if one is None or self.chance(40) else f"({place} == {one})"
        if one is None or other is None or one == other or one.isdigit():
            return None
        if self.unruly() and not other.isdigit() and "next" not in one + other:
            return f"({one} < {other})"
        return f"({one} {self.pick(['==', '!='])} {other})"

    def _member(self) -> str | None:
        sort = self.pick(self.sorts)
        sets = [*self.places(f"Set({sort})"), *self.places(f"Queue({sort}, 2)"), *self.places(f"Bag({sort}, 2)")]
        sets += [name for name, kind in self.elements.items() if kind == f"Set({sort})"]
        one = self.element(sort)
        return None if not sets or one is None else f"({one} in {self.pick(sets)})"

    def _flag(self) -> str | None:
        ways = [*self.places("Bool"), *self.flags, *(f"({p} == E.{self.pick(['P', 'Q'])})" for p in self.places("E"))]
        return self.pick(ways) if ways else None

    def _quantified(self, depth: int) -> Callable[[], str]:
        def write() -> str:
            name, sort = self.fresh("x"), self.pick(self.sorts)
            inside = self.inner(name, sort)
            where = f" if {inside.truth(depth - 1)}" if self.chance(40) else ""
            return f"{self.pick(['any', 'all'])}({inside.truth(depth - 1)} for {name} in {sort}{where})"

        return write

    def number(self, depth: int) -> str:
        """A number."""
        ways = [*self.places("Int(0, 2)"), *self.numbers, "1", "2"]
        if self.risky():
            ways += [f"(2 // {place})" for place in self.places("Int(0, 2)")]
        if self.unruly():
            ways += [f"int({name})" for name in self.elements]
        if depth > 0:
            name, sort = self.fresh("x"), self.pick(self.sorts)
            inside = self.inner(name, sort)
            ways.append(f"sum({inside.truth(depth - 1)} for {name} in {sort})")
            ways.append(f"max(({inside.number(0)} for {name} in {sort} if {inside.truth(0)}), default=1)")
            kinds = [kind for k in self.sorts for kind in (f"Set({k})", f"Queue({k}, 2)", f"Bag({k}, 2)")]
            ways += [f"len({place})" for kind in kinds for place in self.places(kind)]
        return self.pick(ways)

    # --- statements -------------------------------------------------------------------------------------

    def block(self, size: int) -> Lines:
        """Some statements."""
        return [line for _ in range(self.draw(1, size)) for line in self.statement()]

    def statement(self) -> Lines:
        """One statement."""
        way = self.draw(0, 11)
        if self.loops and self.chance(15) and self.risky():
            return [self.pick([f"require({self.truth(1)})", f'assert {self.truth(1)}, "claim"'])]
        if way <= 3:
            return self.store()
        if way <= 5:
            return [f"if {self.truth(1)}:", *indented(self.inner().block(2))]
        if way <= 8 and self.loops < 2:
            return self.loop()
        if way == 9 and self.risky():
            return [f"require({self.truth(1)})"]
        if way == 10 and self.risky():
            return [f'assert {self.truth(1)}, "claim"']
        return self.local()

    def store(self) -> Lines:
        """Something new in the state."""
        sort = self.pick(self.sorts)
        one = self.element(sort)
        ways = [f"{p} = {self.truth(1)}" for p in self.places("Bool")]
        ways += [f"{p} = {self.pick(['True', 'False'])}" for p in self.places("Bool")]
        ways += [f"{p} = E.{self.pick(['P', 'Q', 'R'])}" for p in self.places("E")]
        ways += [f"{p} = min({self.number(1)}, 2)" for p in self.places("Int(0, 2)")]
        ways += [f"{p} = None" for p in self.places(f"Opt({sort})")]
        ways += [f"{p} {self.pick(['+=', '-='])} 1" for p in self.places("Int(0, 2)")] * (2 if self.risky() else 1)
        if one is not None:
            ways += [f"{p} = {one}" for p in [*self.places(f"Opt({sort})"), *self.places(sort)]]
            ways += [f"{p}.{self.pick(['add', 'discard'])}({one})" for p in self.places(f"Set({sort})")]
            ways += [f"{p}.append({one})" for p in self.places(f"Queue({sort}, 2)")]
            ways += [f"{p}.{self.pick(['add', 'discard'])}({one})" for p in self.places(f"Bag({sort}, 2)")]
        ways += [f"{p}.clear()" for p in self.places(f"Queue({sort}, 2)")]
        ways += [f"{self.fresh('x')} = {p}.pop(0)" for p in self.places(f"Queue({sort}, 2)")] * 2
        if not ways:
            return ["pass"]
        line = self.pick(ways)
        if line.endswith(".pop(0)"):
            self.elements[line.split(" ")[0]] = sort
            return [line] if self.risky() else [f"require(len({line.split(' = ')[1][:-7]}) > 0)", line]
        if "append" in line or ".add(" in line:
            place, item = line[:-1].split(".append(" if "append" in line else ".add(")
            if place in self.places(f"Bag({sort}, 2)") and not self.risky():
                return [f"if {place}.count({item}) < 2:", f"    {line}"]
            if "append" in line and not self.risky():
                return [f"if len({place}) < 2:", f"    {line}"]
        place, operator, *_ = [*line.split(" "), ""]
        if operator in ("+=", "-=") and not self.risky():
            return [f"if 0 < {place} < 2:", f"    {line}"]
        return [line]

    def local(self) -> Lines:
        """A local, or a new value for one."""
        name = self.pick(self.numbers) if self.numbers and self.chance(70) else ""
        if name:
            return [self.pick([f"{name} += 1", f"{name} += {self.number(0)}", f"{name} = {self.number(1)}"])]
        if self.flags and self.chance(60):
            name = self.pick(self.flags)
            return [self.pick([f"{name} = {name} or {self.truth(0)}", f"{name} = True", f"{name} = {self.truth(1)}"])]
        name, number = self.fresh("v"), self.chance(50)
        value = self.number(1) if number else self.truth(1)
        (self.numbers if number else self.flags).append(name)
        return [f"{name} = {value}"]

    def loop(self) -> Lines:
        """A loop over a sort, or over a set."""
        before = [] if self.chance(50) else self.local()
        name, sort = self.fresh("y"), self.pick(self.sorts)
        sets = [*self.places(f"Set({sort})"), *self.places(f"Queue({sort}, 2)"), *self.places(f"Bag({sort}, 2)")]
        over = self.pick(sets) if sets and self.chance(25) else sort
        inside = self.inner(name, sort)
        inside.loops += 1
        body = inside.block(2)
        if self.chance(50):
            body = [f"if {inside.truth(1)}:", *indented(body)]
        return [*before, f"for {name} in {over}:", *indented(body)]


def indented(lines: Lines) -> Lines:
    """One level deeper."""
    return [f"    {line}" for line in lines]


def write(draw: Integers, sizes: tuple[int, ...] = (2, 3)) -> str:
    """The text of a model chosen by `draw`."""
    sorts = ["A", "B"][: draw(1, 2)]
    fields = {f"f{at}": _field(draw, sorts) for at in range(draw(2, 4))}
    lines = [f'{sort} = Sort("{sort}", size={sizes[draw(0, len(sizes) - 1)]})' for sort in sorts]
    lines += ["", "", "class State(Record):", *(f"    {name}: {kind}" for name, kind in fields.items())]
    lines += ["", "", 'm = Machine("m", "")']
    risk, order = (0, 20, 50)[draw(0, 2)], (0, 0, 0, 0, 8)[draw(0, 4)]

    def scope() -> Scope:
        return Scope(draw, sorts, fields, risk, order)

    bare = [(name, kind) for name, kind in fields.items() if kind in sorts]
    if bare:
        params = ", ".join(f"p_{name}: {kind}" for name, kind in bare)
        lines += ["", "", "@init", f"def start(s, {params}):", *(f"    s.{name} = p_{name}" for name, _ in bare)]
    for number in range(draw(1, 3)):
        inside = scope()
        for at, sort in enumerate(sorts):
            inside.elements[f"p{at}"] = sort if inside.chance(85) else f"Set({sort})"
        params = "".join(f", {name}: {sort}" for name, sort in inside.elements.items())
        guard = [f"require({inside.truth(1)})"] if inside.chance(50) else []
        body = [*guard, *inside.store(), *inside.block(3)]
        lines += ["", "", "@action(m)", f"def a{number}(s{params}):", *indented(body)]
    for number in range(draw(0, 2)):
        lines += ["", "", f'@invariant("claim {number}")', f"def c{number}(s):", f"    return {scope().truth(3)}"]
    end = ""
    if draw(0, 1):
        lines += ["", "", "def quiet(s):", f"    return {scope().truth(2)}"]
        end = ", terminal=quiet"
    lines += ["", "", f'model = Model("random", "", state=State, parts=[__name__]{end})', ""]
    return HEAD + "\n".join(lines)


def _field(draw: Integers, sorts: list[str]) -> str:
    def sort() -> str:
        return sorts[draw(0, len(sorts) - 1)]

    def leaf() -> str:
        more = [f"Queue({sort()}, 2)", f"Bag({sort()}, 2)"][draw(0, 1)]
        return [*SIMPLE, f"Opt({sort()})", f"Opt({sort()})", f"Set({sort()})", more, sort()][draw(0, 7)]

    way = draw(0, 9)
    if way <= 2:
        return leaf()
    inside = leaf()
    while inside in sorts:
        inside = leaf()
    if way <= 8:
        return f"Array({sort()}, {inside})"
    return f"Array({sort()}, Array({sort()}, Bool))"
