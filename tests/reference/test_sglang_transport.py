"""The transfer engine: one-sided, late, never recalled; calls that return before their writes."""

from __future__ import annotations

import pytest

from kvproto.reference.array import namespace
from kvproto.reference.attention import characters, encode
from kvproto.reference.pages import Image, Memory
from kvproto.reference.refusal import Refused
from kvproto.reference.sglang.memory import Allocator
from kvproto.reference.sglang.transport import Engine, Write

pytestmark = pytest.mark.usefixtures("on_each_backend")

ARRAYS = namespace("numpy")
OLD, NEW = "what was there  ", "what came later "


def image(text: str) -> Image:
    return Image(*encode(ARRAYS, text, 0), tag=1)


class Wired:
    """One rank a side with two pages; room 1 has source page 0, and posts it to target page 1."""

    def __init__(self) -> None:
        self.source, self.target = Memory(2, ARRAYS), Memory(2, ARRAYS)
        self.owners = Allocator("target", 2)
        self.engine = Engine([self.source], {(0, 0): self.target}, [self.owners])
        self.source.write(0, image(OLD))
        self.engine.post(Write(0, 0, 1, 0, source=0, target=1))

    def read(self) -> str:
        return characters(ARRAYS, self.target.values[1])


def test_a_write_reads_its_source_when_it_lands() -> None:
    """Not when it is posted."""
    wired = Wired()
    wired.source.write(0, image(NEW))
    wired.engine.land(0, 0, 1, 0)

    assert NEW == wired.read()
    assert [] == wired.engine.writes


def test_a_landing_knows_whose_page_it_hit() -> None:
    """The page was given away meanwhile; memory does not ask."""
    wired = Wired()
    wired.owners.allocate(1, 2)
    wired.owners.release(1)
    wired.owners.allocate(2, 2)
    wired.engine.land(0, 0, 1, 0)

    assert [2] == [landing.owner for landing in wired.engine.landed]
    assert OLD == wired.read()


def test_a_call_that_gives_up_does_not_recall_its_writes() -> None:
    """They are no longer awaited, and land late or vanish."""
    wired = Wired()
    wired.engine.abandon(0, 1)

    assert [] == wired.engine.awaited(0, 1)
    with pytest.raises(Refused, match="no awaited write of page 0 of request A"):
        wired.engine.land(0, 0, 1, 0)
    wired.engine.land_late(0, 0, 1, 0)
    assert OLD == wired.read()
    with pytest.raises(Refused, match="no abandoned write"):
        wired.engine.vanish(0, 0, 1, 0)


def test_a_second_attempt_leaves_the_first_on_its_way() -> None:
    """The attempt that is awaited lands; the older one lands later and reads the source again."""
    wired = Wired()
    wired.engine.resubmit(0, 1)
    wired.engine.land(0, 0, 1, 0)
    wired.source.write(0, image(NEW))
    assert OLD == wired.read()

    wired.engine.land_late(0, 0, 1, 0)
    assert NEW == wired.read()


def test_attempts_that_nobody_waits_for_land_together() -> None:
    """Two attempts of one write, both abandoned, are one event."""
    wired = Wired()
    wired.engine.resubmit(0, 1)
    wired.engine.abandon(0, 1)
    wired.engine.land_late(0, 0, 1, 0)

    assert 2 == len(wired.engine.landed)
    assert [] == wired.engine.writes


def test_vanished_writes_never_land() -> None:
    """The page keeps its bytes."""
    wired = Wired()
    wired.engine.abandon(0, 1)
    wired.engine.vanish(0, 0, 1, 0)

    assert "·" * 16 == wired.read()
    assert [] == wired.engine.landed
