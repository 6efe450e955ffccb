"""How a state is packed: every leaf of the state becomes a bit field that does not straddle a 64-bit word.

Leaves keep the order of declaration, so elements of an array have evenly spaced leaf numbers and a dynamic
index is arithmetic on leaf numbers (`Block` gives the spacing).  Raw numbers are unsigned:

| type | raw |
|---|---|
| Bool | 0, 1 |
| Int(lo, hi) | value - lo |
| sort, enumeration | position |
| Opt(T) | 0 for None, else raw of the value + 1 |
| Set(T) | bit mask over the values of T |
"""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.engine.evaluate import State
from kvproto.engine.program import Leaf
from kvproto.ir.types import (
    BoolT,
    EnumT,
    IntT,
    LeafT,
    OptT,
    Path,
    RecordT,
    ScalarT,
    SetT,
    SortT,
    Value,
    cardinality,
    leaves,
    scalars_of,
)


def position(value: bool | int | str, kind: ScalarT) -> int:
    """Raw number of a scalar."""
    match kind:
        case IntT():
            assert isinstance(value, int) and kind.lo is not None
            return value - kind.lo
        case EnumT():
            return kind.members.index(str(value))
        case _:
            return int(value)


def encode(value: Value, kind: LeafT) -> int:
    """Raw number of a leaf's value."""
    match kind:
        case OptT():
            return 0 if value is None else encode(value, kind.inner) + 1
        case SetT():
            assert isinstance(value, frozenset)
            return sum(1 << position(item, kind.element) for item in value)
        case _:
            assert value is not None and not isinstance(value, frozenset)
            return position(value, kind)


def decode(raw: int, kind: LeafT) -> Value:
    """Value of a raw number."""
    match kind:
        case OptT():
            return None if raw == 0 else decode(raw - 1, kind.inner)
        case SetT():
            return frozenset(v for at, v in enumerate(scalars_of(kind.element)) if raw >> at & 1)
        case BoolT():
            return bool(raw)
        case IntT():
            assert kind.lo is not None
            return raw + kind.lo
        case EnumT():
            return kind.members[raw]
        case SortT():
            return raw


@dataclass(frozen=True, slots=True)
class Layout:
    """Bit fields of all leaves of a state type."""

    paths: tuple[Path, ...]
    types: tuple[LeafT, ...]
    leaves: tuple[Leaf, ...]
    words: int

    @property
    def bits(self) -> int:
        """Bits that carry information."""
        return sum(leaf.bits for leaf in self.leaves)

    def pack(self, state: State) -> int:
        """The state as one integer, word w at bits 64*w and up."""
        packed = 0
        for value, kind, leaf in zip(state, self.types, self.leaves, strict=True):
            packed |= encode(value, kind) << (64 * leaf.word + leaf.shift)
        return packed

    def unpack(self, packed: int) -> State:
        """Inverse of `pack`."""
        return tuple(
            decode(packed >> (64 * leaf.word + leaf.shift) & ((1 << leaf.bits) - 1), kind)
            for kind, leaf in zip(self.types, self.leaves, strict=True)
        )


def plan(state: RecordT) -> Layout:
    """Pack leaves in order of declaration, each into the first word that has room, looking back a few words."""
    paths, kinds = zip(*leaves(state), strict=True)
    used: list[int] = []
    fields = []
    for kind in kinds:
        bits = max(1, (cardinality(kind) - 1).bit_length())
        word = next((w for w in range(max(0, len(used) - 2), len(used)) if used[w] + bits <= 64), len(used))
        if word == len(used):
            used.append(0)
        fields.append(Leaf(word, used[word], bits))
        used[word] += bits
    return Layout(tuple(paths), tuple(kinds), tuple(fields), len(used))
