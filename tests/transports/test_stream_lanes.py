"""What lanes ask of a card, in which order: against a card that writes down what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_void_p
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import torch

from kvproto.diagnostics import KvError
from kvproto.transports import stream_lanes
from kvproto.transports.stream_lanes import CudaLanes, Driver, HeldLanes, lanes_on

ENTRY = ["stream made", "waits for the host's stream", "gate 0 >= 1", "work", "event recorded"]
EXIT = ["host's stream done", "event waited for, gate 1", "stream given back"]


class Card:
    """Stands for PyTorch and the driver; `asked` is what it was asked, in order."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.lanes: CudaLanes | None = None
        host = SimpleNamespace(synchronize=lambda: self.asked.append("host's stream done"))
        stream = SimpleNamespace(wait_stream=lambda _: self.asked.append("waits for the host's stream"))
        event = SimpleNamespace(
            record=lambda _: self.asked.append("event recorded"),
            synchronize=lambda: self.asked.append(f"event waited for, gate {self.gate(0)}"),
        )
        self.torch = SimpleNamespace(
            int32=torch.int32,
            zeros=lambda count, *, dtype, pin_memory: torch.zeros(count, dtype=dtype),
            cuda=SimpleNamespace(
                Event=lambda: event,
                ExternalStream=lambda handle, device: stream,
                current_stream=lambda device: host,
                stream=self.within,
            ),
        )

    @contextmanager
    def within(self, _: object) -> Iterator[None]:
        """A block whose work belongs to a stream."""
        yield

    def gate(self, slot: int) -> int:
        """What stands in the gate of a lane."""
        assert self.lanes is not None
        return int(self.lanes._gates[slot])

    def stream(self) -> c_void_p:
        """The driver makes a stream."""
        self.asked.append("stream made")
        return c_void_p(7)

    def destroy(self, _: c_void_p) -> None:
        """The driver takes a stream back."""
        self.asked.append("stream given back")

    def wait_for(self, _: c_void_p, address: int, value: int) -> None:
        """The driver lets a stream wait."""
        assert self.lanes is not None
        self.asked.append(f"gate {(address - self.lanes.address(0)) // 4} >= {value}")


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[Card]:
    """Lanes on the card that writes down."""
    made = Card()
    monkeypatch.setattr(stream_lanes, "torch", lambda: made.torch)
    monkeypatch.setattr(stream_lanes, "Driver", lambda: made)
    made.lanes = CudaLanes("a card")
    yield made
    made.lanes.close()


def lanes(card: Card) -> CudaLanes:
    """The lanes of the card."""
    assert card.lanes is not None
    return card.lanes


def test_work_is_handed_over_behind_a_gate_and_waited_for_once_it_is_open(card: Card) -> None:
    lane = lanes(card).hold(lambda: card.asked.append("work"))
    assert ENTRY == card.asked
    assert 0 == card.gate(0)

    lane.let_go()
    assert ENTRY + EXIT == card.asked


def test_each_lane_has_a_gate_of_its_own(card: Card) -> None:
    first, second = (lanes(card).hold(lambda: None) for _ in range(2))
    second.let_go()

    assert [0, 1] == [card.gate(slot) for slot in (0, 1)]
    first.let_go()
    assert [1, 1] == [card.gate(slot) for slot in (0, 1)]


def test_a_card_that_waits_for_what_is_held_is_let_go_and_one_is_told(card: Card) -> None:
    """The watchman's time is not waited for here; what he does then is."""
    lane = lanes(card).hold(lambda: None)
    lanes(card)._let_all_go()

    assert 1 == card.gate(0)
    with pytest.raises(KvError, match="waited 60 seconds for copies that are held"):
        lane.let_go()


def test_there_is_a_watchman_only_while_something_is_held(card: Card) -> None:
    assert lanes(card)._watch is None
    one, other = (lanes(card).hold(lambda: None) for _ in range(2))
    one.let_go()
    assert lanes(card)._watch is not None
    other.let_go()
    assert lanes(card)._watch is None


def test_gates_are_counted(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CudaLanes, "MOST", 1)
    lanes(card).hold(lambda: None)

    with pytest.raises(KvError, match="more than 1 copies"):
        lanes(card).hold(lambda: None)


def test_the_driver_is_asked_under_its_newest_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """And an error of it is told with its number."""
    codes = {"cuStreamCreate": 0, "cuStreamDestroy_v2": 0, "cuStreamWaitValue32": 801, "cuStreamWaitValue32_v2": 1}
    library = SimpleNamespace(**{name: lambda *_, code=code: code for name, code in codes.items()})
    monkeypatch.setattr(stream_lanes.ctypes, "CDLL", lambda _: library)
    driver = Driver()
    driver.destroy(driver.stream())

    with pytest.raises(KvError, match=r"refuses cuStreamWaitValue32 \(error 1\)"):
        driver.wait_for(c_void_p(7), 64, 1)


def test_without_a_card_work_waits_in_this_process() -> None:
    done: list[int] = []
    held = lanes_on(torch.device("cpu"))
    first, second = (held.hold(lambda number=number: done.append(number)) for number in (1, 2))

    assert isinstance(held, HeldLanes)
    assert [] == done
    second.let_go()
    first.let_go()
    assert [2, 1] == done
    held.close()
