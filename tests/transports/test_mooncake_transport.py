"""Real engines: what holds for them alone, and what is left of them afterwards."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from transport_pages import BLANK, Pages, fill, pages

from kvproto.diagnostics import KvError
from kvproto.transports import Scripted, Told, mooncake, mooncake_wire, verdict
from kvproto.transports.mooncake import Mooncake

_of_others: set[int] = set()
"""Processes that tests before this one have started, such as Python's own tracker of shared memory."""


def running() -> set[int]:
    """Processes that this one has started and that are not gone."""
    return {
        int(number) for task in Path("/proc/self/task").iterdir() for number in (task / "children").read_text().split()
    }


def children() -> set[int]:
    """Processes that this test has started and that are not gone."""
    return running() - _of_others


@pytest.fixture(autouse=True)
def _known() -> None:
    """What other tests have left behind is none of this one's."""
    gc.collect()
    _of_others.clear()
    _of_others.update(running())


def descriptors() -> set[str]:
    """What this process has open, by number and kind."""
    return {f"{entry.name}: {os.readlink(entry)}" for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}


@pytest.fixture
def real() -> Mooncake:
    """A transport that has not been opened, on a machine where it can be."""
    with pages("mooncake"):
        return Mooncake()


def test_the_page_pools_are_the_registered_memory(real: Mooncake) -> None:
    """What the engine writes is what the pool holds, and keys, values and tags stay what they were."""
    made = Pages(real)
    try:
        before = made.source.read(1)
        (write,) = made.post(1)
        real.land(write)
        landed = made.target.read(1)

        assert (before.keys == landed.keys).all() and (before.values == landed.values).all()
        assert before.tag == landed.tag
    finally:
        real.close()


def test_pools_of_pytorch_tensors(real: Mooncake) -> None:
    """On the CPU their bytes can be registered just as well."""
    pytest.importorskip("torch")
    made = Pages(real, xp="torch")
    try:
        (write,) = made.post(2)
        real.land(write, 3072)
        assert "cccccccc········" == made.read(2)
        real.land(write)
        assert "c" * 16 == made.read(2)
    finally:
        real.close()


def test_the_engine_reports_on_a_batch_as_a_whole(real: Mooncake) -> None:
    """One write fails and the batch has failed, at once; its siblings are on their way all the same, and land."""
    made = Pages(real)
    try:
        failed, *siblings = made.post(0, 1, 2)
        real.fail(failed)
        assert [Told.FAILED] * 3 == [real.told(write) for write in (failed, *siblings)]
        assert (failed, *siblings) == real.flying()
        for write in siblings:
            real.land(write)
        assert [BLANK, "b" * 16, "c" * 16] == [made.read(page) for page in range(3)]
    finally:
        real.close()


def test_a_batch_is_through_once_all_of_it_is(real: Mooncake) -> None:
    """The engine says nothing while one write of it is held."""
    made = Pages(real)
    try:
        first, last = made.post(0, 1)
        real.land(last)
        real.acknowledge(last)
        assert [Told.NOTHING] * 2 == [real.told(write) for write in (first, last)]
        real.land(first)
        real.acknowledge(first)
        assert [Told.SUCCESS] * 2 == [real.told(write) for write in (first, last)]
    finally:
        real.close()


def test_a_batch_that_has_left_is_reported_before_any_of_it_is_applied(real: Mooncake) -> None:
    """Framing 1, in which success says nothing of the receiver."""
    real = Mooncake(framing=1)
    made = Pages(real)
    try:
        writes = made.post(0, 1, 2)
        assert Told.SUCCESS is verdict(real, writes)
        assert [BLANK] * 3 == [made.read(page) for page in range(3)]
        assert writes == real.flying()
    finally:
        real.close()


