"""The driver: the incident, what-if runs, mutations of the implementation, and traces that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from outline_walks import Walk, incident, late_write, parameters

from kvproto.diagnostics import KvError
from kvproto.reference.attention import attend
from kvproto.reference.outline.decode import Decode
from kvproto.reference.outline.prefill import Prefill
from kvproto.reference.outline.transport import Transport, Write
from kvproto.reference.pages import Image, Pool
from kvproto.reference.refusal import Refused
from kvproto.replay import CanaryFound, Divergence, replay
from kvproto.trace.trace import Step, Trace


def test_the_incident_ends_in_an_answer_with_another_clients_text() -> None:
    """HTTP 200, the long prompt's token count, and what A wrote on the pages that B's placeholder did not fill."""
    result = replay(incident())
    answer = result.answers["B"]

    assert result.agrees
    assert (200, 8 * 16) == (answer.status, answer.prompt_tokens)
    assert "[A:lynx page 1]" in answer.text
    assert "[A:lynx page 2]" in answer.text
    assert (CanaryFound("B", "A", (1, 2), delivered=True),) == result.canaries
    assert 22 == result.performed == len(result.pages) - 1


def test_with_rejection_at_admission_the_same_schedule_ends_in_400() -> None:
    """The measure that the operator took: an explicit error, nothing sent, nothing read."""
    result = replay(incident(), overrides={"reject_at_admission": True})

    assert 400 == result.answers["B"].status
    assert () == result.canaries
    assert ["forward(B)", "post(B)", "land(B, 0)", "complete(B)", "commit(B)", "attend(B)", "finish(B)"] == [
        step.action for step in result.blocked
    ]
    assert result.divergence is None
    assert not result.agrees
    assert {"reject_at_admission": True} == result.overrides


@pytest.mark.parametrize(
    ("switch", "status"),
    [
        ("retire_after_forward", 400),
        ("token_count_check", 500),
        ("checksum", 500),
        ("carried_tags", 500),
        ("page_tags", 200),
        ("failed_is_terminal", 200),
        ("deferred_release", 200),
        ("deferred_source_release", 200),
        ("zero_on_release", 200),
        ("larger_pool", None),
    ],
)
def test_what_each_measure_makes_of_the_incident(switch: str, status: int | None) -> None:
    """None of the fixes for late writes helps; with a larger pool B's eight pages are still on their way."""
    result = replay(incident(), overrides={switch: True})

    assert status == result.answers["B"].status
    assert (status == 200 and switch != "zero_on_release") == bool(result.canaries)


def test_clearing_hides_the_text_and_the_answer_is_wrong_all_the_same() -> None:
    """With pages cleared on release B reads blanks instead of A's text."""
    result = replay(incident(), overrides={"zero_on_release": True})

    assert "Ⓑ" + "_" * 15 + "·" * 7 * 16 == result.answers["B"].text


def test_a_late_write_corrupts_the_next_owner_of_the_page() -> None:
    """The class that was fixed before; here A's own text arrives in B's answer although B's transfer was complete."""
    result = replay(late_write())

    assert result.agrees
    assert "[A:lynx page 0] " == result.answers["B"].text
    assert ("gone", None) == (result.answers["A"].outcome, result.answers["A"].status)


@pytest.mark.parametrize("switch", ["deferred_release", "carried_tags", "checksum", "patient_balancer"])
def test_a_late_write_stopped(switch: str) -> None:
    """Waiting for the writes keeps B off the page; the checks notice.  The trace's own steps then do not all fit."""
    result = replay(late_write(), overrides={switch: True})

    assert result.blocked
    assert () == result.canaries


def test_overrides_that_change_nothing_leave_the_comparison_on() -> None:
    """An override that says what the trace says is none."""
    result = replay(incident(), overrides={"checksum": False, "prefill_pool": 5})

    assert result.agrees
    assert {} == result.overrides


def test_unchanged_pages_are_shared_between_steps() -> None:
    """A long replay stores the pages once for each time they change."""
    result = replay(incident())

    # At the start, after two forward passes and after four landings.
    assert 1 + 2 + 4 == len({id(entry) for entry in result.pages})


