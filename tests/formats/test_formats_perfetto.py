"""Perfetto: its own protocol buffer classes read the file, and it says what the trace says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from formats_samples import HOSTILE, LONG, RECORDED, ascii_name, hostile_trace, long_report, recorded, relaxed
from hypothesis import given
from trace_strategies import containing, traces, transfers

from kvproto.formats.perfetto import STEP_NS, perfetto
from kvproto.formats.protobuf import fixed64, number, text, whole
from kvproto.report import Report, report
from kvproto.trace.trace import Trace

pb = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto, the independent reader, is not installed"
)
unknown_fields = pytest.importorskip("google.protobuf.unknown_fields")


class Read:
    """A file as Perfetto's classes read it: tracks, and the events of each in order."""

    def __init__(self, data: bytes) -> None:
        self.trace = pb.Trace.FromString(data)
        self.tracks = {p.track_descriptor.uuid: p.track_descriptor for p in self.packets("track_descriptor")}
        self.events = list(self.packets("track_event"))

    def packets(self, kind: str) -> list[Any]:
        """Packets of one kind."""
        return [packet for packet in self.trace.packet if packet.HasField(kind)]

    def under(self, name: str) -> dict[int, Any]:
        """The tracks whose parent has that name."""
        (parent,) = [uuid for uuid, track in self.tracks.items() if track.name == name and uuid < 16]
        return {uuid: track for uuid, track in self.tracks.items() if track.parent_uuid == parent}

    def slices(self, track: int) -> list[tuple[int, int, Any]]:
        """Begin, end and first event of the slices of a track, which do not overlap."""
        found: list[tuple[int, int, Any]] = []
        opened: Any = None
        for packet in self.events:
            if packet.track_event.track_uuid != track:
                continue
            if packet.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
                assert opened is None
                opened = packet
            elif packet.track_event.type == pb.TrackEvent.TYPE_SLICE_END:
                found.append((opened.timestamp, packet.timestamp, opened.track_event))
                opened = None
        assert opened is None
        return found


def unknown(message: Any) -> int:
    """How many fields of the message, and of those inside, the schema does not know."""
    inside = [value for field, value in message.ListFields() if field.message_type is not None]
    parts = [part for value in inside for part in (value if hasattr(value, "append") else [value])]
    return len(unknown_fields.UnknownFieldSet(message)) + sum(map(unknown, parts))


def agrees(shown: Report) -> None:
    """Steps, writes, flows and the verdict are those of the trace."""
    data = perfetto(shown)
    read = Read(data)

    assert data == perfetto(shown)
    assert not [packet for packet in read.trace.packet if unknown(packet)]
    assert {packet.trusted_packet_sequence_id for packet in read.trace.packet} == {1}
    times = [packet.timestamp for packet in read.events]
    assert sorted(times) == times
    assert all(packet.track_event.track_uuid in read.tracks for packet in read.events)
    lanes = read.under("lanes")
    assert list(shown.lanes) == [] or len(lanes) == len(shown.lanes)
    steps = sorted((begin, event.name) for track in lanes for begin, _, event in read.slices(track))
    assert [(row.number * STEP_NS, row.call) for row in shown.rows] == steps
    _writes(shown, read)
    _flows(shown, read)
    (verdict,) = [p for p in read.events if p.track_event.type == pb.TrackEvent.TYPE_INSTANT]
    assert shown.title == verdict.track_event.name


def _writes(shown: Report, read: Read) -> None:
    if not shown.flights:
        return
    writes = [piece for track in read.under("writes in flight") for piece in read.slices(track)]
    found = sorted((begin // STEP_NS, end // STEP_NS) for begin, end, _ in writes)
    last = len(shown.rows) + 1
    assert sorted((f.posted, last if f.ended is None else f.ended) for f in shown.flights) == found
    counts = [p.track_event for p in read.events if p.track_event.type == pb.TrackEvent.TYPE_COUNTER]
    assert sum(flight.ended is None for flight in shown.flights) == counts[-1].counter_value
    assert all(event.counter_value >= 0 for event in counts)


def _flows(shown: Report, read: Read) -> None:
    """Every flow begins before it ends, and connects the steps that it should."""
    begun: dict[int, list[int]] = {}
    ended: dict[int, int] = {}
    for packet in read.events:
        for flow in packet.track_event.flow_ids:
            begun.setdefault(flow, []).append(packet.timestamp // STEP_NS)
        for flow in packet.track_event.terminating_flow_ids:
            assert flow not in ended
            ended[flow] = packet.timestamp // STEP_NS
    taken = [(m.sent, m.taken) for m in shown.messages if m.taken is not None]
    landed = [(f.posted, f.ended) for f in shown.flights if f.ended is not None]
    assert sorted([*taken, *landed]) == sorted((min(begun[flow]), ended[flow]) for flow in ended)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_traces_are_read_back(path: Path) -> None:
    agrees(recorded(path))


@relaxed
@given(traces() | transfers() | containing())
def test_any_trace_is_read_back(trace: Trace) -> None:
    agrees(report(trace))


@pytest.mark.parametrize("word", HOSTILE, ids=ascii_name)
def test_hostile_names(word: str) -> None:
    agrees(report(hostile_trace(word)))


def test_a_late_write_says_so() -> None:
    (path,) = [p for p in RECORDED if p.name == "sglang-0.5.19-writes_spare_other_requests.trace.json"]
    shown = recorded(path)
    read = Read(perfetto(shown))
    (late,) = [f for f in shown.flights if f.late]
    (event,) = [e for track in read.under("writes in flight") for _, _, e in read.slices(track)]

    assert list(event.categories) == ["late"]
    assert {"how it ends": f"lands at step {late.landed} LATE, in a page that is not its request's any more"} == {
        note.name: note.string_value for note in event.debug_annotations
    }


def test_a_long_trace() -> None:
    shown = long_report()
    read = Read(perfetto(shown))

    assert LONG == sum(len(read.slices(track)) for track in read.under("lanes"))
    assert len(shown.messages) >= LONG - 1
    _writes(shown, read)
    _flows(shown, read)


def test_the_wire_format_is_that_of_the_library() -> None:
    name, large = "caf\u00e9 \U0001f600", 2**64 - 1
    event = pb.TrackEvent(type=1, track_uuid=large, name=name, flow_ids=[1, large])
    packet = pb.TracePacket(timestamp=2**63, trusted_packet_sequence_id=300, track_event=event)
    inner = [number(9, 1), number(11, large), text(23, name), fixed64(47, 1), fixed64(47, large)]
    ours = number(8, 2**63) + number(10, 300) + whole(11, b"".join(inner))

    assert packet == pb.TracePacket.FromString(ours)
