"""Recognising whose text a page holds, from the text alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kvproto.reference import prompts
from kvproto.reference.array import Arrays, Tensor
from kvproto.reference.attention import BLANK, BYTE, ILLEGIBLE, bits, characters
from kvproto.reference.pages import Memory
from kvproto.replay.result import CanaryFound, ClientView

UNKNOWN = "?"
"""Stands for a writer where a page holds text that no client's prompt contains."""

_PAGE = re.compile(r"\[([A-H]):([a-z]{4}) page (\d{1,2})\]")


def writer(text: str) -> tuple[str, int] | None:
    """The client whose page this is, and its number in that client's prompt; None for a page never written.

    A page that is neither blank nor, to the last token, a page of a prompt has the writer `UNKNOWN`.
    """
    if not text.strip(BLANK):
        return None
    found = _PAGE.match(text)
    if found is not None:
        room = prompts.LABELS.index(found[1]) + 1
        if text == prompts.page_text(room, int(found[3])):
            return found[1], int(found[3])
    if text[0] in prompts.STUBS and not text[1:].strip(prompts.PAD):
        return prompts.LABELS[prompts.STUBS.index(text[0])], 0
    return UNKNOWN, 0


def foreign(reader: str, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Whose pages, other than the reader's own, occur in texts: writer -> sorted page numbers."""
    found: dict[str, set[int]] = {}
    for text in texts:
        for page in prompts.split(text):
            seen = writer(page)
            if seen is not None and seen[0] != reader:
                found.setdefault(seen[0], set()).add(seen[1])
    return {name: tuple(sorted(pages)) for name, pages in sorted(found.items())}


def canaries(answers: Mapping[str, ClientView]) -> tuple[CanaryFound, ...]:
    """Every client's text that decode read for somebody else."""
    return tuple(
        CanaryFound(reader, writer, pages, view.delivered)
        for reader, view in answers.items()
        for writer, pages in foreign(reader, view.read).items()
    )


class Reader:
    """Reads the pages of a memory as text, from keys and values; remembers texts by bytes, as pages change seldom."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._known: dict[bytes, str] = {}

    def texts(self, memory: Memory) -> tuple[str, ...]:
        """The text of every page.  A token whose key does not say its place in the page is illegible."""
        # Two transfers from the device for all pages, and a third only for a page that was not seen before.
        raws = zip(self._arrays.rows(memory.keys), self._arrays.rows(memory.values), strict=True)
        return tuple(
            self._known.get(keys + values) or self.text(memory.keys[page], memory.values[page])
            for page, (keys, values) in enumerate(raws)
        )

    def text(self, keys: Tensor, values: Tensor) -> str:
        """The text of one page."""
        raw = self._arrays.to_bytes(keys) + self._arrays.to_bytes(values)
        if raw not in self._known:
            spelled = characters(self._arrays, values)
            placed = self._in_place(keys)
            self._known[raw] = "".join(
                char if char == BLANK or placed[at] else ILLEGIBLE for at, char in enumerate(spelled)
            )
        return self._known[raw]

    def _in_place(self, keys: Tensor) -> list[bool]:
        """Whether the key of each token says, in every head, where in the page the token stands."""
        flat, (tokens, heads, dim) = self._arrays.numbers(keys), keys.shape
        expected = [bits(at) for at in range(tokens)]
        return [
            all(
                flat[start : start + BYTE] == expected[at]
                for start in range(at * heads * dim, (at + 1) * heads * dim, dim)
            )
            for at in range(tokens)
        ]
