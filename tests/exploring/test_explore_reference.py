"""Exploring the reference implementation: defects that are there, defects that are put in, and none."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from kvproto.cli.main import main
from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Machine, State, choices
from kvproto.engines.child import EngineRaised
from kvproto.engines.protocol import Sizes
from kvproto.exploring.beside import Beside
from kvproto.exploring.engine import Engine
from kvproto.exploring.findings import AT_REST, Gap
from kvproto.exploring.reference import Reference
from kvproto.exploring.search import Explored, Plan, explore
from kvproto.exploring.target import Did, Happening, Look
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.reference.outline import decode as outline_decode
from kvproto.reference.sglang import decode as sglang_decode
from kvproto.reference.sglang import prefill as sglang_prefill
from kvproto.trace import codec

LATE_WRITE = str(Path(__file__).parents[2] / "traces" / "sglang-0.5.19-writes_spare_other_requests.trace.json")


def system(target: str, **sets: object) -> System:
    named = find(target)
    return build(named.model, choose(named.model, preset=named.preset, sets=sets))


def explored(target: str, plan: Plan, **sets: object) -> Explored:
    beside = Beside(system(target, **sets))
    return explore(Reference(beside), beside, plan)


def depths(model: System, most: int) -> int:
    """States of a model within so many steps, counted with nothing but the evaluator."""
    machine = Machine(model)
    (start,) = machine.initial()
    seen, queue = {start}, deque[tuple[State, int]]([(start, 0)])
    while queue:
        state, depth = queue.popleft()
        if depth < most:
            for action in model.actions:
                for args in choices(action.params):
                    after = machine.step(action.params, action.body, state, args)
                    if after is not None and after not in seen:
                        seen.add(after)
                        queue.append((after, depth + 1))
    return len(seen)


@pytest.mark.parametrize(("target", "depth"), [("outline@0.5.19", 4), ("sglang@0.5.23", 3)])
def test_every_order_means_all_states_of_the_model(target: str, depth: int) -> None:
    result = explored(target, Plan(depth=depth, schedules=0, ticks=True))

    assert result.extents[0].places == depths(system(target), depth)
    assert not result.findings.gaps
    assert not result.findings.surplus


def test_a_small_world_comes_to_its_end() -> None:
    sizes = {"Req": 1, "Slot": 1, "PPage": 1, "DPage": 1, "short_prompt": 1, "prefill_pool": 1}
    result = explored("outline@0.5.19", Plan(depth=40, schedules=0, ticks=True), **sizes)

    (extent,) = result.extents
    assert extent.exhausted and not extent.cut
    assert extent.places == depths(system("outline@0.5.19", **sizes), 40)


def test_the_incident_is_found_and_made_short() -> None:
    plan = Plan(depth=0, schedules=60, claims=("reads_own_writes",))
    result = explored("outline@incident", plan)

    found = result.findings.violations["reads_own_writes"]
    assert (result.exit_code, found.way, found.expected) == (1, "sampled", True)
    assert len(found.path) == len(codec.read(Path(__file__).parents[2] / "traces" / INCIDENT).steps)


INCIDENT = "outline-incident-reads_own_writes.trace.json"


def test_nothing_is_found_where_the_prompt_is_refused() -> None:
    plan = Plan(depth=3, schedules=15)
    result = explored("outline@incident", plan, reject_at_admission=True)

    assert (result.exit_code, result.findings.wrong) == (3, False)


def test_the_same_seed_finds_the_same() -> None:
    plan = Plan(depth=0, schedules=8, seed=5)

    one, other = (explored("outline@0.5.19", plan).findings.violations for _ in range(2))

    assert one == other
    assert explored("outline@0.5.19", Plan(depth=0, schedules=8, seed=6)).extents[0].places > 0


def test_the_time_limit_cuts() -> None:
    now = iter(range(10_000))
    result = explored("outline@0.5.19", Plan(depth=9, schedules=9, time_limit=20, clock=lambda: float(next(now))))

    assert [extent.cut for extent in result.extents] == [True, True]
    assert result.extents[0].depth < 9


# ------------------------------------------------------------------------------------- mistakes


def _forgets_a_page(original: Callable[..., None]) -> Callable[..., None]:
    def release(self: sglang_prefill.Prefill, room: int) -> None:
        self.row_owners.release(room)

    return release


def _takes_everybody_in(original: Callable[..., None]) -> Callable[..., None]:
    def abort(self: sglang_decode.Decode, room: int) -> None:
        if room not in self.aborts:
            self.queues.expect(room, sglang_decode.PREALLOC)
            self.aborts.add(room)
        original(self, room)

    return abort


def _will_not(original: Callable[..., None]) -> Callable[..., None]:
    def enter(self: sglang_decode.Decode, room: int) -> None:
        if room == 2:
            self.queues.expect(room, "nowhere")
        original(self, room)

    return enter


@pytest.mark.parametrize(
    ("part", "name", "mistake", "kind", "about"),
    [
        (sglang_prefill.Prefill, "_release", _forgets_a_page, "state", "inflight_success: p_owner"),
        (sglang_decode.Decode, "handle_abort", _takes_everybody_in, "step", "abort_on_decode"),
    ],
)
def test_what_the_code_does_and_the_model_does_not_is_a_gap(
    part: type, name: str, mistake: Callable[..., object], kind: str, about: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, name, mistake(getattr(part, name)))

    result = explored("sglang@0.5.19", Plan(depth=0, schedules=6), Req=1, client_disconnects=False)

    gaps = {gap.about: gap for gap in result.findings.gaps.values() if gap.kind == kind}
    assert result.exit_code == 1
    assert about in gaps
    assert gaps[about].path[-1].action == about.partition(":")[0]
    assert gaps[about].detail


def test_what_the_model_allows_and_the_code_does_not_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sglang_decode.Decode, "enter", _will_not(sglang_decode.Decode.enter))

    result = explored("sglang@0.5.19", Plan(depth=3, schedules=0))

    surplus = result.findings.surplus["enter"]
    assert str(surplus.step) == "enter(B)"
    assert surplus.reason.endswith("not in nowhere")
    assert surplus.times > 1
    assert not result.findings.gaps


def test_a_defect_that_is_not_in_the_model_is_found_by_its_own_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode commits without waiting for the success: the model has no such step, the tensors show what is read."""
    monkeypatch.setattr(outline_decode.Decode, "commit", _hasty)

    plan = Plan(depth=0, schedules=40, claims=("reads_own_writes",))
    result = explored("outline@0.5.19", plan, Req=1, reject_at_admission=True, client_disconnects=False)

    assert any(gap.kind == "step" and gap.about == "commit" for gap in result.findings.gaps.values())
    found = result.findings.violations["reads_own_writes"]
    assert not found.expected


