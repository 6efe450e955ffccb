"""Replaying traces of `sglang`: the incident, a late write, what-if runs, mutations, and traces that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from sglang_walks import Walk, answered, bootstrapped, incident, landed, late_write, posted, sending

from kvproto.diagnostics import KvError
from kvproto.reference.pages import Image, Memory
from kvproto.reference.sglang.memory import EMPTY, Allocator
from kvproto.reference.sglang.messages import Message, Socket
from kvproto.reference.sglang.prefill import Prefill
from kvproto.reference.sglang.receiver import Rank
from kvproto.reference.sglang.rooms import Manager, Status
from kvproto.reference.sglang.transport import Engine, Write
from kvproto.reference.sglang.worker import TransferWorker
from kvproto.replay import CanaryFound, replay, report_lines
from kvproto.trace.trace import Step, Trace


def test_the_incident_ends_in_an_answer_with_another_clients_text() -> None:
    """HTTP 200, the long prompt's token count, and what A wrote on the pages that B's placeholder did not fill."""
    result = replay(incident())
    answer = result.answers["B"]

    assert result.agrees
    assert (200, 8 * 16) == (answer.status, answer.prompt_tokens)
    assert "[A:lynx page 1]" in answer.text
    assert (CanaryFound("B", "A", (1, 2), delivered=True),) == result.canaries


def test_a_late_write_ends_in_an_answer_with_another_clients_text() -> None:
    """A's call gave up, its write did not: it lands in the page that C got meanwhile."""
    result = replay(late_write())

    assert result.agrees
    assert "[A:lynx page 0] " == result.answers["C"].text
    assert (CanaryFound("C", "A", (0,), delivered=True),) == result.canaries


@pytest.mark.parametrize(
    ("switch", "status"),
    [
        ("reject_at_admission", None),
        ("retire_after_forward", None),
        ("token_count_check", 500),
        ("checksum", 500),
        ("carried_tags", 500),
        ("page_tags", 200),
        ("failed_is_terminal", 200),
        ("conclude_rechecks", 200),
        ("deferred_release", 200),
        ("poison", 200),
        ("generations", 200),
        ("source_hold", 200),
        ("zero_on_release", 200),
        ("larger_pool", None),
    ],
)
def test_what_each_measure_makes_of_the_incident(switch: str, status: int | None) -> None:
    """None of the fixes for late writes helps; where prefill refuses B, its client waits for decode's time-out."""
    result = replay(incident(), overrides={switch: True})

    assert status == result.answers["B"].status
    assert (status == 200 and switch != "zero_on_release") == bool(result.canaries)


@pytest.mark.parametrize(
    "switches", [("deferred_release", "defer_all_failures"), ("carried_tags",), ("checksum",)], ids=" ".join
)
def test_a_late_write_stopped(switches: tuple[str, ...]) -> None:
    """Waiting for the writes keeps C off the page; the checks notice.  The trace's own steps then do not all fit."""
    result = replay(late_write(), overrides=dict.fromkeys(switches, True))

    assert result.blocked
    assert () == result.canaries


def test_chunks_and_ranks_are_replayed() -> None:
    """Two chunks over two prefill ranks into one decode rank; every slice is read and named."""
    walk = Walk("fan-in", Pos=2, PPage=2, DPage=2, prefill_pool=2, two_chunks=True)
    walk.follow(("submit", 0, True), ("enter", 0), ("prealloc", 0), ("admit", 0))
    walk.follow(("receive_metadata", 0, 0, 0), ("receive_metadata", 1, 0, 0), ("finalize", 0), ("forward_chunk", 0))
    for p in (0, 1):
        walk.follow(("dequeue", p, 0), ("check", p, 0), ("begin", p, 0), ("land", p, 0, 0, 0), ("call_succeeds", p, 0))
    walk.follow(("forward", 0), ("process_result", 0))
    for p in (0, 1):
        walk.follow(("dequeue", p, 0), ("check", p, 0), ("begin", p, 0), ("land", p, 0, 0, 1), ("call_succeeds", p, 0))
        walk.follow(("conclude", p, 0), ("receive_success", p, 0, 0))
    result = replay(walk.follow(("commit", 0), ("attend", 0), ("finish", 0)).trace())

    assert result.agrees
    assert ("[A:lynx page 0] [A:lynx page 1] ",) * 2 == result.answers["A"].read
    report = "\n".join(report_lines(result))
    assert "read by decode, pass 1, rank 0, slice of prefill rank 0\n" in report
    assert "read by decode, pass 1, rank 0, slice of prefill rank 1\n" in report


