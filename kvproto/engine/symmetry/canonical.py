"""The canonical form of a state: one representative of all states that differ in the names of elements.

The answer is always the given state with its elements renamed, whatever happens below; so a search of representatives
is sound even where this file decides badly.  That renamed states get the same answer is what makes it worth the while.

Elements of a keyed sort (see `tables`) are put in the order of their keys.  For the others:

1. *Refinement.*  Every element gets a colour, a 64-bit number, from what single leaves say about it.  What leaves say
   about several elements at once (`flying[r]` has p) mixes the colours of these elements into one another; repeated
   until no two elements of equal colour become different.
2. *Twins.*  Elements of equal colour whose exchange leaves the state as it is need no order.
3. *Trial.*  Otherwise one of a set of equals is given a colour of its own, in all ways, and each is refined further
   until nothing is left to decide; the smallest of the states that come out is taken.  Two ways that come out alike
   show a symmetry of the state: nothing else behind the second one needs to be tried, and of elements that such
   symmetries exchange one is enough (on the way to the first state, whose choices all of them leave alone).  After
   `MAX_TRIALS` states the smallest so far is taken: still a renamed state, but perhaps not that of all renamed states.

Colours are hashes: with a probability of about 2^-64 a pair two different elements look alike, which costs time in
step 3 and nothing else, except for sorts whose leaves are all about single elements, where step 2 takes the colours'
word and the answer may then depend on the names.

canon.h does the same in C, number for number: change both, and the tests that compare them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kvproto.engine.symmetry.tables import MAX_TRIALS, Group, Kind, Moved, Plan

WORD: Final = (1 << 64) - 1
GOLD: Final = 0x9E3779B97F4A7C15
SELF: Final = 0x6A09E667F3BCC909
"""The colour that an element sees where a leaf names it a second time."""
CHOSEN: Final = 0xBB67AE8584CAA73B

VALUE_PLACE: Final = 1 << 16
"""`Step.place` of an element that is a value."""

Fact = tuple[int, tuple[tuple[int, int], ...]]
"""Something that a state says: a number for what it is, and the elements that it is about, each with its place."""


def mix(x: int) -> int:
    """Spread a 64-bit number (splitmix64)."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


class Canonical:
    """Canonical forms of packed states, by the tables of one system and some of its sorts."""

    def __init__(self, tables: Plan) -> None:
        self.plan = tables
        self._places = [(64 * x.word + x.shift, (1 << x.bits) - 1) for x in self.plan.leaves]
        self._keep = (1 << 64 * self.plan.words) - 1
        for moved in self.plan.moved:
            shift, mask = self._places[moved.leaf]
            self._keep &= ~(mask << shift)
        self._shapes = [mix((number + 1) * GOLD & WORD) for number in range(self.plan.shapes)]
        self.groups = [group for group in self.plan.groups if not group.keyed]
        """The sorts that need refinement."""
        self._keyed = [_Keyed(group, self._places) for group in self.plan.groups if group.keyed]

    def of(self, packed: int) -> int:
        """The representative of the state."""
        for group in self._keyed:
            packed = group.ordered(packed)
        return _Ordering(self, packed).best() if self.groups else packed

    def raw(self, packed: int) -> list[int]:
        """The raw values of all leaves."""
        return [packed >> shift & mask for shift, mask in self._places]

    def renamed(self, packed: int, raw: Sequence[int], positions: Sequence[int]) -> int:
        """The state with every element moved to its position."""
        after = packed & self._keep
        for moved in self.plan.moved:
            target = moved.home
            for step in moved.steps:
                at = positions[step.element]
                target += step.stride << at if step.power else step.stride * at
            after |= self._value(moved, raw, positions) << self._places[target][0]
        return after

    def _value(self, moved: Moved, raw: Sequence[int], positions: Sequence[int]) -> int:
        """The renamed value of a leaf."""
        value = raw[moved.leaf]
        if moved.kind == Kind.PLAIN or empty(moved, raw):
            return value
        if moved.kind == Kind.ELEMENT:
            return value if value < moved.offset else positions[moved.base + value - moved.offset] + moved.offset
        return sum(1 << positions[moved.base + at] for at in range(moved.size) if value >> at & 1)

    def facts(self, raw: Sequence[int]) -> Iterator[Fact]:
        """What the state says about elements that are not keyed."""
        for moved in self.plan.moved:
            value, kind = raw[moved.leaf], self._shapes[moved.shape]
            members = tuple((step.element, step.place) for step in moved.steps)
            if moved.kind == Kind.PLAIN:
                if value:
                    yield mix((kind + value * GOLD) & WORD), members
            elif empty(moved, raw):
                continue
            elif moved.kind == Kind.ELEMENT:
                if value >= moved.offset:
                    yield kind, (*members, (moved.base + value - moved.offset, VALUE_PLACE))
            else:
                for at in range(moved.size):
                    if value >> at & 1:
                        yield kind, (*members, (moved.base + at, VALUE_PLACE))