def _hasty(self: outline_decode.Decode, room: int) -> None:
    self.queues.expect(room, outline_decode.TRANSFER)
    self.queues.move(room, outline_decode.WAITING)


# ------------------------------------------------------------------------------- a target in memory


class Counter:
    """Counts to three; `odd` changes how."""

    name = "a counter"
    driven = frozenset({"submit", "admit"})
    grouped: Mapping[str, tuple[str, ...]] = {}
    left_out = ()

    def __init__(self, odd: str = "") -> None:
        self.odd = odd
        self.begun = self.count = 0

    def _look(self) -> Look:
        state = {"count": self.count, "d_owner[0]": "A" if self.odd == "keeps" else None}
        return Look(state, frozenset({"pages_conserved"} if self.count == 2 and self.odd == "wrong" else ()))

    def begin(self, steps: object = ()) -> Did:
        self.begun += 1
        self.count = sum(1 for _ in steps)  # type: ignore[attr-defined]
        if self.odd == "chance" and self.begun > 3:
            self.count += 1
        return Did(self._look())

    def possible(self) -> list[Happening]:
        return [Happening("tick")] if self.count < 3 else []

    def perform(self, step: Happening) -> Did:
        if self.odd == "raises" and self.count == 1:
            return Did(self._look(), raised="ZeroDivisionError: division by zero")
        self.count += 1
        return Did(self._look())


class Agrees(Beside):
    """A model that takes every step and sees nothing."""

    def after(self, state: State, step: Happening) -> State:
        return state


def counted(odd: str, **plan: object) -> Explored:
    agrees = Agrees(system("outline@0.5.19"))
    return explore(Counter(odd), agrees, Plan(**{"depth": 0, "schedules": 2} | plan))  # type: ignore[arg-type]


def test_code_that_does_not_repeat_itself_is_refused() -> None:
    with pytest.raises(KvError) as refused:
        counted("chance", depth=3, schedules=0)

    assert refused.value.diagnostic.code == "KV061"