def test_the_summary_and_the_pages() -> None:
    """Pages of every step are kept, and shared while they do not change."""
    result = replay(incident())

    assert len(result.pages) == result.performed + 1
    # At the start, after two forward passes and after four landings.
    assert 1 + 2 + 4 == len({id(entry) for entry in result.pages})
    assert result.summary()["agrees"] is True


# Mutations: each breaks the implementation in one way; replay must notice, and where.


def land_next_door(self: Engine, writes: list[Write]) -> None:
    """Writes to the page after the target."""
    for write in writes:
        self._targets[write.d, write.p].write(write.target + 1, self._sources[write.p].read(write.source))
        self.writes.remove(write)


def post_early(self: Engine, write: Write) -> None:
    """Writes when posted instead of when landing."""
    self.writes.append(write)
    self._targets[write.d, write.p].write(write.target, self._sources[write.p].read(write.source))


def abandon_recalls(self: Engine, p: int, room: int) -> None:
    """Cancels the writes of a call that fails."""
    self.writes = [write for write in self.writes if (write.p, write.room) != (p, room)]


def keys_lost(self: Memory, page: int, image: Image) -> None:
    """Copies values and forgets keys."""
    self.values[page] = image.values


def from_the_top(self: Allocator, room: int, count: int) -> tuple[int, ...]:
    """Takes the highest free numbers."""
    chosen = tuple(reversed(self.free()))[:count]
    for number in chosen:
        self.owners[number] = room
    return chosen


def release_all_but_one(self: Allocator, room: int) -> tuple[int, ...]:
    """Forgets the last one."""
    owned = tuple(number for number, owner in enumerate(self.owners) if owner == room)[:-1]
    for number in owned:
        self.owners[number] = None
    return owned


def never_fails(self: Manager, room: int, status: Status) -> None:
    """Failures are not noted."""
    if status is not Status.FAILED:
        self.request_status[room] = status


def sends_nothing(self: Socket, message: Message) -> None:
    """The message is lost at once."""


def report_nothing(self: Manager, room: int, ranks: Iterable[int], *, success: bool) -> None:
    """Decode is not told how the room went."""


def keeps_the_row(self: Rank, room: int) -> None:
    """The metadata row is freed and not emptied."""
    self.receivers[room].status = None
    self.receivers[room].successes.clear()
    self.row_owners.release(room)


original_process = Prefill.process_result


def row_not_filled(self: Prefill, room: int) -> None:
    """The metadata row keeps what was in it."""
    original_process(self, room)
    self.rows = [EMPTY] * len(self.rows)


def skips_check(self: TransferWorker, room: int) -> None:
    """The worker does not look at the room."""
    self.jobs[room].stage = type(self.jobs[room].stage).CHECKED


def aborted() -> Trace:
    """Decode gives the request up before the worker looks at its room."""
    walk = Walk("small", deferred_release=True)
    walk.follow(*bootstrapped(0), ("forward", 0), ("process_result", 0), *sending(0)[:1])
    walk.follow(("disconnect", 0), ("abort_on_decode", 0), ("transfer_failure", 0), ("receive_abort", 0, 0, 0))
    return walk.follow(("register_target", 0, 0), ("try_acknowledge", 0, 0), ("check", 0, 0)).trace()


