"""A network of one's own, where the kernel allows it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from kvproto.transports import isolation
from kvproto.transports.isolation import NEW_NETWORK, NEW_USER, isolate

if TYPE_CHECKING:
    import pytest

CHILD = """
import os, socket
from kvproto.transports.isolation import isolate
before = os.readlink("/proc/self/ns/net")
moved = isolate()
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname(), 10)
print(moved, moved == (before != os.readlink("/proc/self/ns/net")))
"""


class Library:
    """A C library that notes what it is asked for, and does nothing."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.asked: list[int] = []
        self.returned = 0

    def unshare(self, flags: int) -> int:
        self.asked.append(flags)
        return self.answers.pop(0)

    def setns(self, descriptor: int, kind: int) -> int:
        assert os.readlink(f"/proc/self/fd/{descriptor}") == os.readlink("/proc/self/ns/net")
        assert kind == NEW_NETWORK
        self.returned += 1
        return 0


def install(monkeypatch: pytest.MonkeyPatch, library: Library, *loopback: bool) -> None:
    """Put the library in place, and what switching on loopback gives, time after time."""
    answers = list(loopback)
    monkeypatch.setattr(isolation.ctypes, "CDLL", lambda *_, **__: library)
    monkeypatch.setattr(isolation, "_loopback_works", lambda: answers.pop(0))


def test_loopback_works_whether_it_was_possible_or_not() -> None:
    """In a process of its own, which stays there."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, check=True, timeout=60, env=environment
    )

    assert done.stdout in ("True True\n", "False True\n")


def test_users_have_namespaces_where_root_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second way is tried after the first; if neither is allowed nothing has changed."""
    library = Library(-1, 0)
    install(monkeypatch, library, True)
    assert isolate()
    assert [NEW_NETWORK, NEW_USER | NEW_NETWORK] == library.asked

    refused = Library(-1, -1)
    install(monkeypatch, refused)
    assert not isolate()
    assert 0 == refused.returned


def test_a_network_without_loopback_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may allow the namespace and forbid to set it up."""
    library = Library(0, 0)
    install(monkeypatch, library, False, True)
    assert isolate()
    assert 1 == library.returned

    hopeless = Library(0, -1)
    install(monkeypatch, hopeless, False)
    assert not isolate()
    assert 1 == hopeless.returned
