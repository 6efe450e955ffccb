"""Two memories and a transport between them, and what the tests ask of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kvproto.diagnostics import KvError
from kvproto.reference.array import namespace
from kvproto.reference.attention import characters, encode
from kvproto.reference.pages import Image, Memory
from kvproto.transports import Move, Transport
from kvproto.transports.registry import make

ARRAYS = namespace("numpy")
BLANK = "·" * 16
MOONCAKE = ("mooncake", "mooncake-wire")


class Pages:
    """A transport between a source whose pages spell aaa.., bbb.., ccc.. and a target that is blank."""

    def __init__(self, transport: Transport, xp: str = "numpy") -> None:
        self.transport = transport
        self.source, self.target = Memory(3, namespace(xp)), Memory(3, namespace(xp))
        for page, letter in enumerate("abc"):
            fill(self.source, page, letter, tag=page + 1)
        transport.open({"source": self.source, "target": self.target})

    def post(self, *pages: int) -> tuple[int, ...]:
        """One call that moves these pages to the same numbers."""
        return self.transport.post([Move(f"page {page}", "source", page, "target", page) for page in pages])

    def read(self, page: int) -> str:
        """The text that the values of a target page spell."""
        return characters(self.target.arrays, self.target.values[page])

    @property
    def events(self) -> list[str]:
        """The log without what real engines add of their own."""
        return [line for line in self.transport.log if "held before" not in line]


def fill(memory: Memory, page: int, letter: str, tag: int) -> None:
    """Let a page spell one letter."""
    keys, values = encode(memory.arrays, letter * 16, page)
    memory.write(page, Image(keys, values, tag))


@contextmanager
def pages(name: str, *, early_success: bool = False) -> Iterator[Pages]:
    """A transport by name, closed at the end; skips, with the reason, where it cannot run."""
    transport = make(name, early_success=early_success)
    try:
        if name == "streams":
            pytest.importorskip("torch")
        yield Pages(transport, "torch" if name == "streams" else "numpy")
    except KvError as error:
        if error.diagnostic.code != "KV052":
            raise
        pytest.skip(f"{error.diagnostic.message}: {error.diagnostic.reason}")
    finally:
        transport.close()
