"""Scripts of traces: run against the reference implementation as a bench, and against small benches in memory."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import pytest
from benches import ReferenceBench

from kvproto.cli.main import main
from kvproto.injection import Schedule, schedule, script
from kvproto.trace import codec
from kvproto.trace.trace import Trace
from kvproto.whatif.subject import subject

TRACES = Path(__file__).parents[2] / "traces"
INCIDENT = "sglang-incident-reads_no_foreign_data"
LATE = "sglang-0.5.19-writes_spare_other_requests"
SAFETY = sorted(
    path.name.removesuffix(codec.SUFFIX)
    for path in TRACES.glob("*.trace.json")
    if (trace := codec.read(path)).loop is None and trace.property != "no_deadlock"
)

_numbers = itertools.count()


@lru_cache
def planned(name: str) -> tuple[Trace, Schedule]:
    trace = codec.read(TRACES / f"{name}{codec.SUFFIX}")
    return trace, schedule(subject(trace))


def loaded(name: str, folder: Path) -> ModuleType:
    """The script of a recorded trace, as a module."""
    file = folder / f"faults{next(_numbers)}.py"
    file.write_text(script(planned(name)[1], f"{name}.trace.json"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bench(name: str, deaf: tuple[str, ...] = (), **changes: bool) -> ReferenceBench:
    trace = planned(name)[0]
    return ReferenceBench(trace.model, {**trace.parameters, **changes}, deaf)


@pytest.mark.parametrize("needed", [False, True])
@pytest.mark.parametrize("name", [INCIDENT, LATE, "outline-0.5.19-writes_spare_other_requests"])
def test_the_schedule_leads_a_free_running_engine_into_the_defect(name: str, needed: bool, tmp_path: Path) -> None:
    adapter, said = bench(name), list[str]()
    faults = loaded(name, tmp_path)

    assert faults.missing(adapter) == []
    assert faults.run(adapter, needed, said.append), said
    assert said[-1].startswith("the engine did all of it: ")
    assert adapter.over


@pytest.mark.parametrize("name", SAFETY)
def test_all_holds_keep_the_reference_on_the_way_of_the_trace(name: str, tmp_path: Path) -> None:
    trace = planned(name)[0]
    adapter, said = bench(name), list[str]()

    for number, hook, event, _ in loaded(name, tmp_path).orders(False):
        said.append(f"{number} {hook} {event.call}")
        getattr(adapter, hook)(event)

    assert adapter.log == [step.action for step in trace.steps]
    *_, last = trace.states()
    assert adapter.state() == last


def test_without_its_holds_the_late_write_is_not_late(tmp_path: Path) -> None:
    said = list[str]()

    assert not loaded(LATE, tmp_path).run(bench(LATE, deaf=("land",)), False, said.append)
    assert said[-1].startswith("the engine goes its own way at ")


@pytest.mark.parametrize(
    ("name", "switch", "order"),
    [
        (LATE, "deferred_release", "decode page 0 is B's, and it holds what A wrote: page 0 is ('A', 'A')"),
        (INCIDENT, "reject_at_admission", "wait_for finalize(B)"),
        (INCIDENT, "token_count_check", "attend(B)"),
    ],
)
def test_an_engine_with_the_measure_goes_its_own_way(name: str, switch: str, order: str, tmp_path: Path) -> None:
    said = list[str]()

    assert not loaded(name, tmp_path).run(bench(name, **{switch: True}), False, said.append)
    assert order in said[-1]


def test_the_late_write_is_held_from_the_start_until_the_page_is_anothers(tmp_path: Path) -> None:
    orders = [(hook, event.call) for _, hook, event, _ in loaded(LATE, tmp_path).orders(True)]

    assert ("hold", "land(0, 0, A, 0)") in orders
    assert orders.index(("hold", "land(0, 0, A, 0)")) < orders.index(("cause", "submit(A, False)"))
    assert orders[-2:] == [("release", "prealloc(B)"), ("release", "land(0, 0, A, 0)")]


def test_the_order_of_the_incident_needs_no_hold(tmp_path: Path) -> None:
    assert not [order for order in loaded(INCIDENT, tmp_path).orders(True) if order[1] == "hold"]


def test_what_clients_and_clocks_do_is_caused() -> None:
    for name in SAFETY:
        for order in planned(name)[1].orders:
            action = order.event.action
            outside = action in ("submit", "disconnect", "call_fails", "fail_transfer", "vanish") or "time" in action
            assert (order.hook in ("cause", "drop")) == outside, order


def test_a_lost_message_is_held_and_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["message_loss=on", "client_disconnects=off", "transfer_failures=off", "timeouts=off"]
    given = [word for text in sets for word in ("--set", text)]
    check = ["check", "sglang@0.5.19", "--scope", "fan-out", "--property", "no_deadlock", *given]
    assert main([*check, "--trace-dir", str(tmp_path), "-q"]) == 1
    capsys.readouterr()
    (file,) = tmp_path.glob("*.trace.json")
    trace = codec.read(file)

    orders = [(order.hook, order.event.call) for order in schedule(subject(trace)).orders]

    dropped = [call for hook, call in orders if hook == "drop"]
    assert dropped and all(("hold", call) in orders for call in dropped)
    assert all("lose" not in call for _, call in orders)


# ------------------------------------------------------------------------------------ command line


def exported(folder: Path, name: str = LATE) -> Path:
    file = folder / "faults.py"
    assert main(["export", str(TRACES / f"{name}{codec.SUFFIX}"), "--to", "faults", "-o", str(file)]) == 0
    return file


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script alone: without site packages, so without kvproto."""
    command = [sys.executable, "-S", "-E", "faults.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_script_stands_alone_and_prints_its_orders(tmp_path: Path) -> None:
    exported(tmp_path)

    done = python(tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "  release   land(0, 0, A, 0)\n" in done.stdout
    assert "in srt/disaggregation/decode.py:DecodeTransferQueue.pop_transferred" in done.stdout
    assert "expect    decode page 0 is B's, and it holds what A wrote" in done.stdout


IN_MEMORY = '''
class Engine:
    """Obeys every order, and has the defect."""

    pages = {"0": ("B", "A")}

    def __init__(self):
        self.held, self.happened = set(), []

    def hold(self, event): self.held.add(event.call)
    def cause(self, event): self.happened.append(event.call)
    def release(self, event): self.held.remove(event.call); self.happened.append(event.call)
    def wait_for(self, event): assert event.call not in self.held; self.happened.append(event.call)
    def drop(self, event): self.held.remove(event.call)
    def finish(self): self.held.clear()
    def knows(self, event): return True

    def expect(self, fact):
        assert fact.kind == "claim" or self.pages[fact.page] == (fact.owner, fact.content), "another page"


class Mended(Engine):
    """Holds its pages: B never gets one."""

    def release(self, event):
        if event.call == "prealloc(B)":
            raise TimeoutError("no page is free")
        super().release(event)


class Unlike(Engine):
    """Ends with something else in the page."""

    pages = {"0": ("B", "B")}


class Ignorant(Engine):
    """Cannot see a landing."""

    def knows(self, event): return event.action != "land"


class Partial:
    """Has no hooks but one."""

    def hold(self, event): ...
'''


@pytest.mark.parametrize(
    ("adapter", "code", "said"),
    [
        ("Engine", 1, "the engine did all of it: writes_spare_other_requests"),
        ("Mended", 0, "release prealloc(B): no page is free"),
        ("Unlike", 0, "decode page 0 is B's, and it holds what A wrote: another page"),
        ("Ignorant", 2, "land(0, 0, A, 0) is not known"),
        ("Partial", 2, "there is no hook wait_for"),
    ],
)
def test_small_benches(adapter: str, code: int, said: str, tmp_path: Path) -> None:
    exported(tmp_path)
    (tmp_path / "bench.py").write_text(IN_MEMORY)

    done = python(tmp_path, "--run", f"bench:{adapter}")

    assert (done.returncode, done.stderr) == (code, "")
    assert said in done.stdout


def test_check_gives_no_order(tmp_path: Path) -> None:
    exported(tmp_path)
    (tmp_path / "bench.py").write_text(IN_MEMORY + "\n    def cause(self, event): raise SystemExit(9)\n")

    done = python(tmp_path, "--check", "bench:Engine")

    assert (done.returncode, done.stdout) == (0, "the adapter is complete: 8 hooks, 23 events\n")


def test_the_same_trace_gives_the_same_script(tmp_path: Path) -> None:
    assert exported(tmp_path).read_bytes() == exported(tmp_path).read_bytes()


def test_strange_names_stay_text(tmp_path: Path) -> None:
    text = script(planned(LATE)[1], 'x"""\nraise SystemExit(9)\n"""\\')

    compile(text, "faults.py", "exec")
    assert "raise SystemExit" in text.partition("import argparse")[0].splitlines()[3]


def test_the_page_shows_the_holds_that_are_needed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "injection.md").read_text(encoding="utf-8")
    needed = [order for order in planned(LATE)[1].orders if order.hook == "hold" and order.needed]

    shown = "".join(f"{n:>3}  hold      {o.event.call}\n{'':15}{o.note}\n" for n, o in enumerate(needed, 1))
    assert f"```\n{shown}```\n" in page


@pytest.mark.parametrize("adapter", ["nosuch:Adapter", "json:Adapter", "os:path", "json", "broken:Adapter"])
@pytest.mark.parametrize("option", ["--run", "--check"])
def test_an_adapter_that_goes_wrong_says_nothing_of_the_engine(adapter: str, option: str, tmp_path: Path) -> None:
    """Python ends with 1 after an exception, and 1 would mean that the engine has the defect."""
    file = tmp_path / "faults.py"
    file.write_text(script(planned(INCIDENT)[1], "it.trace.json"), encoding="utf-8")
    hooks = "hold = cause = release = drop = wait_for = expect = finish = lambda self, *given: None"
    lines = ["class Adapter:", f"    {hooks}", "    def knows(self, event):", "        raise RuntimeError('no bench')"]
    (tmp_path / "broken.py").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, str(file), option, adapter], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "the adapter went wrong, which says nothing of the engine" in done.stderr