def test_a_time_out_of_the_engine_itself_is_final_and_the_bytes_land(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer within its second: the engine says FAILED for good.  The page is given away, and overwritten."""
    monkeypatch.setitem(mooncake.SETTINGS, "MC_TCP_STATUS_TIMEOUT_SEC", "1")
    with pages("mooncake") as made:
        real = made.transport
        assert isinstance(real, Mooncake)
        (write,) = made.post(0)
        assert Told.NOTHING is real.told(write)
        end = time.monotonic() + 60
        while real.listen(write) is Told.NOTHING and time.monotonic() < end:
            time.sleep(0.01)
        assert Told.FAILED is real.told(write)
        fill(made.target, 0, "z", tag=9)
        real.land(write)

        assert "a" * 16 == made.read(0)
        assert ["page 0: posted", "page 0: sender told: failed", "page 0: landed"] == made.events


def test_a_system_without_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes before anything is started."""
    monkeypatch.delattr(os, "memfd_create")

    with pytest.raises(KvError, match=r"KV052.*run on Linux only"):
        Pages(Mooncake())


def test_pages_can_still_be_read_after_the_end(real: Mooncake) -> None:
    """The engines go, the pages stay."""
    made = Pages(real)
    (write,) = made.post(0)
    real.land(write)
    real.close()

    assert "a" * 16 == made.read(0)
    with pytest.raises(ValueError, match="the transport is closed"):
        made.post(1)


def test_nothing_is_left_behind(real: Mooncake) -> None:
    """No process, no socket, no descriptor; closing twice is no error."""
    before = children(), descriptors()
    made = Pages(real)
    made.post(0, 1)
    assert children() > before[0]
    real.close()
    real.close()
    del made
    gc.collect()  # the pages hold their memory until they go

    assert before[0] == children()
    assert descriptors() <= before[1]


def test_an_engine_that_ends_is_noticed(real: Mooncake) -> None:
    """The next request says so, and what is left of the transport is gone too."""
    made = Pages(real)
    before = children()
    (process,) = before
    os.kill(process, 9)

    with pytest.raises(KvError, match=r"KV053.*its process has ended"):
        made.post(0)
    assert set() == children()


def test_an_engine_that_does_not_answer_is_noticed(real: Mooncake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting has an end."""
    made = Pages(real)
    (process,) = children()
    os.kill(process, 19)
    monkeypatch.setattr(mooncake_wire, "PATIENCE", 0.05)

    with pytest.raises(KvError, match=r"KV053.*its process does not answer"):
        made.post(0)
    assert set() == children()


def test_a_machine_without_the_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names the extra to install."""
    (tmp_path / "mooncake.py").write_text("raise ImportError('No module named mooncake.engine')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(KvError) as caught:
        Pages(Mooncake())
    assert "KV052" == caught.value.diagnostic.code
    assert "pip install 'kvproto[mooncake]'" == caught.value.diagnostic.cure
    assert set() == children()


def test_a_machine_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names the packages of the system."""
    text = "libibverbs.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "mooncake.py").write_text(f"raise ImportError({text!r})\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(KvError) as caught:
        Pages(Mooncake())
    assert "apt-get install libibverbs1 ibverbs-providers" == caught.value.diagnostic.cure
    assert text in caught.value.diagnostic.reason


def test_the_engines_have_a_network_of_their_own(real: Mooncake) -> None:
    """Where the kernel allows it, they are in another namespace than this process, with loopback alone."""
    Pages(real)
    try:
        (process,) = children()
        here, there = (os.readlink(f"/proc/{number}/ns/net") for number in ("self", process))
        names = {line.split(":")[0].strip() for line in Path(f"/proc/{process}/net/dev").read_text().splitlines()[2:]}

        assert real.isolated == (here != there)
        assert not real.isolated or "eth0" not in names
    finally:
        real.close()


def test_importing_the_transports_imports_no_engine() -> None:
    """Whoever replays without one does not pay for it."""
    code = "import sys, kvproto.transports.registry; print(sorted({'mooncake', 'torch'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "[]\n" == done.stdout


def test_pages_on_a_device_are_refused() -> None:
    """The engines move what lies in main memory."""
    transport = Mooncake()
    made = Pages(Scripted())
    made.source.arrays = type("OnCard", (), {"device": "cuda (a card)"})()

    with pytest.raises(KvError, match=r"KV052.*main memory"):
        transport.open({"source": made.source})
    transport.close()


def test_the_header_of_a_write() -> None:
    """Size, address, operation with its framing: 24 bytes, lowest first."""
    assert bytes.fromhex("0410000000000000 00907f0000000000 81 00000000000000") == mooncake_wire.header(
        4100, 0x7F9000, 2
    )
    assert 0x01 == mooncake_wire.header(1, 1, 1)[16]


@pytest.mark.parametrize(
    ("message", "port"),
    [(b'\x01{"tcp_data_port": 7, "name": "x"}', 7), (b"\x02[]", None), (b"\x01", None), (b'\x01{"name": "x"}', None)],
)
def test_only_a_description_is_redirected(message: bytes, port: int | None) -> None:
    """Other messages of the handshake pass as they are."""
    sent, found = mooncake_wire.redirected(message, 9)

    assert port == found
    assert (b'\x01{"tcp_data_port": 9, "name": "x"}' if port else message) == sent


def test_settings_leave_no_time_out_of_the_engine() -> None:
    """Nothing ends by itself while it is held: every limit is longer than any patience of ours."""
    limits = [float(value) for name, value in mooncake.SETTINGS.items() if "TIMEOUT" in name]

    assert 3 == len(limits)
    assert min(limits) > 3 * mooncake_wire.PATIENCE


def test_an_interruption_of_the_start_leaves_no_process(real: Mooncake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller has nothing yet that could be closed."""

    def interrupted(*_: object) -> tuple[list[int], list[int], list[int]]:
        raise KeyboardInterrupt

    before, had = children(), descriptors()
    monkeypatch.setattr("kvproto.transports.process.select.select", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Pages(real)
    gc.collect()

    assert (before, had) == (children(), descriptors())
