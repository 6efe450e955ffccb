"""Real NIXL agents.  Skipped where there are none: its packages want CUDA's, so it is no extra of ours.

Another environment that has it is named by KVPROTO_NIXL_PYTHON.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from transport_pages import BLANK, Pages, fill, pages

from kvproto.diagnostics import KvError
from kvproto.replay import replay
from kvproto.trace import codec
from kvproto.transports import Scripted, Told
from kvproto.transports.nixl import Nixl

TRACES = Path(__file__).parents[2] / "traces"


@pytest.fixture
def moved() -> Iterator[Pages]:
    """A sending agent, and memories that it and its receivers share."""
    with pages("nixl") as made:
        yield made


def test_a_released_transfer_lands_and_nobody_is_told(moved: Pages) -> None:
    """Giving the handle back is no abort: the page is somebody else's by then, and is overwritten."""
    late, plain = moved.post(0, 1)
    moved.transport.cancel(late)
    fill(moved.target, 0, "z", tag=9)
    moved.transport.land(plain)
    moved.transport.acknowledge(plain)
    assert ["z" * 16, "b" * 16] == [moved.read(0), moved.read(1)]

    moved.transport.land(late)
    assert "a" * 16 == moved.read(0)
    assert [False, True] == [moved.transport.notified(write) for write in (late, plain)]
    assert [
        "page 0: posted",
        "page 1: posted",
        "page 0: the engine says PROC",
        "page 1: the engine says PROC",
        "page 0: cancel asked: the handle is released",
        "page 1: landed",
        "page 1: receiver told",
        "page 1: sender told: success",
        "page 0: landed",
        "page 0: receiver not told",
    ] == moved.transport.log


def test_success_is_never_early(moved: Pages) -> None:
    """Unlike others the engine reports what has been applied."""
    (write,) = moved.post(2)

    with pytest.raises(ValueError, match="says PROC: it does not report success early"):
        moved.transport.acknowledge(write)
    assert Told.NOTHING is moved.transport.told(write)
    assert BLANK == moved.read(2)


def test_a_page_is_not_torn(moved: Pages) -> None:
    """A transfer is let through as a whole."""
    (write,) = moved.post(0)

    with pytest.raises(ValueError, match="NIXL moves whole pages"):
        moved.transport.land(write, 100)


@pytest.mark.parametrize(
    "name", ["outline-0.5.19-writes_spare_other_requests", "sglang-incident-reads_no_foreign_data"]
)
@pytest.mark.usefixtures("moved")
def test_traces_on_the_real_engine(name: str) -> None:
    """The page store is the model's after every step."""
    trace = codec.read(str(TRACES / f"{name}.trace.json"))
    mover = Nixl()
    try:
        real = replay(trace, mover=mover)
    finally:
        mover.close()

    assert real.agrees, real.divergence
    assert replay(trace, mover=Scripted()) == real


def test_a_machine_without_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error says how to install it, and where."""
    (tmp_path / "nixl.py").write_text("raise ImportError('No module named nixl')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("KVPROTO_NIXL_PYTHON", raising=False)

    with pytest.raises(KvError) as caught:
        Pages(Nixl())
    assert "KV052" == caught.value.diagnostic.code
    assert "pip install --no-deps nixl-cu12==1.5.1 nixl==1.5.1" in caught.value.diagnostic.cure
    assert "KVPROTO_NIXL_PYTHON" in caught.value.diagnostic.cure


def test_a_python_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable names no program."""
    monkeypatch.setenv("KVPROTO_NIXL_PYTHON", "/nowhere/python")

    with pytest.raises(KvError, match=r"KV053.*it cannot be started"):
        Pages(Nixl())
