"""Truth rows: which atoms of a template hold, for every state of the seeds and every choice of the variables.

A clause holds in all seeds exactly if no row makes all of its literals false, so rows that are equal count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kvproto.prove.logic.formula import INT, Apply, Atom, Compare, Formula, Num, Plus, Same, Symbol, Term, Times, Var
from kvproto.prove.logic.theory import Structure
from kvproto.prove.mining.template import Template

Bits = NDArray[np.bool_]
Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]
_Cell = TypeVar("_Cell", bound=np.generic)

_CHUNK = 200_000
"""Rows that are in memory at one time, unpacked."""


def rows(template: Template, structures: Sequence[Structure]) -> Bits:
    """Different rows over all structures, one column an atom, in a fixed order."""
    found: Words | None = None
    for block in _blocks(template, structures):
        codes = _distinct(_codes(template, block))
        found = codes if found is None else _distinct(np.concatenate((found, codes)))
    if found is None:
        return np.zeros((0, len(template.atoms)), dtype=np.bool_)
    columns = np.arange(len(template.atoms))
    shifted = found[:, columns // 64] >> (columns % 64).astype(np.uint64)
    return (shifted & np.uint64(1)).astype(np.bool_)


def distinct_rows(truth: Bits) -> Bits:
    """Rows once each, in a fixed order."""
    if not len(truth):
        return truth
    packed = np.packbits(truth, axis=1)
    words = np.zeros((len(truth), (packed.shape[1] + 7) // 8 * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    first = np.unique(words.view(np.uint64), axis=0, return_index=True)[1]
    return truth[first]


def falsified(truth: Bits, clauses: Iterable[Sequence[int]]) -> list[bool]:
    """Which clauses some row makes false."""
    return [_some_row_fails(truth, clause) for clause in clauses]


def _some_row_fails(truth: Bits, clause: Sequence[int]) -> bool:
    failing = np.ones(len(truth), dtype=np.bool_)
    for literal in clause:
        column = truth[:, literal // 2]
        failing &= column if literal % 2 else ~column
    return bool(failing.any())


def _blocks(template: Template, structures: Sequence[Structure]) -> Iterator[list[Structure]]:
    """Structures of one size, so many as fill a chunk."""
    ordered = sorted(range(len(structures)), key=lambda n: (_size(structures[n]), n))
    for size, numbers in groupby(ordered, key=lambda n: _size(structures[n])):
        block = [structures[n] for n in numbers]
        extents = dict(size)
        each = int(np.prod([extents[var.sort] for var in template.vars], dtype=np.int64)) if template.vars else 1
        width = max(1, _CHUNK // max(1, each))
        for start in range(0, len(block), width):
            yield block[start : start + width]


def _size(structure: Structure) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(structure.sizes.items()))


def _codes(template: Template, block: Sequence[Structure]) -> Words:
    """Rows of a block with 64 atoms in a word."""
    table = Tables(block, template.vars)
    words = np.zeros((table.rows, (len(template.atoms) + 63) // 64), dtype=np.uint64)
    for number, atom in enumerate(template.atoms):
        words[:, number // 64] |= table.truth(atom).reshape(-1).astype(np.uint64) << np.uint64(number % 64)
    return words


def _distinct(codes: Words) -> Words:
    """Rows once each, in order."""
    if codes.shape[1] == 1:
        return np.unique(codes[:, 0]).reshape(-1, 1)
    return np.unique(codes, axis=0)


class Tables:
    """Structures of one size as arrays, and atoms looked up for every structure and choice at once."""

    def __init__(self, block: Sequence[Structure], variables: Sequence[Var]):
        self.block = block
        self.sizes = block[0].sizes
        extents = [self.sizes[var.sort] for var in variables]
        grid = np.indices(extents).reshape(len(extents), -1) if extents else np.zeros((0, 1), dtype=np.int64)
        self.choice: Mapping[Var, Numbers] = dict(zip(variables, grid, strict=True))
        self.rows = len(block) * grid.shape[1]
        self.shape = (len(block), grid.shape[1])
        self._relations: dict[str, Bits] = {}
        self._integers: dict[str, Numbers] = {}

    def truth(self, atom: Formula) -> Bits:
        """Structures by choices: whether the atom holds."""
        match atom:
            case Atom():
                return np.broadcast_to(self._looked_up(self._relation(atom.symbol), atom.args), self.shape)
            case Same():
                return np.broadcast_to(self.choice[atom.left] == self.choice[atom.right], self.shape)
            case Compare():
                left, right = self.integer(atom.left), self.integer(atom.right)
                found = left <= right if atom.op == "<=" else left < right if atom.op == "<" else left == right
                return np.broadcast_to(found, self.shape)
            case _:
                raise TypeError(f"{atom} is no atom")

    def integer(self, term: Term) -> Numbers:
        """Structures by choices: what the term denotes."""
        match term:
            case Num():
                return np.full((1, 1), term.value, dtype=np.int64)
            case Apply():
                return self._looked_up(self._integer(term.symbol), term.args)
            case Plus():
                return self.integer(term.left) + self.integer(term.right)
            case Times():
                return term.factor * self.integer(term.term)
            case _:
                raise TypeError(f"{term} is no term of a template")

    def _looked_up(self, table: NDArray[_Cell], args: tuple[Var, ...]) -> NDArray[_Cell]:
        if not args:
            return table.reshape(-1, 1)
        where: tuple[slice | Numbers, ...] = (slice(None), *(self.choice[var] for var in args))
        return table[where]

    def _relation(self, symbol: Symbol) -> Bits:
        if symbol.name not in self._relations:
            table = np.zeros((len(self.block), *(self.sizes[sort] for sort in symbol.args)), dtype=np.bool_)
            for number, structure in enumerate(self.block):
                for cell in structure.relations[symbol.name]:
                    table[(number, *cell)] = True
            self._relations[symbol.name] = table
        return self._relations[symbol.name]

    def _integer(self, symbol: Symbol) -> Numbers:
        assert symbol.result == INT
        if symbol.name not in self._integers:
            table = np.zeros((len(self.block), *(self.sizes[sort] for sort in symbol.args)), dtype=np.int64)
            for number, structure in enumerate(self.block):
                for cell, amount in structure.integers[symbol.name].items():
                    table[(number, *cell)] = amount
            self._integers[symbol.name] = table
        return self._integers[symbol.name]
