"""Prompts computed in chunks, pages shared and moved one by one, and what each measure makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields

import pytest

from kvproto.reference import prompts
from kvproto.reference.array import Arrays, namespace
from kvproto.reference.attention import attend
from kvproto.reference.paged.measures import Measures, tag_of
from kvproto.reference.paged.sink import SINK, Sink
from kvproto.reference.paged.source import SOURCE, Source
from kvproto.reference.refusal import Refused
from kvproto.transports import Scripted, Transport
from kvproto.transports.streams import Streams

A, B, C = 1, 2, 3
"""Rooms; see `prompts.label`."""

BLANK = "·" * 16


def device_ready(backend: str, device: str) -> Arrays:
    """The arrays of a backend, or a skip that says what is missing."""
    if backend == "torch":
        torch = pytest.importorskip("torch")
        if device == "cuda" and not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
    return namespace(backend, device=device)


@pytest.fixture(params=[("numpy", "cpu"), ("torch", "cpu"), pytest.param(("torch", "cuda"), marks=pytest.mark.gpu)])
def arrays(request: pytest.FixtureRequest) -> Arrays:
    """What holds the tensors."""
    return device_ready(*request.param)


OPEN: list[Transport] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What a test has left on its way is let go."""
    yield
    while OPEN:
        OPEN.pop().close()


@dataclass
class Pair:
    """Both sides, and a transport between them: the script, or copies in lanes where the tensors are PyTorch's."""

    arrays: Arrays
    measures: Measures = field(default_factory=Measures)
    longest: int = 4
    sink_pages: int = 3

    def __post_init__(self) -> None:
        self.transport: Transport = Streams() if self.arrays.backend == "torch" else Scripted()
        OPEN.append(self.transport)
        self.source = Source(8, self.arrays, longest=self.longest)
        self.sink = Sink(self.sink_pages, self.arrays, self.measures, self.transport)
        self.transport.open({SOURCE: self.source.memory, SINK: self.sink.pool})

    def sent(self, room: int, text: str) -> tuple[int, ...]:
        """Reserve, compute all chunks and post them as they come; the writes."""
        targets = self.sink.reserve(room, text)
        self.source.admit(room, text)
        writes: tuple[int, ...] = ()
        while self.source.jobs[room].computed < self.source.jobs[room].pages:
            self.source.compute(room)
            writes += self.source.post(room, self.transport, targets, SINK)
        return writes

    def served(self, room: int, text: str, *late: int) -> str:
        """All writes land, success is reported, then `late` ones land too, and the pages are read."""
        for write in self.sent(room, text):
            self.transport.land(write)
            self.transport.acknowledge(write)
        self.sink.commit(room, len(self.source.jobs[room].sent), self.source.digest(room))
        self.source.release(room)
        for write in late:
            self.transport.land(write)
        return self.sink.read(room)


def test_chunks_read_what_earlier_chunks_wrote(arrays: Arrays) -> None:
    """Attention of a chunk goes over everything so far; the text says that it was there."""
    source, text = Source(8, arrays, chunk=2), prompts.prompt(A, 5)
    source.admit(A, text)

    assert [range(2), range(2, 4), range(4, 5)] == [source.compute(A) for _ in range(3)]
    assert [text[:32], text[:64], text] == source.jobs[A].reads
    with pytest.raises(Refused, match="request A is computed"):
        source.compute(A)


def test_a_chunk_reads_shared_pages_that_it_did_not_compute(arrays: Arrays) -> None:
    """The first page is one for both; what stands behind it differs."""
    source = Source(8, arrays)
    first, second = (prompts.page_text(A, 0) + prompts.page_text(room, 1) for room in (A, B))
    assert 0 == source.admit(A, first)
    source.compute(A)

    assert 1 == source.admit(B, second)
    assert range(1, 2) == source.compute(B)
    assert [second] == source.jobs[B].reads
    assert source.pages.tables[A][0] == source.pages.tables[B][0]
    source.release(A)
    assert second == source.read(B)
    assert (0, 2) == source.release(B)


def test_between_its_chunks_a_prompt_shares_what_is_written_and_no_more(arrays: Arrays) -> None:
    source, text = Source(12, arrays, chunk=2), prompts.prompt(A, 4)
    source.admit(A, text)
    source.compute(A)

    assert 2 == source.admit(B, text)
    source.compute(A)
    assert 4 == source.admit(C, text)
    source.compute(B)
    assert [text] * 3 == [source.read(room) for room in (A, B, C)]


