"""Pages whose content comes in slices, and paths that have the page in their middle."""

from __future__ import annotations

from slice_sample import half_written

from kvproto.explain import Page, domain_edges, why
from kvproto.report.build import report
from kvproto.trace import codec
from kvproto.view.lanes import render_lanes
from kvproto.view.pagemap import render_page_changes


def test_the_slice_that_nobody_wrote_is_named() -> None:
    first, second, *_ = why(half_written())

    assert "page 7 (rank=p) held A's content and page 7 (rank=q) held B's content" in first
    assert second == "B's content was in page 7 from the start."


def test_flights_land_in_their_own_slice() -> None:
    (flight,) = domain_edges(half_written()).flights

    assert (flight.posted, flight.left, flight.landed, flight.slice) == (2, (3,), 4, "rank=p")
    assert domain_edges(half_written()).landing(4, Page("pool", "7"), "rank=p") == flight
    assert domain_edges(half_written()).landing(4, Page("pool", "7"), "rank=q") is None


def test_the_page_map_shows_slices_that_differ() -> None:
    text = render_page_changes(report(half_written()))

    assert "A<./B" in text.splitlines()[2]
    assert "A<A/B" in text
    assert "one slice of it written last by A" in " ".join(text.split())


def test_lanes_have_one_band_for_a_write_that_goes_aside() -> None:
    marks = [line.rstrip()[-1] for line in render_lanes(report(half_written())).splitlines()[2:5]]

    assert marks == ["7", "|", "v"]


def test_the_file_keeps_slices_and_sets() -> None:
    trace = half_written()

    assert codec.loads(codec.dumps(trace), name="it") == trace
