"""Pages that requests with a common beginning share: counted references, and a page is shared once it is written."""

from __future__ import annotations

from kvproto.reference.prompts import PAGE_SIZE, label
from kvproto.reference.refusal import Refused, expect


def prefix(text: str, position: int) -> str:
    """What decides a page's keys and values: the prompt from its beginning up to the page's end."""
    return text[: (position + 1) * PAGE_SIZE]


class SharedPages:
    """Numbers of pages, who refers to them, and which full pages can be found by their prefix.

    A page that is found this way is read by all and written by nobody.  It is free, and found no more, when the last
    request that refers to it lets it go.
    """

    def __init__(self, name: str, count: int) -> None:
        self._name = name
        self.references = [0] * count
        self.tables: dict[int, list[int]] = {}
        self._texts: dict[int, str] = {}
        self._written: set[int] = set()
        self._published: dict[str, int] = {}

    def free(self) -> list[int]:
        """Numbers of the pages that nobody refers to, lowest first."""
        return [page for page, count in enumerate(self.references) if count == 0]

    def begin(self, room: int, text: str) -> int:
        """Open a room's table with the published pages that its prompt begins with; says how many they are."""
        expect(room not in self.tables, f"{self._name}: request {label(room)} has pages")
        table: list[int] = []
        # Only full pages: the last one is padded, and its padding is no part of another prompt.
        for position in range(len(text) // PAGE_SIZE):
            page = self._published.get(prefix(text, position))
            if page is None:
                break
            table.append(page)
        for page in table:
            self.references[page] += 1
        self.tables[room], self._texts[room] = table, text
        return len(table)

    def extend(self, room: int, count: int) -> tuple[int, ...]:
        """Give a room so many pages of its own, lowest numbers first, at the end of its table."""
        free = self.free()
        if len(free) < count:
            raise Refused(f"{self._name}: {count} pages wanted, {len(free)} free")
        for page in free[:count]:
            self.references[page] = 1
            self._written.discard(page)
        self._table(room).extend(free[:count])
        return tuple(free[:count])

    def to_write(self, room: int, position: int) -> int:
        """The page of a position, to be written now; refused for a page that others may be reading."""
        page = self._table(room)[position]
        if page in self._published.values() or self.references[page] != 1:
            raise Refused(f"{self._name}: page {page} is shared, and nobody writes it")
        self._written.add(page)
        return page

    def publish(self, room: int, position: int) -> bool:
        """Let others find a page that has been written; says whether they can.

        A page that is not full, or whose prefix has been published meanwhile, stays the room's own.
        """
        page, text = self._table(room)[position], self._texts[room]
        expect(page in self._written, f"{self._name}: page {page} is not written yet")
        if (position + 1) * PAGE_SIZE > len(text):
            return False
        return self._published.setdefault(prefix(text, position), page) == page

    def release(self, room: int) -> tuple[int, ...]:
        """A room lets its pages go; says which of them are free now."""
        freed = []
        for page in self._table(room):
            self.references[page] -= 1
            if self.references[page] == 0:
                freed.append(page)
        del self.tables[room], self._texts[room]
        self._published = {key: page for key, page in self._published.items() if page not in freed}
        return tuple(freed)

    def _table(self, room: int) -> list[int]:
        expect(room in self.tables, f"{self._name}: request {label(room)} has no pages")
        return self.tables[room]
