"""The search driver: limits, interrupts, verdicts, and errors of the model."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import pytest

from kvproto.diagnostics import KvError
from kvproto.engine import native
from kvproto.engine.clock import Clock
from kvproto.engine.search import Options, Progress, Result, search
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

TIERS = ["C", "Python", "reference"]
HEAD = """
from kvproto.lang import *

Req = Sort("Req", labels="AB", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 40)
    last: Opt(Req)
    row: Array(Int(0, 3), Bool)
    cell: Array(Req, Bool)


"""


def shipped(target: str) -> System:
    found = find(target)
    return build(found.model, choose(found.model, preset=found.preset))


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(sys, "path", list(sys.path))

    def make(text: str, fields: str = "") -> System:
        path = tmp_path / "small.py"
        path.write_text(f'{HEAD}{text}\n\nmodel = Model("small", "", state=State, parts=[__name__]{fields})\n')
        return shipped(str(path))

    return make


@pytest.fixture(params=TIERS)
def options(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Options that choose a tier."""
    if request.param == "Python":
        monkeypatch.setattr(native, "load_engine", lambda: native.Unavailable("switched off by the test"))
    return {"engine": "reference" if request.param == "reference" else "compiled"}


STEP = """
@action(m)
def step(s, r: Req):
    require(s.last != r and s.n < 30)
    s.last = r
    s.n += 1
"""


def refused(system: System, options: dict[str, object], **more: object) -> str:
    with pytest.raises(KvError) as error:
        search(system, Options(**options, **more))  # type: ignore[arg-type]
    return error.value.diagnostic.render()


SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@SIGNALS
def test_an_interrupt_ends_the_search_and_keeps_what_is_found(options: dict[str, object], number: int) -> None:
    def press(now: Progress) -> None:
        if now.states > 300:
            signal.raise_signal(number)

    before = signal.getsignal(number)
    result = search(shipped("outline@0.5.19"), Options(**options), press)  # type: ignore[arg-type]

    assert result.interrupted
    assert (result.complete, result.stopped) == (False, "interrupted")
    assert result.states > 300
    assert {f.verdict for f in result.findings} <= {"violated", "inconclusive"}
    assert signal.getsignal(number) is before


@SIGNALS
def test_a_second_interrupt_is_an_exception(number: int) -> None:
    def press(_: Progress) -> None:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(number)

    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt):
        search(shipped("outline@0.5.19"), Options(), press)
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


@SIGNALS
def test_a_handler_of_the_caller_is_left_alone(number: int) -> None:
    pressed: list[int] = []
    before = signal.signal(number, lambda number, _: pressed.append(number))
    try:
        result = search(shipped("outline@incident"), Options(), lambda _: signal.raise_signal(number))
    finally:
        signal.signal(number, before)

    assert result.complete
    assert pressed


def test_a_search_in_another_thread() -> None:
    found: list[Result] = []
    thread = threading.Thread(target=lambda: found.append(search(shipped("outline@incident"))))
    thread.start()
    thread.join(60)

    assert found[0].complete


def test_a_time_limit_holds_while_initial_states_are_made(options: dict[str, object], model) -> None:  # type: ignore[no-untyped-def]
    system = model(
        "@init\ndef begin(s, a: Int(0, 20), b: Int(0, 20), c: Int(0, 20)):\n    s.n = min(a + b + c, 40)\n"
        f"{STEP}\n\n@invariant('x')\ndef fine(s):\n    return s.n >= 0\n"
    )
    result = search(system, Options(**options, time_limit=1e-9))

    assert (result.complete, result.stopped, result.states) == (False, "time limit", 0)
    assert [f.verdict for f in result.findings] == ["inconclusive"]


def test_many_initial_states(options: dict[str, object], model) -> None:  # type: ignore[no-untyped-def]
    text = "@init\ndef begin(s, a: Int(0, 5), r: Req):\n    require(a > 2)\n    s.n = a\n    s.last = r\n"
    system = model(text + STEP, ", deadlock=True")

    assert search(system, Options(**options, max_depth=1, symmetry=False)).states == 6
    assert search(system, Options(**options, max_depth=1)).states == 3  # A and B are interchangeable


