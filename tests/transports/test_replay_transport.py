"""Traces of the models on transports: the same state after every step, and the same events in every run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from transport_pages import MOONCAKE, pages

from kvproto.cli.main import main
from kvproto.replay import replay
from kvproto.trace import codec
from kvproto.transports import Scripted
from kvproto.transports.registry import make

TRACES = Path(__file__).parents[2] / "traces"
SUFFIX = ".trace.json"
SOURCES = (
    "outline-0.5.19-reads_no_foreign_data",
    "sglang-0.5.19-reads_no_foreign_data",
    "sglang-0.5.19-sources_are_stable",
    "sglang-0.5.23-sources_are_stable",
)
"""Traces in which a source page changes between posting and landing."""

Kv = Callable[..., tuple[int, str, str]]


def path(name: str) -> Path:
    """The file of a trace."""
    return TRACES / f"{name}{SUFFIX}"


@pytest.fixture
def kv(capfd: pytest.CaptureFixture[str]) -> Kv:
    """Run the command line: exit code, standard output, standard error."""

    def run(*args: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(list(args))
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def engine() -> None:
    """Skips where the real engine cannot run."""
    with pages("mooncake"):
        pass


@pytest.mark.parametrize("name", sorted(file.name.removesuffix(SUFFIX) for file in TRACES.glob(f"*{SUFFIX}")))
@pytest.mark.parametrize("transport", MOONCAKE)
@pytest.mark.usefixtures("engine")
def test_recorded_traces_on_the_real_engine(name: str, transport: str) -> None:
    """The page store is the model's after every step, and the same as with scripted writes.

    But an engine over TCP reads its source when a write is posted.  So traces in which the source changes before the
    landing come apart, exactly there.
    """
    trace = codec.read(str(path(name)))
    mover = make(transport)
    try:
        real = replay(trace, mover=mover)
    finally:
        mover.close()

    if transport == "mooncake" and name in SOURCES:
        assert real.divergence is not None
        assert real.divergence.action.startswith(("land(", "land_late("))
        assert ("B", "A") == (real.divergence.model, real.divergence.implementation)
    else:
        assert real.agrees, real.divergence
        assert replay(trace, mover=Scripted()) == real


@pytest.mark.usefixtures("engine")
def test_the_late_write_lands_in_the_page_of_another_request_in_every_run(kv: Kv, tmp_path: Path) -> None:
    """Twenty runs, and the log of events is the same to the byte."""
    trace = str(path("sglang-0.5.19-writes_spare_other_requests"))
    file = tmp_path / "out.json"
    code, out, _ = kv("replay", trace, "--transport", "mooncake", "--repeat", "20", "--json", str(file))

    assert 0 == code
    assert "20 of 20 runs: the same events, and the same pages after every step\n" in out
    moved = json.loads(file.read_text())["transport"]
    assert (20, None) == (moved["runs"], moved["strange_run"])
    assert [
        "A/0 from rank 0 to rank 0: posted",
        "A/0 from rank 0 to rank 0: held before the receiving engine",
        "A/0 from rank 0 to rank 0: landed",
        "A/0 from rank 0 to rank 0: sender told: success",
        "A/0 from rank 0 to rank 0: page 0 belongs to B",
    ] == moved["events"]


@pytest.mark.usefixtures("engine")
def test_success_before_applied_lets_a_reader_see_pages_that_were_never_written(kv: Kv) -> None:
    """In framing 1 the engine itself says success while the gate holds the bytes, and the answer is made of nothing."""
    trace = str(path("outline-0.5.19-rejected_never_succeeds"))
    code, out, _ = kv("replay", trace, "--transport", "mooncake", "--early-success", "--landings-last")

    assert 0 == code
    assert "what if writes land last: 10 steps of the same schedule performed, 0 blocked\n" in out
    assert "request A: HTTP 200" in out
    assert "  page  0 |················|  never written\n" in out
    events = [line.strip() for line in out.splitlines() if line.startswith("  A/0")]
    assert events.index("A/0: sender told: success") < events.index("A/0: landed")


@pytest.mark.usefixtures("engine")
def test_success_before_applied_gives_a_reader_the_pages_of_another(kv: Kv) -> None:
    """Only B's write is late: B reads in its first page, too, what A has left there."""
    trace = str(path("sglang-incident-reads_no_foreign_data"))
    code, out, _ = kv("replay", trace, "--transport", "mooncake", "--early-success", "--late", "B")

    assert 0 == code
    assert out.startswith("what if writes of B land last: 37 steps of the same schedule performed, 0\nblocked\n")
    assert "request B's answer contains A's canary (pages 0, 1, 2): text that A wrote\n" in out