def test_what_the_code_raises_is_a_gap() -> None:
    result = counted("raises")

    (gap,) = result.findings.gaps.values()
    assert isinstance(gap, Gap)
    assert (gap.kind, gap.detail, len(gap.path)) == ("raised", "ZeroDivisionError: division by zero", 2)


def test_pages_that_are_never_given_back() -> None:
    assert AT_REST in counted("keeps").findings.violations
    assert not counted("").findings.wrong


def test_a_claim_that_only_the_code_breaks() -> None:
    found = counted("wrong").findings.violations["pages_conserved"]

    assert (len(found.path), found.expected) == (2, False)


# ------------------------------------------------------------------------------------- command line


def test_a_violation_is_a_trace_that_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--depth", "2", "--schedules", "40", "--property", "reads_own_writes", "--trace-dir", str(tmp_path)]
    assert main(["explore", "outline@incident", "--impl", "reference", *asked]) == 1

    (file,) = tmp_path.glob("*.trace.json")
    assert str(file) in capsys.readouterr().out
    trace = codec.read(file)
    assert (trace.strength, trace.shortest) == ("sampled", False)
    assert main(["replay", str(file)]) == 0
    assert main(["show", str(file)]) == 0


def test_traces_of_a_run_do_not_lie_among_the_recorded_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever explores in a checkout finds them where `check` puts its own."""
    monkeypatch.chdir(tmp_path)
    asked = ["--depth", "2", "--schedules", "40", "--property", "reads_own_writes"]

    assert main(["explore", "outline@incident", "--impl", "reference", *asked]) == 1
    assert [file.parent for file in tmp_path.rglob("*.trace.json")] == [tmp_path / ".kvproto" / "traces"]


def test_a_gap_is_a_schedule_that_is_taken_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sglang_prefill.Prefill, "_release", _forgets_a_page(sglang_prefill.Prefill._release))
    asked = ["--depth", "0", "--schedules", "4", "--requests", "1", "--set", "client_disconnects=off"]
    explore_it = ["explore", "sglang@0.5.19", "--impl", "reference", "--trace-dir", str(tmp_path)]
    assert main([*explore_it, *asked, "--json", str(tmp_path / "out.json")]) == 1
    capsys.readouterr()

    outcome = json.loads((tmp_path / "out.json").read_text())
    gap = next(one for one in outcome["gaps"] if one["about"] == "inflight_success: p_owner")
    assert main(["explore", "--again", gap["file"]]) == 1
    assert "p_owner[0] is None in the model, A in the code" in capsys.readouterr().out
    monkeypatch.undo()
    assert main(["explore", "--again", gap["file"]]) in (1, 3)
    assert "p_owner" not in capsys.readouterr().out.partition("\n")[2]


def test_nothing_found_is_inconclusive(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["--depth", "2", "--schedules", "1", "--length", "5", "--trace-dir", str(tmp_path)]

    assert main(["explore", "outline@0.5.19", "--impl", "reference", *asked]) == 3

    out = capsys.readouterr().out
    assert "nothing was found, which is no proof" in out
    assert "holds" not in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--impl", "reference", "kv_transfer"], "KV020"),
        (["--impl", "vllm==0.9"], "KV001"),
        (["--impl", "sglang==0.0.1"], "KV002"),
        (["--impl", "sglang==0.5.23", "--set", "two_chunks=on"], "KV057"),
        (["--impl", "reference", "--property", "reads_own_write"], "KV004"),
        (["--impl", "reference", "--property", "answered"], "KV004"),
        (["--impl", "reference", "--time-limit", "nan"], "KV022"),
        (["--impl", "reference", "--requests", "2", "--set", "Req=3"], "KV026"),
        (["--impl", "reference", "outline@incident", "--after", LATE_WRITE], "KV057"),
        (["--again", "none.schedule.json", "--depth", "3"], "KV026"),
        (["--again", "none.schedule.json", "outline"], "KV026"),
        ([], "KV022"),
    ],
)
def test_what_is_refused(arguments: list[str], code: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["explore", "--trace-dir", str(tmp_path), *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"error {code}  ")


def test_a_schedule_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "--again", "none.schedule.json"]) == 2
    assert capsys.readouterr().err.startswith("error KV010  ")


GOOD = {"schema": "kvproto.schedule/1", "impl": "reference", "target": "sglang@0.5.19", "scope": "small"}


def schedule(tmp_path: Path, *steps: tuple[str, dict[str, object]], **changed: object) -> str:
    """A file with a schedule."""
    rows = [{"action": action, "args": args} for action, args in steps]
    file = tmp_path / "x.schedule.json"
    file.write_text(json.dumps({**GOOD, "sets": {"Req": 2}, "about": "\x1b[31m", "steps": rows} | changed))
    return str(file)


@pytest.mark.parametrize(
    "step",
    [
        ("nope", {}),
        ("submit", {}),
        ("submit", {"r": "C", "long": False}),
        ("submit", {"r": "A", "long": 0}),
        ("submit", {"r": "A", "long": False, "p": 0}),
    ],
)
def test_steps_that_the_model_cannot_take(
    step: tuple[str, dict[str, object]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", "--again", schedule(tmp_path, step)]) == 2

    err = capsys.readouterr().err
    assert err.startswith("error KV011  ") and f"step 1, {step[0]}" in err


def test_a_schedule_runs_no_file_and_no_terminal_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.py").write_text("raise SystemExit('it was run')")
    for target in (str(tmp_path / "model.py"), "os:path", "model.py"):
        assert main(["explore", "--again", schedule(tmp_path, target=target)]) == 2
        assert "it names no model" in capsys.readouterr().err

    assert main(["explore", "--again", schedule(tmp_path, ("submit", {"r": "A", "long": False}))]) == 3
    assert "\x1b" not in capsys.readouterr().out


def test_a_process_that_is_gone_is_no_finding() -> None:
    """Only what the engine's own code raises is one."""

    class Gone:
        engine = SimpleNamespace(name="sglang")
        version = "0.5.19"
        error: KvError = KvError("KV056", "the process has ended", reason="", cure="")

        def perform(self, *_: object) -> None:
            raise self.error

    child = Gone()
    sizes = Sizes(
        requests=1, context=1, short=1, prefill_pages=1, limit=1, decode_pages=1, prefill_rows=1, decode_rows=1
    )
    engine = Engine(child, sizes, system("sglang@0.5.19"))  # type: ignore[arg-type]
    with pytest.raises(KvError, match="the process has ended"):
        engine.perform(Happening("admit"))

    child.error = EngineRaised("KV056", "it has raised RuntimeError", reason="", cure="")
    assert engine.perform(Happening("admit")).raised == "it has raised RuntimeError"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "kvproto.schedule/1"}', "\xff"])