class _Keyed:
    """A sort whose elements are put in the order of their keys."""

    def __init__(self, group: Group, places: Sequence[tuple[int, int]]) -> None:
        self._still = list(range(group.sort.size))
        self._columns = [
            (column.shift, (1 << column.bits) - 1, [64 * word + shift for word, shift in column.places])
            for column in group.columns
        ]
        self._mentions = [(*places[m.leaf], m.kind == Kind.SET, m.offset, 1 << m.shift) for m in group.mentions]
        self._keep = -1
        for _, mask, shifts in self._columns:
            for shift in shifts:
                self._keep &= ~(mask << shift)
        for shift, mask, *_ in self._mentions:
            self._keep &= ~(mask << shift)

    def ordered(self, packed: int) -> int:
        """The state with the elements of this sort in order."""
        keys = self._keys(packed)
        order = sorted(self._still, key=keys.__getitem__)
        if order == self._still:
            return packed
        positions = sorted(self._still, key=order.__getitem__)  # the inverse
        after = packed & self._keep
        for _, mask, shifts in self._columns:
            for shift, element in zip(shifts, order, strict=True):
                after |= (packed >> shifts[element] & mask) << shift
        for shift, mask, many, offset, _ in self._mentions:
            value = packed >> shift & mask
            if many:
                value = sum(1 << positions[at] for at in self._still if value >> at & 1)
            elif value >= offset:
                value = positions[value - offset] + offset
            after |= value << shift
        return after

    def _keys(self, packed: int) -> list[int]:
        keys = [0] * len(self._still)
        for key_shift, mask, shifts in self._columns:
            for at, shift in enumerate(shifts):
                keys[at] |= (packed >> shift & mask) << key_shift
        for shift, mask, many, offset, bit in self._mentions:
            value = packed >> shift & mask
            if many:
                for at in self._still:
                    keys[at] |= bit if value >> at & 1 else 0
            elif value >= offset:
                keys[value - offset] |= bit
        return keys


def empty(moved: Moved, raw: Sequence[int]) -> bool:
    """Whether a leaf is part of an empty slot of a queue."""
    return moved.length >= 0 and raw[moved.length] <= moved.slot


