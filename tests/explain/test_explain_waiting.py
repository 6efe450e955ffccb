"""Runs without end: which steps would lead to the goal, what refuses each, and what is in the slice for it."""

from __future__ import annotations

from pathlib import Path

from waiting_models import violated

from kvproto.explain import backward_slice
from kvproto.explain.why import MOST
from kvproto.trace import codec
from kvproto.trace.trace import Trace


def told(trace: Trace) -> str:
    """The explanation on one line."""
    assert 3 <= len(trace.why) <= MOST
    return " ".join(trace.why)


def number(trace: Trace, action: str, request: str) -> int:
    """The step of that action for that request."""
    calls = [(step.action, step.args.get("r")) for step in trace.steps]
    return calls.index((action, request)) + 1


def test_a_slot_that_a_lost_request_has(tmp_path: Path) -> None:
    """Who has the slot, since when, and why it does not come back."""
    trace = violated(tmp_path, "slot", "served")
    start, lose = number(trace, "start", "B"), number(trace, "lose", "B")

    text = told(trace)
    assert "start(r=A) would change stage[A], but is refused for ever: it needs s.holder is None" in text
    assert f"holder = B (step {start}, start(r=B))" in text
    assert "To change holder, end(r=B) would have to come first" in text
    assert f"it needs s.stage[r] == Stage.RUNS, and stage[B] = LOST (step {lose}, lose(r=B))" in text
    assert "Nothing changes stage[B] any more." in text


def test_what_refuses_is_in_the_slice(tmp_path: Path) -> None:
    """From the file alone, so that `show` and `view` mark these steps."""
    found = violated(tmp_path, "slot", "served")
    trace = codec.loads(codec.dumps(found), name="a trace")
    every = {number(trace, "ask", "A"), number(trace, "start", "B"), number(trace, "lose", "B")}

    assert {"stage[A]", "holder", "stage[B]"} <= set(trace.blame)
    assert every <= backward_slice(trace).steps
    assert [ground.reads for ground in trace.grounds] == [("stage[A]",)]
    assert sum("The verdict rests on" in sentence for sentence in trace.why) == 1


def test_two_that_wait_for_each_other(tmp_path: Path) -> None:
    trace = violated(tmp_path, "circle", "taken")

    text = told(trace)
    assert "it needs s.mark > 0, and mark = 0 (as at the start)" in text
    assert "write(r=A) would have to come first" in text
    assert "So it waits for take(r=A), which waits for it." in text
    assert "Nothing changes" not in text


def test_a_step_that_fails_its_assertion_is_not_called_impossible(tmp_path: Path) -> None:
    trace = violated(tmp_path, "asserts", "ends")
    step = [step.action for step in trace.steps].index("spoil") + 1

    text = told(trace)
    assert f"finish(r=A) would change phase[A], but fails its assertion, not s.bad: bad = true (step {step}," in text
    assert "finish (r=A) fails an assertion, which is no step" in text
    assert "nothing can be done after step 2 by finish (r=B);" in text


def test_a_step_that_is_possible_now_and_then(tmp_path: Path) -> None:
    """Weak fairness does not ask for it; what nobody asks for at all comes after it."""
    trace = violated(tmp_path, "nobody", "comes_up")

    text = told(trace)
    assert trace.loop is not None and trace.loop < len(trace.steps)
    assert "go() would change up, but is refused again and again, as after step" in text
    assert "it needs s.turns == 1, and turns = 0" in text
    assert "jump" not in text
