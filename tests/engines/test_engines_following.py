"""What is made of an engine's answers: grouping, differences, refusals, words.  The engine is a table here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from engine_runs import recorded
from sglang_walks import Walk

from kvproto.cli.main import main
from kvproto.diagnostics import KvError
from kvproto.engines import fitting
from kvproto.engines.child import EngineRaised
from kvproto.engines.following import Followed, divergence_text, follow
from kvproto.engines.protocol import Client, Leg, Now, Reading, Sizes, Step
from kvproto.engines.reporting import report_lines
from kvproto.trace.trace import Trace

EARLY = "sglang-0.5.21-chunks-client_disconnects=off-transfer_failures=off-early_send=on-reads_no_foreign_data"
TRACES = Path(__file__).parents[2] / "traces"


class Table:
    """An engine that does what the trace says, except where `says` has something else for a step's number."""

    engine = SimpleNamespace(name="sglang")
    version = "0.5.19"

    def __init__(self, trace: Trace, says: Mapping[int, Any] | None = None) -> None:
        self.trace, self.says = trace, dict(says or {})
        self.states = list(trace.states())
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.numbers = [number for number, step in enumerate(trace.steps, 1) if step.action not in fitting.GROUPED[1:]]

    def start(self, sizes: Sizes) -> Now:
        self.sizes = sizes
        return Now(self._state(0), ())

    def perform(self, action: str, args: Mapping[str, Any]) -> Step:
        self.asked.append((action, dict(args)))
        if len(self.asked) > len(self.numbers):
            return Step("", ("finished",), (), (), Now(self._state(len(self.states) - 1), ()))
        number = self.numbers[len(self.asked) - 1]
        said = self.says.get(number)
        if isinstance(said, Exception):
            raise said
        refused = said if isinstance(said, str) else ""
        return Step(refused, (f"srt/x.py:f{number}",), ("B",), (), Now(self._state(number), ("claim",)))

    def _state(self, number: int) -> dict[str, Any]:
        changed = self.says.get(number)
        return {**self.states[number], **(changed if isinstance(changed, dict) else {})}

    def view(self) -> dict[str, Client]:
        reading = Reading({"A": 1, "": 2, "B": 3}, ((0, "A"), (1, None), (2, "B"), (3, "B")))
        return {"A": Client("OK_200", 6, {"decode": Leg(200, "done")}, (reading,)), "B": Client("IDLE", 0, {}, ())}


def told(result: Followed) -> str:
    assert result.divergence is not None
    return divergence_text(result.divergence)


def test_agreement_goes_on_to_the_answer() -> None:
    trace = recorded("incident-reads_own_writes")
    table = Table(trace)
    result = follow(trace, table)  # type: ignore[arg-type]

    assert result.divergence is None
    assert [point.call for point in result.settled] == ["finish(A)"]
    assert table.asked[0] == ("submit", {"r": "A", "long": True})
    assert ("land", {"r": "A", "k": 0}) in table.asked
    assert table.sizes.limit == 5 and table.sizes.prefill_pages == table.sizes.decode_pages == 8


@pytest.mark.parametrize(
    ("says", "text"),
    [
        ({3: {"stray": True}}, "step 3, enter(A): stray is false in the model, true in the engine"),
        ({0: {"p_owner[0]": "B"}}, "the initial state: p_owner[0] is none in the model, B in the engine"),
        ({4: "no pages"}, "step 4, prealloc(A): the engine does not do it: no pages"),
        (
            {5: {"stray": True, "revived": True}},
            "step 5, receive_metadata(A): stray is false in the model, true in the engine "
            "(and 1 more variables differ)",
        ),
        ({2: {"req[A].sent": True}}, "step 2, admit(A): req[A].sent is 1 in the model, true in the engine"),
    ],
)
def test_first_difference_ends_it(says: dict[int, Any], text: str) -> None:
    trace = recorded("incident-reads_own_writes")
    result = follow(trace, Table(trace, says))  # type: ignore[arg-type]

    assert told(result) == text
    assert result.settled == ()
    assert result.summary()["agrees"] is False


def test_exception_of_the_engine_is_a_difference() -> None:
    trace = recorded("incident-reads_own_writes")
    raised = EngineRaised("KV056", "m", reason="r", cure="c")
    raised.told, raised.where = "ValueError: no such room", "srt/x.py:3, in f"
    result = follow(trace, Table(trace, {4: raised}))  # type: ignore[arg-type]

    assert told(result) == (
        "step 4, prealloc(A): the engine does not do it: its code raises ValueError: no such room (srt/x.py:3, in f)"
    )


def held() -> Trace:
    """An abort with three steps of the bootstrap thread, in the middle of which the model is between two states."""
    return recorded("0.5.21-acknowledged_is_quiet")


