"""`kvproto explain` of traces and of actions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvproto.trace import codec

if TYPE_CHECKING:
    from cli_runs import Run

TRACES = Path(__file__).parent.parent.parent / "traces"
OUTLINE = "outline-incident-reads_own_writes.trace.json"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A copy of a recorded trace."""
    return Path(shutil.copy(TRACES / OUTLINE, tmp_path / OUTLINE))


def test_a_trace_is_explained_and_left_alone(kv: Run, trace: Path) -> None:
    before = trace.read_bytes()
    done = kv("explain", str(trace))

    assert (0, "") == (done.code, done.err)
    assert "reject_at_admission on" in done.out
    assert "holds in this scope" in done.out
    assert "Point of no return\n  Step 1, submit(r=A, long=true)" in done.out
    assert trace.read_bytes() == before


def test_what_is_saved_is_told_by_others(kv: Run, trace: Path) -> None:
    assert 0 == kv("explain", str(trace), "--save").code
    saved = codec.read(trace)

    assert saved.analysis is not None
    assert saved.analysis.guard() == saved.analysis.guards[0]
    assert "reject_at_admission" in saved.why[-1]
    assert saved.analysis.no_return is not None
    assert "reject_at_admission" in kv("show", str(trace)).out
    first = trace.read_bytes()
    assert 0 == kv("explain", str(trace), "--save").code
    assert trace.read_bytes() == first


def test_quick_searches_nothing(kv: Run, trace: Path) -> None:
    done = kv("explain", str(trace), "--quick")

    assert 0 == done.code
    assert "in this scope" not in done.out
    assert "Not known: nobody looked." in done.out


def changed(trace: Path, **fields: object) -> None:
    """Write other values into the file."""
    tree = json.loads(trace.read_text("utf-8"))
    trace.write_text(json.dumps(tree | fields), "utf-8")


def test_a_model_that_nobody_knows(kv: Run, trace: Path) -> None:
    changed(trace, model="outlin")
    done = kv("explain", str(trace))

    assert 2 == done.code
    assert "KV027" in done.err
    assert "did you mean 'outline'?" in done.err
    assert "--model FILE.py" in done.err
    assert 0 == kv("explain", str(trace), "--quick", "--model", "outline").code


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"digest": "0123456789abcdef"}, "its digest is 0123456789abcdef"),
        ({"preset": "0.0"}, "no such preset or scope"),
        ({"parameters": {"nonsense": 1}}, "nonsense"),
        ({"property": "reads_no_foreign_data"}, "the claim is not violated"),
        ({"property": "nonsense"}, "no property"),
        ({"loop": 9}, "not about whole runs"),
    ],
)
def test_a_model_that_has_changed(kv: Run, trace: Path, fields: dict[str, object], why: str) -> None:
    changed(trace, **fields)
    done = kv("explain", str(trace))

    assert 2 == done.code
    assert "KV028" in done.err
    assert why in done.err
    assert "record it again with" in done.err


def test_a_witness_violates_nothing(kv: Run, trace: Path) -> None:
    changed(trace, verdict="holds")
    done = kv("explain", str(trace))

    assert 2 == done.code
    assert "KV029" in done.err


def test_a_model_of_ones_own(kv: Run, tmp_path: Path) -> None:
    file = tmp_path / "lock.py"
    file.write_text(
        '"""Two tasks and a lock that nobody looks at."""\n'
        "from kvproto.lang import Array, Bool, Machine, Model, Params, Record, Sort, action, flag, invariant, require\n"
        'Task = Sort("Task", size=2)\n'
        "class Config(Params):\n"
        '    looks: bool = flag(False, "a task looks at the lock first", kind="mitigation")\n'
        "cfg = Config()\n"
        "class State(Record):\n"
        "    inside: Array(Task, Bool)\n"
        'm = Machine("m")\n'
        "@action(m)\n"
        "def enter(s, t: Task):\n"
        '    """Task {t} enters."""\n'
        "    require(not s.inside[t])\n"
        "    require(not cfg.looks or all(not s.inside[x] for x in Task))\n"
        "    s.inside[t] = True\n"
        '@invariant("one at a time")\n'
        "def alone(s):\n"
        "    return sum(s.inside[t] for t in Task) <= 1\n"
        'model = Model("lock", "a lock", State, parts=[__name__], params=Config)\n',
        "utf-8",
    )
    assert 1 == kv("check", str(file), "--trace-dir", str(tmp_path)).code
    (found,) = tmp_path.glob("*.trace.json")

    assert "KV027" in kv("explain", str(found)).err
    done = kv("explain", str(found), "--model", str(file))
    assert 0 == done.code
    assert "looks on" in done.out
    assert "is refused: it needs all(not s.inside[x] for x in Task)" in " ".join(done.out.split())


def test_options_of_traces_only(kv: Run) -> None:
    for option in (["--save"], ["--quick"], ["--model", "outline"]):
        done = kv("explain", "KV107", *option)
        assert 2 == done.code
        assert "KV026" in done.err


def test_no_such_trace(kv: Run) -> None:
    done = kv("explain", "nowhere.trace.json")

    assert 2 == done.code
    assert "KV010" in done.err


def test_an_action(kv: Run) -> None:
    done = kv("explain", "commit")

    assert (0, "") == (done.code, done.err)
    assert "commit(r: Req)  (model sglang)" in done.out
    assert "cites    srt/disaggregation/decode.py" in done.out
    assert "  require(q.decode == Decode.TRANSFER)" in done.out
    assert "place    models/sglang/decode.py:" in done.out


def test_an_action_of_a_block(kv: Run) -> None:
    done = kv("explain", "lend")

    assert 0 == done.code
    assert "(model blocks.page_pool)" in done.out


def test_something_like_an_action(kv: Run) -> None:
    assert "did you mean 'prealloc'?" in kv("explain", "preallocc").err