def test_a_file_that_is_no_schedule(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.schedule.json"
    file.write_text(text, encoding="latin-1")

    assert main(["explore", "--again", str(file)]) == 2
    assert capsys.readouterr().err.startswith("error KV011  ")


def test_beginning_in_the_middle_of_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(Path(__file__).parents[2] / "traces" / "outline-0.5.19-writes_spare_other_requests.trace.json")
    steps = len(codec.read(trace).steps)
    asked = ["--after", trace, "--keep", str(steps - 2), "--depth", "2", "--schedules", "0"]
    where = ["--property", "writes_spare_other_requests", "--trace-dir", str(tmp_path)]

    assert main(["explore", "outline@0.5.19", "--impl", "reference", *asked, *where]) == 1

    (file,) = tmp_path.glob("*.trace.json")
    assert (len(codec.read(file).steps), codec.read(file).strength) == (steps, "bounded")
    assert f"from the place after {steps - 2} steps" in capsys.readouterr().out


def test_what_is_broken_where_it_begins_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trace breaks the claim with its last step; nothing has to happen after that."""
    asked = ["--after", LATE_WRITE, "--depth", "1", "--schedules", "0", "--trace-dir", str(tmp_path)]

    assert main(["explore", "sglang@0.5.19", "--impl", "reference", *asked]) == 1

    steps = len(codec.read(LATE_WRITE).steps)
    told = " ".join(capsys.readouterr().out.split())
    assert f"VIOLATED writes_spare_other_requests bounded {steps} steps" in told
    (file,) = tmp_path.glob("*writes_spare_other_requests.trace.json")
    assert len(codec.read(file).steps) == steps


def test_a_place_that_the_code_does_not_reach(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(Path(__file__).parents[2] / "traces" / INCIDENT)
    asked = ["--after", trace, "--set", "reject_at_admission=on", "--trace-dir", str(tmp_path)]

    assert main(["explore", "outline@incident", "--impl", "reference", *asked]) == 2
    assert capsys.readouterr().err.startswith("error KV057  ")