class _Ordering:
    """The search for the order of the elements of one state."""

    def __init__(self, canonical: Canonical, packed: int) -> None:
        self._canonical = canonical
        self._packed = packed
        self._raw = raw = canonical.raw(packed)
        self._groups = canonical.groups
        self._still = [at for group in canonical.plan.groups for at in range(group.sort.size)]
        mine = {e for g in self._groups for e in range(g.base, g.base + g.sort.size)}
        facts = [fact for fact in canonical.facts(raw) if fact[1][0][0] in mine]
        self._pairs = [fact for fact in facts if len(fact[1]) > 1]
        self._colours = [0] * canonical.plan.elements
        for kind, members in facts:
            if len(members) == 1:
                element, place = members[0]
                self._colours[element] += mix((kind + place * GOLD) & WORD)
        self._colours = [mix(colour & WORD) for colour in self._colours]
        self._twin = list(range(canonical.plan.elements))
        self._trials = 0
        self._tried: list[_Outcome] = []
        """The first state that came out, and the smallest."""
        self._orbit: list[int] = []
        """For each element one that twins and symmetries found so far exchange with it, or itself."""

    def best(self) -> int:
        """The smallest state that comes out."""
        colours = self._refined(self._colours)
        for group in self._groups:
            self._find_twins(group, self._order(group, colours), colours)
        self._orbit = list(self._twin)
        self._try(colours, ())
        return min(outcome.state for outcome in self._tried)

    def _order(self, group: Group, colours: Sequence[int]) -> list[int]:
        return sorted(range(group.base, group.base + group.sort.size), key=lambda e: colours[e])

    # --- refinement -----------------------------------------------------------------------------------

    def _refined(self, colours: list[int]) -> list[int]:
        """Colours that tell apart what the facts tell apart."""
        count = self._count(colours)
        while self._pairs and count < self._most():
            after = self._round(colours)
            finer = self._count(after)
            if finer == count:
                break
            colours, count = after, finer
        return colours

    def _most(self) -> int:
        return sum(group.sort.size for group in self._groups)

    def _count(self, colours: Sequence[int]) -> int:
        return sum(len(set(colours[g.base : g.base + g.sort.size])) for g in self._groups)

    def _round(self, colours: list[int]) -> list[int]:
        sums = [0] * len(colours)
        for kind, members in self._pairs:
            for element, place in members:
                others = 0
                for other, where in members:
                    if where != place or other != element:
                        seen = SELF if other == element else colours[other]
                        others += mix((seen + where * GOLD) & WORD)
                sums[element] += mix(((kind ^ others & WORD) + place * GOLD) & WORD)
        return [mix(colour ^ mix(total & WORD)) for colour, total in zip(colours, sums, strict=True)]

    # --- twins ----------------------------------------------------------------------------------------

    def _find_twins(self, group: Group, order: Sequence[int], colours: Sequence[int]) -> None:
        """Give elements of equal colour that can be exchanged the same number."""
        first = 0
        for at, element in enumerate(order):
            if colours[element] != colours[order[first]]:
                first = at
            for earlier in order[first:at]:
                if self._twin[earlier] == earlier and (group.single or self._exchange(group, earlier, element)):
                    self._twin[element] = earlier
                    break

    def _exchange(self, group: Group, one: int, other: int) -> bool:
        """Whether exchanging two elements leaves the state as it is."""
        positions = list(self._still)
        positions[one], positions[other] = other - group.base, one - group.base
        return self._canonical.renamed(self._packed, self._raw, positions) == self._packed

    # --- trial ----------------------------------------------------------------------------------------

    def _try(self, colours: list[int], chosen: tuple[int, ...]) -> int:
        """Decide what is left to decide.  Answers how many choices still stand: fewer than `chosen` to go back."""
        undecided = self._undecided(colours)
        if not undecided:
            return self._arrived(colours, chosen)
        alike = self._twin.__getitem__ if self._tried else self._root
        explored: list[int] = []
        for element in undecided:
            if alike(element) in map(alike, explored):
                continue
            explored.append(element)
            after = list(colours)
            after[element] = mix((after[element] + CHOSEN) & WORD)
            keep = self._try(self._refined(after), (*chosen, element))
            if keep < len(chosen):
                return keep
        return len(chosen)

    def _undecided(self, colours: Sequence[int]) -> list[int]:
        """The first elements of one colour, in the order of colours, that are not all twins; ordered by number."""
        for group in self._groups:
            order = self._order(group, colours)
            first = 0
            for at in range(1, len(order) + 1):
                if at == len(order) or colours[order[at]] != colours[order[first]]:
                    equals = sorted(order[first:at])
                    if len({self._twin[e] for e in equals}) > 1:
                        return equals
                    first = at
        return []

    def _arrived(self, colours: Sequence[int], chosen: tuple[int, ...]) -> int:
        """Note the state that comes out; what is known to be equivalent is left out by going back."""
        positions, order = list(self._still), list[int]()
        for group in self._groups:
            mine = self._order(group, colours)
            order += mine
            for at, element in enumerate(mine):
                positions[element] = at
        outcome = _Outcome(self._canonical.renamed(self._packed, self._raw, positions), chosen, order)
        self._trials += 1
        if not self._tried:
            self._tried = [outcome, outcome]
            return len(chosen)
        for known in self._tried:
            if outcome.state == known.state:
                self._exchanged(known.order, order)
                return next(at for at, (a, b) in enumerate(zip(known.chosen, chosen, strict=False)) if a != b)
        if outcome.state < self._tried[1].state:
            self._tried[1] = outcome
        return -1 if self._trials >= MAX_TRIALS else len(chosen)

    def _exchanged(self, one: Sequence[int], other: Sequence[int]) -> None:
        """Note a symmetry of the state: two orders of the elements in which it looks alike."""
        for a, b in zip(one, other, strict=True):
            self._orbit[self._root(a)] = self._root(b)

    def _root(self, element: int) -> int:
        while self._orbit[element] != element:
            element = self._orbit[element]
        return element


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A state that came out, the choices that led there, and the order of the elements."""

    state: int
    chosen: tuple[int, ...]
    order: list[int]