@pytest.mark.parametrize("transport", ["scripted", *MOONCAKE])
def test_success_once_applied_makes_the_sender_wait(kv: Kv, transport: str, request: pytest.FixtureRequest) -> None:
    """The same schedule is refused where the sender is told only once the bytes are there."""
    if transport != "scripted":
        request.getfixturevalue("engine")
    trace = str(path("outline-0.5.19-rejected_never_succeeds"))
    code, out, _ = kv("replay", trace, "--transport", transport, "--landings-last")

    assert 0 == code
    assert "complete(A): prefill: writes of request A are in flight (pages 0)\n" in out
    assert "HTTP 200" not in out


def test_early_success_changes_nothing_that_the_model_has(kv: Kv) -> None:
    """The traced schedule waits for the landings anyway."""
    code, out, _ = kv("replay", str(path("sglang-incident-reads_no_foreign_data")), "--early-success", "--events")

    assert 0 == code
    assert "the implementation agrees with the model" in out
    assert "transport scripted, success reported early\n  A/0 from rank 0 to rank 0: posted\n" in out


def test_the_default_says_nothing_of_transports(kv: Kv, tmp_path: Path) -> None:
    """Reports and JSON are what they were."""
    file = tmp_path / "out.json"
    code, out, _ = kv("replay", str(path("outline-incident-reads_own_writes")), "--json", str(file))

    assert 0 == code
    assert "transport" not in out
    assert "transport" not in json.loads(file.read_text())


def test_what_is_stored_names_the_transport(kv: Kv, tmp_path: Path) -> None:
    """The outcome in the trace file says how it came about, and the file can be read again."""
    file = tmp_path / "one.trace.json"
    file.write_bytes(path("outline-incident-reads_own_writes").read_bytes())
    code, _, _ = kv("replay", str(file), "--early-success", "--save")

    assert 0 == code
    stored = codec.read(str(file)).replay
    assert stored is not None
    assert ("scripted", True) == (stored["transport"]["name"], stored["transport"]["early_success"])


def test_a_run_that_differs_is_told(kv: Kv, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third run has an event more: exit code 1, and its number."""
    made: list[Scripted] = []

    def odd(name: str, *, early_success: bool) -> Scripted:
        made.append(Scripted(early_success=early_success))
        made[-1].log += ["something else"] if len(made) == 3 else []
        return made[-1]

    monkeypatch.setattr("kvproto.cli.moving.make", odd)
    code, out, _ = kv("replay", str(path("outline-incident-reads_own_writes")), "--repeat", "5")

    assert 1 == code
    assert "run 3 differs from run 1: in its events, its pages or its outcome\n" in out


def test_landings_that_are_not_there_cannot_be_last(kv: Kv) -> None:
    """A trace in which nothing lands is refused."""
    trace = str(path("sglang-0.5.19-failed_stays_failed"))
    for option in (["--landings-last"], ["--late", "A"], ["--late", "Q"]):
        code, _, err = kv("replay", trace, *option)

        assert 2 == code
        assert err.startswith(f"error KV026  {' '.join(option)} says nothing about this trace\n")


def test_an_unknown_transport_is_refused(kv: Kv) -> None:
    """The names are listed."""
    code, _, err = kv("replay", str(path("outline-incident-reads_own_writes")), "--transport", "pigeon")

    assert 2 == code
    assert "scripted" in err


def test_an_engine_without_early_success_is_not_asked_for_it(kv: Kv) -> None:
    """Whether it is installed or not."""
    trace = str(path("outline-incident-reads_own_writes"))
    code, _, err = kv("replay", trace, "--transport", "nixl", "--early-success")

    assert 2 == code
    assert err.startswith("error KV026  --early-success says nothing about nixl\n")


def test_a_transport_with_an_endpoint_is_refused(kv: Kv) -> None:
    """An endpoint moves its own pages."""
    code, _, err = kv("replay", "--http", "http://127.0.0.1:9", "--pool", "10", "--transport", "scripted")

    assert 2 == code
    assert err.startswith("error KV026  --transport says nothing with --http\n")


def test_engines_on_a_shared_network_are_told(kv: Kv, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel gives them none of their own, whoever runs them should know that they can be reached."""

    class Open(Scripted):
        isolated = False

    monkeypatch.setattr("kvproto.cli.moving.make", lambda name, **_: Open())
    code, out, _ = kv("replay", str(path("outline-incident-reads_own_writes")), "--events")

    assert 0 == code
    assert "the engines shared this machine's network, on which they listen on all interfaces\n" in out


def test_two_ways_of_being_late_are_one_too_many(kv: Kv) -> None:
    trace = str(path("sglang-0.5.19-writes_spare_other_requests"))

    code, out, err = kv("replay", trace, "--landings-last", "--late", "A")

    assert (code, out, err.split()[1]) == (2, "", "KV026")