@pytest.mark.parametrize(
    ("owner", "name", "broken", "trace", "action", "path"),
    [
        (Engine, "_land", land_next_door, incident, "land(0, 0, A, 0)", "d_content[0][0][0]"),
        (Engine, "post", post_early, incident, "begin(0, A)", "d_content[0][0][0]"),
        (Engine, "abandon", abandon_recalls, late_write, "call_fails(0, A, 0)", "sender[0][A].orphans[0]"),
        (Memory, "write", keys_lost, incident, "forward(A)", "p_content[0]"),
        (Allocator, "allocate", from_the_top, incident, "prealloc(A)", "receiver[0][A].target[0]"),
        (Allocator, "release", release_all_but_one, incident, "inflight_success(A)", "p_owner[2]"),
        (Manager, "update_status", never_fails, late_write, "call_fails(0, A, 0)", "sender[0][A].room"),
        (Manager, "report", report_nothing, incident, "conclude(0, A)", "sender[0][A].down[0]"),
        (Socket, "send", sends_nothing, incident, "prealloc(A)", "sender[0][A].up[0]"),
        (Rank, "leave_room", keeps_the_row, incident, "commit(A)", "d_row_content[0][0]"),
        (Prefill, "process_result", row_not_filled, incident, "process_result(A)", "p_row_content[0]"),
        (TransferWorker, "check", skips_check, aborted, "check(0, A)", "sender[0][A].chunk"),
    ],
)
def test_a_broken_implementation_is_found_where_it_breaks(
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    broken: Callable[..., Any],
    trace: Callable[[], Trace],
    action: str,
    path: str,
) -> None:
    """The divergence names the step and the variable."""
    recorded = trace()
    assert replay(recorded).agrees
    monkeypatch.setattr(owner, name, broken)
    result = replay(recorded)

    assert result.divergence is not None
    assert (action, path) == (result.divergence.action, result.divergence.path)


# Traces that are none of the model's.


def refusal(trace: Trace, **overrides: bool | int) -> str:
    """What replay says to a trace that does not fit."""
    with pytest.raises(KvError) as caught:
        replay(trace, overrides=overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DPage", 10**9, "DPage is 1000000000"),
        ("PRank", 9, "from 1 to 8"),
        ("DRow", 0, "from 1 to 1024"),
        ("faults", -1, "from 0 to"),
        ("checksum", 1, "true or false"),
        ("checksums", True, "did you mean 'checksum'?"),
    ],
)
def test_parameters_that_do_not_fit(name: str, value: Any, says: str) -> None:
    """Sizes are limited before anything is allocated."""
    trace = Walk("small").trace()

    assert says in refusal(replace(trace, parameters={**trace.parameters, name: value}))


@pytest.mark.parametrize(
    ("action", "args", "says"),
    [
        ("post", {"r": "A"}, "no such action"),
        ("dequeue", {"r": "A"}, "it takes p, r"),
        ("dequeue", {"p": 1, "r": "A"}, "a prefill rank from 0 to 0"),
        ("receive_abort", {"p": 0, "d": True, "r": "A"}, "a decode rank from 0 to 0"),
        ("lose_up", {"p": 0, "d": 0, "r": "A", "m": "ACK"}, "one of METADATA, ABORT"),
        ("lose_down", {"p": 0, "d": 0, "r": "A", "m": 3}, "one of SUCCESS, FAILED, ACK"),
        ("prefill_dies", {"p": 0}, "it takes none"),
    ],
)
def test_steps_that_do_not_fit(action: str, args: Any, says: str) -> None:
    """A step that the model cannot have is an error of the file; it is not a divergence."""
    step = Step(action, args, "", "", "", (), (), {})

    assert says in refusal(replace(Walk("small").trace(), steps=(step,)))


def test_a_step_that_the_implementation_refuses_is_a_divergence() -> None:
    """A trace that skips a step cannot be performed; the implementation says what is missing."""
    trace = Walk("small").follow(*posted(0), *landed(0, 1), *answered(0)).trace()
    result = replay(replace(trace, steps=tuple(s for s in trace.steps if s.action != "land")))

    assert result.divergence is not None
    assert result.divergence.refused
    assert "call_succeeds(0, A)" == result.divergence.action
    assert "prefill rank 0: the worker of request A waits for 1 writes" == result.divergence.reason