def test_a_trace_that_ends_at_the_read_is_followed_by_the_answer() -> None:
    """The shortest counterexamples end where the property breaks; what decode generates is then brought to its end."""
    trace = incident()
    result = replay(replace(trace, steps=trace.steps[:-1]))

    assert result.agrees
    assert ("finish(B)",) == result.settled
    assert 21 == result.performed == len(result.pages) - 1
    assert 200 == result.answers["B"].status
    assert result.canaries == replay(trace).canaries


def test_after_a_divergence_nothing_more_is_done() -> None:
    """What would follow from a state that is wrong says nothing."""
    trace = incident()
    last = replace(trace.steps[-2], delta={"stray": (False, True)})
    result = replay(replace(trace, steps=(*trace.steps[:-2], last)))

    assert result.divergence is not None
    assert () == result.settled
    assert None is result.answers["B"].status


def test_the_summary_is_json() -> None:
    """The summary goes into the `replay` field of a trace file."""
    summary = replay(incident()).summary()

    assert summary["agrees"] is True
    assert [{"reader": "B", "writer": "A", "pages": [1, 2], "delivered": True}] == summary["canaries"]


# Mutations: each breaks the implementation in one way; replay must notice, and where.

Broken = Callable[..., Any]


def land_next_door(self: Transport, room: int, position: int) -> None:
    """Writes to the page after the target."""
    write = self.posted.pop((room, position))
    self.target.write(write.target + 1, self.source.read(write.source))


def land_early(self: Transport, room: int, position: int, source: int, target: int) -> None:
    """Writes when posted instead of when landing."""
    self.posted[room, position] = Write(room, position, source, target)
    self.target.write(target, self.source.read(source))


def land_half(self: Transport, room: int, position: int) -> None:
    """Copies the first half of the page."""
    write = self.posted.pop((room, position))
    self.target.keys[write.target, :8] = self.source.keys[write.source, :8]
    self.target.values[write.target, :8] = self.source.values[write.source, :8]


def free_all_but_one(self: Pool, room: int) -> None:
    """Forgets the last page."""
    for page in [page for page, owner in enumerate(self.owners) if owner == room][:-1]:
        self.owners[page] = None


def free_and_clear(self: Pool, room: int) -> None:
    """Clears pages although nobody asked for it."""
    for page in [page for page, owner in enumerate(self.owners) if owner == room]:
        self.owners[page] = None
        self.clear(page)


def allocate_from_the_top(self: Pool, room: int, count: int) -> tuple[int, ...]:
    """Takes the highest free pages."""
    chosen = tuple(reversed(self.free_pages()))[:count]
    for page in chosen:
        self.owners[page] = room
    return chosen


original_abort, original_conclude, original_commit = Prefill.handle_abort, Prefill.conclude, Decode.commit


def abort_recalls_writes(self: Prefill, room: int) -> None:
    """Cancels posted writes."""
    original_abort(self, room)
    self._links.transport.posted.clear()


def conclude_silently(self: Prefill, room: int) -> None:
    """Reports nothing to decode."""
    original_conclude(self, room)
    self._links.decode.requests[room].status = None


def commit_later(self: Decode, room: int) -> None:
    """Is never ready to commit."""
    raise Refused("not today")


def keys_lost(self: Pool, page: int, image: Image) -> None:
    """Copies values and forgets keys."""
    self.values[page] = image.values


def attend_first_page(memory: Pool, table: tuple[int, ...], *, expected: list[int] | None = None) -> str:
    """Reads only the first page of the table."""
    return attend(memory, table[:1], expected=expected)


def aborted_in_flight() -> Trace:
    """A request aborted on prefill while its write is in flight."""
    steps = [(name, 0) for name in ("prealloc", "admit", "forward", "post", "disconnect", "abort_on_prefill")]
    walk = Walk(parameters("small", short_prompt=1))
    return walk.follow(("submit", 0, False), *steps, ("land", 0, 0), ("drain", 0)).trace()