def test_pages_travel_chunk_by_chunk(arrays: Arrays) -> None:
    """The first chunk is on its way while the second one is not computed."""
    pair, text = Pair(arrays), prompts.prompt(A, 3)
    targets = pair.sink.reserve(A, text)
    pair.source.admit(A, text)
    pair.source.compute(A)
    first = pair.source.post(A, pair.transport, targets, SINK)
    for write in first:
        pair.transport.land(write)
    pair.source.compute(A)
    (last,) = pair.source.post(A, pair.transport, targets, SINK)

    assert (0, 1) == first
    assert text[:32] == prompt_read(pair, targets[:2])
    assert BLANK == prompt_read(pair, targets[2:])
    pair.transport.land(last)
    assert text == prompt_read(pair, targets)


def prompt_read(pair: Pair, pages: tuple[int, ...]) -> str:
    """What attention over some pages of the sink gives."""
    return attend(pair.sink.pool, pages)


def test_a_shared_page_is_sent_to_both(arrays: Arrays) -> None:
    """And its tag is right for both of them, as it depends on the prompt and not on the request."""
    pair = Pair(arrays, Measures(page_tags=True, checksum=True), sink_pages=4)
    first, second = (prompts.page_text(A, 0) + prompts.page_text(room, 1) for room in (A, B))
    # Both are there at the same time, so that the page is shared.
    writes = pair.sent(A, first) + pair.sent(B, second)
    for write in writes:
        pair.transport.land(write)
    for room in (A, B):
        pair.sink.commit(room, 2, pair.source.digest(room))

    assert [first, second] == [pair.sink.read(room) for room in (A, B)]


def test_a_write_from_a_shared_page_outlives_its_request(arrays: Arrays) -> None:
    """The page is not given away while anybody refers to it, so what is on its way from it stays what it was."""
    pair, text = Pair(arrays), prompts.prompt(A, 1)
    (write,) = pair.sent(A, text)
    assert 1 == pair.source.admit(B, text)

    assert () == pair.source.release(A)
    pair.source.admit(C, prompts.prompt(C, 1))
    pair.source.compute(C)
    pair.transport.land(write)
    assert text == prompt_read(pair, (0,))


@pytest.mark.parametrize("tags", [False, True])
def test_a_write_from_a_page_that_was_given_away_brings_what_stands_there(tags: bool, arrays: Arrays) -> None:
    """Prefill's side of a late write; the tag travels with the bytes, so whoever reads the page notices."""
    pair = Pair(arrays, Measures(page_tags=tags))
    (write,) = pair.sent(A, prompts.prompt(A, 1))
    digest = pair.source.digest(A)
    assert (0,) == pair.source.release(A)
    pair.source.admit(C, prompts.prompt(C, 1))
    pair.source.compute(C)
    pair.transport.land(write)
    pair.sink.commit(A, 1, digest)

    if tags:
        with pytest.raises(Refused, match="does not hold its prompt"):
            pair.sink.read(A)
    else:
        assert prompts.prompt(C, 1) == pair.sink.read(A)


# What each measure makes of three runs.


def short_of_pages(arrays: Arrays, measures: Measures) -> str:
    """The incident: A is served and leaves; B's prompt is too long, drains as a placeholder and is called a success."""
    pair = Pair(arrays, measures, longest=2)
    pair.served(A, prompts.prompt(A, 2))
    pair.sink.release(A)
    return pair.served(B, prompts.prompt(B, 3))


def late(arrays: Arrays, measures: Measures) -> str:
    """A's transfer fails, B gets the page and is served, and then A's write lands."""
    pair = Pair(arrays, measures, sink_pages=1)
    writes = pair.sent(A, prompts.prompt(A, 1))
    for write in writes:
        pair.transport.fail(write)
    pair.sink.fail(A, writes)
    return pair.served(B, prompts.prompt(B, 1), *writes)


def late_before_the_check(arrays: Arrays, measures: Measures) -> str:
    """The same, but A's write lands before B's success is looked at."""
    pair = Pair(arrays, measures, sink_pages=1)
    writes = pair.sent(A, prompts.prompt(A, 1))
    pair.sink.fail(A, writes)
    for write in (*pair.sent(B, prompts.prompt(B, 1)), *writes):
        pair.transport.land(write)
    pair.sink.commit(B, 1, pair.source.digest(B))
    return pair.sink.read(B)


