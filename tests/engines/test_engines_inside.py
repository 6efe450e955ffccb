"""Parts of the harness that need no engine: threads that stop, writes by page, passes over part of a queue."""

from __future__ import annotations

import ctypes
import types
from typing import Any

import pytest

from kvproto.engines.inside import seams
from kvproto.engines.inside.baton import Baton
from kvproto.engines.inside.clock import Clock
from kvproto.engines.inside.landing import Landing, Region, copy
from kvproto.engines.inside.pair import only
from kvproto.engines.inside.stubs import ROOTS, Anything, Finder

FIRST = 1 << 20
PAGE = 64


def test_baton_runs_up_to_the_next_stop() -> None:
    seen: list[str] = []

    def body() -> None:
        seen.append("a")
        baton.park("one")
        seen.append("b")
        baton.park("two")
        seen.append("c")

    baton = Baton("loop", body)
    assert (baton.place, seen) == ("", [])
    assert (baton.go(), seen) == ("one", ["a"])
    assert (baton.go(), seen) == ("two", ["a", "b"])
    assert (baton.go(), seen) == ("", ["a", "b", "c"])


def test_baton_tells_what_ended_it() -> None:
    def body() -> None:
        baton.park("one")
        raise RuntimeError("dead")

    baton = Baton("loop", body)
    baton.go()
    with pytest.raises(RuntimeError, match="dead"):
        baton.go()
    assert isinstance(baton.dead, RuntimeError)


def test_baton_closes_through_a_loop_that_catches_exceptions() -> None:
    def body() -> None:
        while True:
            try:
                baton.park("here")
            except Exception:
                continue

    baton = Baton("loop", body)
    baton.go()
    baton.close()
    assert not baton._thread.is_alive()


def test_clock_goes_ahead_for_one_step() -> None:
    clock = Clock()
    before = clock.time()
    with clock.ahead(30):
        assert clock.monotonic() == before + 30
    clock.sleep(5)
    assert clock.time() == before


def posted(blocks: list[tuple[int, int, int]], first: int = 0) -> Landing:
    """A call on pages, as far as its writes being posted."""
    wires = seams.restart()
    landing = Landing("prefill")
    landing.regions = [Region(FIRST, PAGE, 8), Region(2 * FIRST, PAGE, 8)]
    landing.chunk = lambda: types.SimpleNamespace(room=3, index_slice=slice(first, None))
    baton = Baton("worker", lambda: landing.batch_transfer_sync("s", *map(list, zip(*blocks, strict=True))))
    wires.batons.append(baton)
    assert baton.go() == "posting"
    assert landing.writes == []
    assert baton.go() == "calling"
    return landing


def test_call_is_taken_apart_into_pages() -> None:
    """Blocks of several pages, keys and values: the i-th page of either belongs to the i-th position."""
    keys = [(100, FIRST + 2 * PAGE, 2 * PAGE), (900, FIRST + 5 * PAGE, PAGE)]
    values = [(5100, 2 * FIRST + 2 * PAGE, 2 * PAGE), (5900, 2 * FIRST + 5 * PAGE, PAGE)]
    landing = posted([*keys, *values], first=1)

    assert [(write.position, write.target) for write in landing.of(3, awaited=True)] == [(1, 2), (2, 3), (3, 5)]
    assert landing.writes[1].pieces == [
        (100 + PAGE, FIRST + 3 * PAGE, PAGE),
        (5100 + PAGE, 2 * FIRST + 3 * PAGE, PAGE),
    ]
    assert landing.of(3, awaited=False) == []


def test_copy_moves_bytes() -> None:
    source, target = ctypes.create_string_buffer(b"abcd"), ctypes.create_string_buffer(4)
    copy((ctypes.addressof(source) + 1, ctypes.addressof(target), 2))
    assert target.raw == b"bc\0\0"


def test_pass_over_part_of_a_queue() -> None:
    """Those kept out stay where they were; what the pass takes out is out, what it appends comes last."""
    owner = types.SimpleNamespace(queue=["a", "b", "c", "d"])
    aside: list[Any] = []
    with only(owner, "queue", lambda entry: entry in "bd", aside):
        assert owner.queue == ["b", "d"]
        owner.queue = ["d", "new"]

    assert owner.queue == ["a", "c", "d", "new"]
    assert aside == ["a", "c"]


def test_stand_ins_answer_for_the_listed_roots_only() -> None:
    finder = Finder()
    assert all(finder.find_spec(root, None) is not None for root in ROOTS)
    assert finder.find_spec("triton.language.core", None) is not None
    assert finder.find_spec("torch", None) is None and finder.find_spec("tritonish", None) is None


def test_stand_ins_bear_what_modules_do_at_import() -> None:
    finder = Finder()
    spec = finder.find_spec("gguf", None)
    assert spec is not None
    module: Any = finder.create_module(spec)

    class Sub(module.Base):  # type: ignore[misc]
        pass

    assert isinstance(Sub(1, two=3), module.Base)
    assert module.jit(posted) is posted
    assert list(module.things) == [] and isinstance(module.a.b["c"] | 1, Anything)
    with pytest.raises(AttributeError):
        module.__wrapped__  # noqa: B018