@pytest.mark.parametrize(
    ("owner", "name", "broken", "trace", "action", "path"),
    [
        (Transport, "land", land_next_door, incident, "land(A, 0)", "d_content[0]"),
        (Transport, "post", land_early, incident, "post(A)", "d_content[0]"),
        (Transport, "land", land_half, incident, "land(A, 0)", "d_content[0]"),
        (Pool, "free", free_all_but_one, incident, "complete(A)", "p_owner[2]"),
        (Pool, "free", free_and_clear, incident, "complete(A)", "p_content[0]"),
        (Pool, "allocate", allocate_from_the_top, incident, "prealloc(A)", "req[A].target[0]"),
        (Pool, "write", keys_lost, incident, "forward(A)", "p_content[0]"),
        (Prefill, "handle_abort", abort_recalls_writes, aborted_in_flight, "abort_on_prefill(A)", "req[A].flying"),
        (Prefill, "conclude", conclude_silently, incident, "complete(A)", "req[A].report"),
        (Decode, "commit", commit_later, incident, "commit(A)", ""),
    ],
)
def test_a_broken_implementation_is_found_where_it_breaks(
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    broken: Broken,
    trace: Callable[[], Trace],
    action: str,
    path: str,
) -> None:
    """The divergence names the step and the variable."""
    recorded = trace()
    monkeypatch.setattr(owner, name, broken)
    result = replay(recorded)

    assert result.divergence is not None
    assert (action, path) == (result.divergence.action, result.divergence.path)
    assert result.divergence.refused == (path == "")
    assert not result.agrees
    assert action in str(result.divergence)
    assert recorded.steps[result.divergence.step - 1].action == action.partition("(")[0]


def test_attention_that_reads_too_little_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a request has seen is judged by the output of attention, not by its page table."""
    monkeypatch.setattr("kvproto.reference.attention.attend", attend_first_page)
    result = replay(incident())

    assert result.divergence is not None
    assert ("attend(B)", "req[B].saw_blank", True, False) == (
        result.divergence.action,
        result.divergence.path,
        result.divergence.model,
        result.divergence.implementation,
    )


def test_a_wrong_initial_state_is_a_divergence_at_step_0() -> None:
    """The initial states are compared too."""
    trace = incident()
    result = replay(replace(trace, init={**trace.init, "stray": True}))

    assert Divergence(0, "", "stray", True, False) == result.divergence
    assert 0 == result.performed
    assert "initial state" in str(result.divergence)


def test_true_is_not_one() -> None:
    """Values are compared with their types."""
    trace = incident()

    assert replay(replace(trace, init={**trace.init, "req[A].need": False})).divergence is not None


# Traces that do not fit.


def refusal(trace: Trace, code: str = "KV013", **keywords: Any) -> str:
    """The text of the error that a replay raises."""
    with pytest.raises(KvError) as caught:
        replay(trace, **keywords)
    assert code == caught.value.diagnostic.code
    return str(caught.value)


def test_another_model_has_no_reference_implementation() -> None:
    """Only registered models can be replayed."""
    assert "kv_transfer" in refusal(replace(incident(), model="kv_transfer"), "KV020")


def test_without_an_array_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The implementation needs an array library; kvproto does not."""

    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("kvproto.reference.array.importlib.import_module", missing)

    assert "install numpy" in refusal(incident(), "KV020")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DPage", 10**9, "DPage is 1000000000"),
        ("PPage", 10**9, "from 1 to 1024"),
        ("Slot", 10**9, "from 1 to 99"),
        ("Req", 10**9, "from 1 to 8"),
        ("short_prompt", 10**30, "short_prompt"),
        ("prefill_pool", -1, "prefill_pool is -1"),
        ("DPage", True, "DPage is True"),
        ("DPage", "8", "DPage is '8'"),
        ("DPage", None, "DPage is None"),
        ("DPage", 0, "DPage is 0"),
        ("checksum", 1, "true or false"),
        ("checksum", "yes" * 1000, "true or false"),
        ("checksums", True, "did you mean 'checksum'?"),
    ],
)
def test_parameters_that_do_not_fit(name: str, value: Any, says: str) -> None:
    """Sizes are limited before anything is allocated."""
    trace = incident()
    text = refusal(replace(trace, parameters={**trace.parameters, name: value}))

    assert says in text
    assert len(text) < 500