def test_the_error_that_is_met_first_is_reported_by_every_tier(options: dict[str, object], model) -> None:  # type: ignore[no-untyped-def]
    """Tiers look at different times; the order of what they report must not depend on it."""
    action = "\n\n@action(m)\ndef wrong(s, r: Req):\n    require(s.n == 5 and s.last == r)\n    s.n -= 9\n"
    late = "\n\n@invariant('x')\ndef fine(s):\n    return 9 // (7 - s.n) > -99\n"

    # The states with n = 6 are found while those with n = 5 are expanded, by `step`, which comes before `wrong`.
    assert "step(A), wrong(A)" in refused(model(STEP + action + late), options)
    assert "evaluating fine after: step(A), step(B)" in refused(model(STEP + action + late.replace("7", "6")), options)
    assert "evaluating fine after: step(A), step(B)" in refused(model(STEP + action + late.replace("7", "5")), options)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("KV201", "s.n = s.n * 2 + 20"),
        ("KV202", "s.row[s.n] = True"),
        ("KV203", "q = next((r for r in Req if s.n > 30), None)\n    s.cell[q] = True"),
        ("KV204", "s.n = 6 // (9 - s.n)"),
        ("KV205", "s.n = min(k for k in range(9) if k > s.n)"),
    ],
)
def test_every_kind_of_error_has_a_cure(code: str, line: str, model, options: dict[str, object]) -> None:  # type: ignore[no-untyped-def]
    text = refused(model(STEP + f"\n\n@action(m)\ndef wrong(s):\n    require(s.n >= 9)\n    {line}\n"), options)

    assert text.startswith(f"error {code}  ")
    assert "wrong()" in text
    assert "^" in text


def test_no_room(model, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    system = model(STEP)
    assert "a memory limit of 1 bytes" in refused(system, {}, memory_limit=1)

    def full(*_: object, **__: object) -> None:
        raise MemoryError

    for tier in ("c_explorer.CExplorer", "tier0.PythonExplorer"):
        monkeypatch.setattr(f"kvproto.engine.{tier}.__init__", full)
    assert "this machine has no memory left" in refused(system, {})


def test_memory_that_runs_out_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvproto.engine.reference_explorer import ReferenceExplorer

    advance = ReferenceExplorer.advance

    def short(self: ReferenceExplorer, expansions: int) -> bool:
        if self.states() > 100:
            raise MemoryError
        return advance(self, expansions)

    monkeypatch.setattr(ReferenceExplorer, "advance", short)
    result = search(shipped("outline@incident"), Options(engine="reference"))

    assert (result.complete, result.stopped) == (False, "out of memory")


@pytest.mark.parametrize("limit", [1, 100, 681])
def test_a_state_limit_stops_all_tiers_alike(options: dict[str, object], limit: int) -> None:
    system = shipped("outline@incident")
    result = search(system, Options(**options, max_states=limit, symmetry=False))  # type: ignore[arg-type]
    c = search(system, Options(max_states=limit, symmetry=False))

    assert (result.states, result.transitions, result.stopped) == (c.states, c.transitions, c.stopped)
    assert min(limit, 681) <= result.states <= limit + 20


def test_an_action_that_only_fails_has_happened(options: dict[str, object], model) -> None:  # type: ignore[no-untyped-def]
    result = search(model(STEP + "\n\n@action(m)\ndef fails(s):\n    assert s.n > 50\n"), Options(**options))

    assert result.never_fired == ()
    assert result.finding("fails.assert1").verdict == "violated"


def test_a_search_says_what_it_took_of_processors(options: dict[str, object]) -> None:
    """Processor time is that of this very search: none of what was before or is after it."""
    system, clock = shipped("outline@incident"), Clock()
    result = search(system, Options(**options))  # type: ignore[arg-type]

    assert 0 < result.cpu_seconds <= clock.cpu_seconds()