STUB = "Ⓑ".ljust(16, prompts.PAD)
OLD = prompts.page_text(A, 1)
FOREIGN = prompts.page_text(A, 0)

RUNS = {
    short_of_pages: {
        "": STUB + OLD + BLANK,
        "page_tags": "does not hold its prompt",
        "checksum": "the checksum of request B is wrong",
        "canary": "pages 1, 2 of request B were never written",
        "count_check": "1 of 3 pages of request B were sent",
        "zero_on_release": STUB + BLANK * 2,
        "zero_on_allocation": STUB + BLANK * 2,
        "deferred_release": STUB + OLD + BLANK,
    },
    late: {
        "": FOREIGN,
        "page_tags": "does not hold its prompt",
        "checksum": FOREIGN,
        "canary": FOREIGN,
        "count_check": FOREIGN,
        "zero_on_release": FOREIGN,
        "zero_on_allocation": FOREIGN,
        "deferred_release": "1 pages wanted, 0 free",
    },
    late_before_the_check: {
        "": FOREIGN,
        "page_tags": "does not hold its prompt",
        "checksum": "the checksum of request B is wrong",
        "canary": FOREIGN,
        "count_check": FOREIGN,
        "zero_on_release": FOREIGN,
        "zero_on_allocation": FOREIGN,
        "deferred_release": "1 pages wanted, 0 free",
    },
}
"""Run -> measure -> what B reads, one or three pages long, or why B is refused."""


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
@pytest.mark.parametrize("measure", RUNS[late], ids=lambda name: name or "nothing")
def test_what_each_measure_makes_of_a_run(run: Callable[[Arrays, Measures], str], measure: str, arrays: Arrays) -> None:
    """Only tags that the reader looks at stop all three; clearing pages stops no late write."""
    expected = RUNS[run][measure]
    measures = Measures(**({measure: True} if measure else {}))
    if len(expected) in (16, 48):
        assert expected == run(arrays, measures)
    else:
        with pytest.raises(Refused, match=expected):
            run(arrays, measures)


def test_all_measures_are_tried() -> None:
    names = {field.name for field in fields(Measures)}

    assert all({"", *names} == set(outcomes) for outcomes in RUNS.values())


def test_no_measure_refuses_a_run_in_which_nothing_goes_wrong(arrays: Arrays) -> None:
    """Each by itself, and all together, for two requests one after the other in the same pages."""
    names = [field.name for field in fields(Measures)]
    for switches in [[name] for name in names] + [names]:
        pair = Pair(arrays, Measures(**dict.fromkeys(switches, True)))
        for room, pages in ((A, 2), (B, 3)):
            text = prompts.prompt(room, pages)
            assert text == pair.served(room, text)
            pair.sink.release(room)


def test_pages_that_are_held_are_freed_once_nothing_comes_any_more(arrays: Arrays) -> None:
    pair = Pair(arrays, Measures(deferred_release=True), sink_pages=2)
    first, second = pair.sent(A, prompts.prompt(A, 2))
    pair.sink.fail(A, (first, second))
    pair.transport.land(first)
    pair.sink.collect()

    assert [] == pair.sink.pool.free_pages()
    pair.transport.vanish(second)
    pair.sink.collect()
    assert [0, 1] == pair.sink.pool.free_pages()


def test_reservations_have_an_order(arrays: Arrays) -> None:
    pair, text = Pair(arrays), prompts.prompt(A, 1)
    with pytest.raises(Refused, match="request A is unknown, not ready"):
        pair.sink.read(A)
    pair.sink.reserve(A, text)
    with pytest.raises(Refused, match="request A is reserved, not ready"):
        pair.sink.read(A)
    with pytest.raises(Refused, match="request A has pages"):
        pair.sink.reserve(A, text)
    pair.sink.fail(A)
    assert [0, 1, 2] == pair.sink.pool.free_pages()


def test_tags_tell_prompts_and_positions_apart() -> None:
    """Every page of every client has a tag of its own, no tag is that of a page that was never written."""
    tags = {tag_of(prompts.prompt(room, 9), k) for room in range(1, 9) for k in range(9)}
    tags |= {tag_of(stub, 0) for stub in prompts.STUBS}

    assert 8 * 9 + 8 == len(tags)
    assert 0 not in tags
    assert tag_of(prompts.prompt(A, 2), 0) == tag_of(prompts.prompt(A, 9), 0)