@pytest.mark.parametrize("name", ["Req", "checksum", "prefill_pool"])
def test_parameters_that_are_missing(name: str) -> None:
    """All sizes and switches must be there."""
    trace = incident()
    rest = {key: value for key, value in trace.parameters.items() if key != name}

    assert f"parameter {name} is missing" in refusal(replace(trace, parameters=rest))


@pytest.mark.parametrize(
    ("action", "args", "says"),
    [
        ("atend", {"r": "A"}, "did you mean 'attend'?"),
        ("x" * 100_000, {}, "no such action"),
        ("\x1b[31m", {}, "\\x1b"),
        ("attend", {}, "it takes r"),
        ("attend", {"r": "A", "k": 1}, "it takes r"),
        ("attend", {"r": "C"}, "A to B"),
        ("attend", {"r": "AB"}, "A to B"),
        ("attend", {"r": ""}, "A to B"),
        ("attend", {"r": 0}, "A to B"),
        ("land", {"r": "A", "k": 8}, "0 to 7"),
        ("land", {"r": "A", "k": -1}, "0 to 7"),
        ("land", {"r": "A", "k": True}, "0 to 7"),
        ("submit", {"r": "A", "long": 1}, "true or false"),
    ],
)
@pytest.mark.parametrize("overrides", [{}, {"checksum": True}])
def test_steps_that_do_not_fit(action: str, args: Any, says: str, overrides: dict[str, bool]) -> None:
    """A step that the model cannot have is an error of the file, wherever it stands; it is not a divergence."""
    trace = incident()
    step = Step(action, args, "", "", "", (), (), {})
    text = refusal(replace(trace, steps=(*trace.steps, step)), overrides=overrides)

    assert says in text
    assert "\x1b" not in text
    assert len(text) < 500


def test_variables_that_do_not_fit() -> None:
    """Missing and additional variables, at the start and in a step."""
    trace = incident()
    less = {path: value for path, value in trace.init.items() if path != "d_owner[3]"}
    step = replace(trace.steps[0], delta={"req[Z].need": (0, 1)})

    assert "d_owner[3] is missing" in refusal(replace(trace, init=less))
    assert "d_owner[99]" in refusal(replace(trace, init={**trace.init, "d_owner[99]": None}))
    assert "req[Z].need" in refusal(replace(trace, steps=(step, *trace.steps[1:])))


def test_an_unknown_override_is_an_error() -> None:
    """Overrides are parameters of the trace."""
    assert "did you mean 'checksum'?" in refusal(incident(), overrides={"chksum": True})
    assert "DPage is 1000000000" in refusal(incident(), overrides={"DPage": 10**9})


def test_a_step_that_the_implementation_refuses_is_a_divergence() -> None:
    """A trace that skips a step cannot be performed; the implementation says what is missing."""
    trace = incident()
    result = replay(replace(trace, steps=tuple(s for s in trace.steps if s.action != "commit")))

    assert result.divergence is not None
    assert result.divergence.refused
    assert (10, "attend(A)") == (result.divergence.step, result.divergence.action)
    assert "request A is in transfer" in result.divergence.reason
    assert 9 == result.performed


def test_an_empty_trace_agrees() -> None:
    """Nothing happens, in both."""
    result = replay(Walk(parameters("small")).trace())

    assert result.agrees
    assert {"not sent"} == {view.outcome for view in result.answers.values()}


def test_the_largest_sizes_that_are_taken_work() -> None:
    """The limits on sizes are limits that the implementation can bear."""
    walk = Walk(parameters("small") | {"Slot": 99, "PPage": 99, "DPage": 99, "prefill_pool": 99, "Req": 1})

    result = replay(walk.follow(("submit", 0, True), ("prealloc", 0), ("admit", 0), ("forward", 0)).trace())

    assert result.agrees
    assert "[A:lynx page 98]" == result.pages[-1].prefill[98]


def test_what_if_runs_have_pages_for_every_step() -> None:
    """Blocked steps count, so that pages and steps stay side by side."""
    result = replay(incident(), overrides={"reject_at_admission": True})

    assert 23 == len(result.pages)
    assert 15 == result.performed
