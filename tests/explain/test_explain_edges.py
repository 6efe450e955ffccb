"""What happened to pages and writes, against the samples and against plain definitions."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from trace_samples import stored
from trace_strategies import transfers

from kvproto.explain import Kind, Page, domain_edges
from kvproto.trace.trace import State, Trace

relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)


def page(label: int, pool: str = "decode") -> Page:
    return Page(pool, str(label))


def test_the_incident() -> None:
    domain = domain_edges(stored("incident"))
    flights = [(f.request, f.position, f.posted, f.landed, f.target, f.late) for f in domain.flights]
    assert flights == [
        ("A", "0", 5, 6, page(0), False),
        ("A", "1", 5, 7, page(1), False),
        ("A", "2", 5, 8, page(2), False),
        ("B", "0", 17, 18, page(0), False),
    ]
    given_to_b = [e.page for e in domain.events if e.step == 14 and e.kind is Kind.GIVEN and e.request == "B"]
    assert given_to_b == [page(n) for n in range(8)]
    reads = {r.page.label: (r.reader, r.content, r.written) for r in domain.reads if r.step == 21}
    assert reads == {
        "0": ("B", "B", 18),
        "1": ("B", "A", 7),
        "2": ("B", "A", 8),
        **{str(n): ("B", None, 0) for n in range(3, 8)},
    }


def test_the_late_write() -> None:
    domain = domain_edges(stored("late_write"))
    (flight,) = domain.flights
    assert (flight.posted, flight.landed, flight.target, flight.owner) == (5, 10, page(0), "B")
    assert flight.late
    assert not flight.source_late
    history = [(e.step, e.kind, e.request) for e in domain.events if e.page == page(0)]
    assert history == [
        (2, Kind.GIVEN, "A"),
        (7, Kind.FREED, "A"),
        (9, Kind.GIVEN, "B"),
        (10, Kind.WRITTEN, "A"),
    ]


def test_the_reused_source() -> None:
    flight = domain_edges(stored("reused_source")).flights[0]
    assert not flight.late
    assert flight.source_late
    assert flight.source == page(0, "prefill")
    assert flight.source_owner == "B"


def test_writes_that_have_not_landed() -> None:
    domain = domain_edges(stored("freed_under_write"))
    assert [(f.landed, f.ended, f.late, f.owner) for f in domain.flights] == [(None, None, True, None)] * 2


def test_positions_are_pages_without_a_target() -> None:
    domain = domain_edges(stored("benchmark_stale"))
    assert {f.target for f in domain.flights} == {page(0), page(1)}
    assert [f.name for f in domain.flights if f.late and f.landed] == ["A/1@3"]
    assert domain.landing(12, page(1)) is not None


def test_a_model_without_pools_has_nothing() -> None:
    domain = domain_edges(stored("plain"))
    assert (domain.events, domain.flights, domain.reads) == ((), (), ())


@given(transfers())
@relaxed
def test_events_and_flights_match_the_states(trace: Trace) -> None:
    states = list(trace.states())
    domain = domain_edges(trace)
    for event in domain.events:
        assert 1 <= event.step <= len(trace.steps)
        if event.kind is Kind.GIVEN:
            assert states[event.step][f"{event.page.pool}.owner[{event.page.label}]"] == event.request
    for flight in domain.flights:
        assert flight.position in under_way(trace, flight.request, states[flight.posted])
        if flight.ended is not None:
            assert flight.position not in states[flight.ended][flight.way_path]
        if flight.landed is not None:
            assert flight.landed == flight.ended
            assert flight.late == (flight.owner != flight.request)
        for number in range(flight.posted, flight.ended or len(states)):
            assert flight.position in under_way(trace, flight.request, states[number])
    for request in trace.vocabulary.flights[0].requests:
        hanging = [f.position for f in domain.flights if f.ended is None and f.request == request]
        assert sorted(hanging) == sorted(under_way(trace, request, states[-1]))


def under_way(trace: Trace, request: str, state: State) -> list[str]:
    """The positions in all sets of writes of a request."""
    (view,) = trace.vocabulary.flights
    sets = [state[path.replace("{r}", request)] for path in (view.field, *view.also)]
    return [str(position) for held in sets if isinstance(held, list) for position in held]