def test_grouped_steps_are_one() -> None:
    trace = held()
    names = [step.action for step in trace.steps]
    assert "receive_abort" in names
    first = names.index("receive_abort") + 1
    result = follow(trace, Table(trace, {first: {"stray": True}}))  # type: ignore[arg-type]

    if "try_acknowledge" in names:
        # What differs in the middle of the group is not looked at.
        assert result.divergence is None
        assert [point.compared for point in result.points[first - 1 : first + 1]] == [False, False]
    assert all(point.grouped == (name in fitting.GROUPED[1:]) for point, name in zip(result.points, names, strict=True))


def test_words() -> None:
    trace = recorded("incident-reads_own_writes")
    text = "\n".join(report_lines(follow(trace, Table(trace))))  # type: ignore[arg-type]

    assert "sglang==0.5.19, along a trace of incident" in text
    assert "the engine agrees with the model after each of 17 steps" in text
    assert "client A, prompt of 6 tokens: has HTTP 200" in text
    assert "decode read 6 tokens: 1 written by A, 2 that nobody wrote, 3 written by B" in text
    assert "page 1 that A reads was written by nobody" in text
    assert "pages 2, 3 that A reads were written by B" in text
    assert "kept out of this pass: B" in text
    assert "client B" not in text


def changed(trace: Trace, **parameters: bool | int | str) -> Trace:
    return replace(trace, parameters={**trace.parameters, **parameters})


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"DRank": 2}, "one rank on either side"),
        ({"checksum": True}, "off by default"),
        ({"two_chunks": True}, "chunked prefill is off"),
        ({"source_hold": True}, "a proposal that is in no release"),
        ({"Req": 9}, "the harness takes 1 to 8"),
        ({"Pos": True}, "the harness takes 1 to 64"),
        ({"Pos": 65}, "the harness takes 1 to 64"),
    ],
)
def test_traces_that_cannot_be_driven(parameters: dict[str, Any], why: str) -> None:
    with pytest.raises(KvError) as refused:
        fitting.sizes(changed(recorded("incident-reads_own_writes"), **parameters))

    assert refused.value.diagnostic.code == "KV057"
    assert why in refused.value.diagnostic.reason


def test_every_action_is_driven_grouped_or_refused() -> None:
    """Nothing of the model is left out in silence, and nothing is driven that the model does not have."""
    from kvproto.engines.inside.steps import ACTIONS

    model = {call[0].name for call in Walk("small").calls}

    assert set(ACTIONS) | set(fitting.GROUPED[1:]) | set(fitting.UNDRIVEN) == model
    assert not set(ACTIONS) & set(fitting.UNDRIVEN)


def test_every_variable_is_compared_or_explained() -> None:
    """By the page in docs as well: the table there is this one."""
    from kvproto.engines.inside.abstraction import NOT_COMPARED

    page = (Path(__file__).parents[2] / "docs" / "engines.md").read_text()

    assert [name for name in NOT_COMPARED if f"| `{name}` |" not in page] == []


def test_other_models_and_steps_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for name, why in (
        ("outline-incident-reads_own_writes", "it is one of 'outline'"),
        ("sglang-0.5.22-fan-out-ranks_agree", "it has 2 ranks in DRank"),
        (EARLY, "is launch_chunk"),
    ):
        assert main(["replay", str(TRACES / f"{name}.trace.json"), "--impl", "sglang==0.5.19"]) == 2
        assert why in capsys.readouterr().err


def test_options_that_say_nothing_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(TRACES / "sglang-incident-reads_own_writes.trace.json")
    assert main(["replay", trace, "--impl", "sglang==0.5.19", "--set", "checksum=on"]) == 2
    assert "--set says nothing with --impl" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["argument", "argument of a step without code", "action", "variable"])
def test_a_trace_that_is_none_of_the_models_is_no_finding(
    wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused as on the reference implementation, before an engine gets to see it."""
    found = json.loads((TRACES / "sglang-0.5.23-rooms_are_cleared.trace.json").read_text())
    steps = found["steps"]
    if wrong == "argument":
        steps[0]["args"] = {"r": "Z"}
    elif wrong == "argument of a step without code":
        next(step for step in steps if step["action"] in fitting.GROUPED[1:])["args"] = {"r": "A", "p": 7}
    elif wrong == "action":
        steps[0]["action"] = "submitt"
    else:
        left_out = next(path for path in found["init"] if path.endswith(".decode"))
        del found["init"][left_out]
        found.pop("analysis", None)
        for step in steps:
            step["delta"].pop(left_out, None)
            step["reads"] = [path for path in step["reads"] if path != left_out]
            step["writes"] = [path for path in step["writes"] if path != left_out]
    file = tmp_path / "wrong.trace.json"
    file.write_text(json.dumps(found))

    assert main(["replay", str(file), "--impl", "sglang==0.5.19"]) == 2
    assert "KV013" in capsys.readouterr().err
