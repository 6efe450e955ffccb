"""Paged KV memory, and a pool: memory, a free list, and owners.  Freed pages keep their bytes unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvproto.reference.array import Arrays, Tensor
from kvproto.reference.attention import DIM, HEADS
from kvproto.reference.prompts import PAGE_SIZE
from kvproto.reference.refusal import Refused


@dataclass(frozen=True, slots=True)
class Image:
    """The bytes of one page: `keys` and `values` [PAGE_SIZE, HEADS, DIM] and the tag stored beside them."""

    keys: Tensor
    values: Tensor
    tag: int


class Memory:
    """`pages` pages of KV memory, which knows nothing of owners.

    `keys` and `values` are [pages, PAGE_SIZE, HEADS, DIM]; `tags` [pages] lies beside them and is part of what a
    write replaces.
    """

    def __init__(self, pages: int, arrays: Arrays) -> None:
        self.pages = pages
        self.arrays = arrays
        self.keys = arrays.zeros(pages, PAGE_SIZE, HEADS, DIM)
        self.values = arrays.zeros(pages, PAGE_SIZE, HEADS, DIM)
        self.tags = arrays.integers(pages)

    def clear(self, page: int) -> None:
        """Overwrite a page and its tag with zeros."""
        self.keys[page] = 0
        self.values[page] = 0
        self.tags[page] = 0

    def read(self, page: int) -> Image:
        """A copy of a page's bytes as they are now."""
        keys, values = self.arrays.take(self.keys, [page])[0], self.arrays.take(self.values, [page])[0]
        return Image(keys, values, int(self.tags[page]))

    def write(self, page: int, image: Image) -> None:
        """Replace a page's bytes, whoever owns the page: memory does not ask."""
        self.keys[page] = image.keys
        self.values[page] = image.values
        self.tags[page] = image.tag

    def mark(self, page: int, word: float) -> None:
        """Put a word into every key of a page's last token; whoever writes the page replaces it."""
        self.keys[page, -1:] = word

    def marked(self, page: int, word: float) -> bool:
        """Whether the word still stands there."""
        return set(self.arrays.numbers(self.keys[page, -1:])) == {word}

    def digest(self, pages: Sequence[int]) -> bytes:
        """Digest of the keys and values of these pages, in this order."""
        return self.arrays.digest(self.keys, self.values, pages)


class Pool(Memory):
    """Memory with an allocator, whose notes `owners` and `generations` travel nowhere."""

    def __init__(self, name: str, pages: int, arrays: Arrays, *, zero_on_release: bool = False) -> None:
        super().__init__(pages, arrays)
        self.name = name
        self.zero_on_release = zero_on_release
        self.owners: list[int | None] = [None] * pages
        self.generations = [0] * pages

    def free_pages(self) -> list[int]:
        """Numbers of the free pages, lowest first."""
        return [page for page, owner in enumerate(self.owners) if owner is None]

    def allocate(self, room: int, count: int) -> tuple[int, ...]:
        """Give a room `count` pages, lowest numbers first; their bytes stay what they are."""
        free = self.free_pages()
        if len(free) < count:
            raise Refused(f"{self.name} pool: {count} pages wanted, {len(free)} free")
        chosen = tuple(free[:count])
        for page in chosen:
            self.owners[page] = room
            self.generations[page] += 1
        return chosen

    def free(self, room: int) -> None:
        """Take back every page that the room owns."""
        for page, owner in enumerate(self.owners):
            if owner == room:
                self.owners[page] = None
                if self.zero_on_release:
                    self.clear(page)
