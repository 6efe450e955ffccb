"""From cause to cause: what counts as one, how machines are crossed, what never came, what has not arrived."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kvproto.explain import why
from kvproto.explain.facts import Facts
from kvproto.explain.pending import not_taken
from kvproto.trace.trace import FlightView, Ground, Step, Trace, Vocabulary


def step(action: str, lane: str, *reads: str, **delta: tuple[Any, Any]) -> Step:
    """A step of request A; `box__0` stands for `box[A][0]`."""
    changes = {path(name): change for name, change in delta.items()}
    return Step(action, {"r": "A"}, lane, "m.py:1", "", tuple(map(path, reads)), tuple(changes), changes)


def path(name: str) -> str:
    head, *indices = name.split("__")
    return head + "".join(f"[{index}]" for index in ["A", *indices] if indices)


def trace(steps: list[Step], blame: tuple[str, ...], grounds: tuple[Ground, ...] = (), **more: Any) -> Trace:
    """A trace whose initial state holds the first old value of everything that changes, and `more`."""
    init = {path(name): value for name, value in more.items()}
    for one in reversed(steps):
        init |= {name: old for name, (old, _) in one.delta.items()}
    names = ("m", "", "s", {}, "p", "c", "violated", "d")
    return Trace(*names, init, tuple(steps), blame=tuple(map(path, blame)), grounds=grounds)


def test_a_message_that_was_taken_is_the_cause() -> None:
    """Even if something else that the step read was set later."""
    steps = [
        step("ask", "router", wish=(False, True)),
        step("work", "server", busy=(0, 1)),
        step("answer", "server", "wish", "busy", wish=(True, False), done=(False, True)),
    ]

    assert [edge.path for edge in [Facts(trace(steps, ("done",))).cause(3)] if edge] == ["wish"]


@pytest.mark.parametrize("change", [([], ["NEW"]), (["OLD"], [])])
def test_what_a_step_puts_into_an_empty_set_is_no_cause(change: tuple[Any, Any]) -> None:
    steps = [step("clear", "a", box=(["X"], change[0])), step("use", "b", "box", box=change, done=(False, True))]
    cause = Facts(trace(steps, ("done",))).cause(2)

    assert (cause is None) == (change[0] == [])


def test_a_long_chain_goes_from_machine_to_machine() -> None:
    own = [step(f"own{n}", "server", f"n{n}", **{f"n{n + 1}": (0, 1)}) for n in range(9)]
    told = why(trace([step("ask", "router", n0=(0, 1)), *own], ("n9",)))

    assert "Step 10 came after steps 2-9 of server; step 2 relied on n0 = 1, set by step 1, ask(r=A)." in told


def test_a_short_chain_is_told_step_by_step() -> None:
    own = [step(f"own{n}", "server", f"n{n}", **{f"n{n + 1}": (0, 1)}) for n in range(3)]
    told = why(trace([step("ask", "router", n0=(0, 1)), *own], ("n3",)))

    assert [line.partition(" = ")[0] for line in told[1:]] == [f"Step {n} relied on n{n - 2}" for n in (4, 3, 2)]


def test_the_member_that_never_came_is_named() -> None:
    grounds = (
        Ground("Kind.ACK not in s.box[r]", ("box[A][0]",)),
        Ground("s.done", ("done",)),
        Ground("Kind.NO not in s.bag[r]", ("bag[A][0]",)),
    )
    steps = [step("end", "server", bag__0=([], ["YES"]), done=(False, True))]
    told = why(trace(steps, ("done", "box__0", "bag__0"), grounds, box__0=[]))

    assert "Nothing was ever put into box[A][0] (no Kind.ACK)." in told
    assert "bag[A][0] = {YES}, without Kind.NO" in told[0]


def test_a_flag_keeps_what_its_step_had_found() -> None:
    steps = [
        step("fail", "server", room=("OPEN", "FAILED")),
        step("revive", "server", "room", room=("FAILED", "OPEN"), revived=(False, True)),
    ]

    assert "It changed room to OPEN from FAILED, set by step 1, fail(r=A)." in why(trace(steps, ("revived",)))


def flying(put: str, lane: str = "client") -> list[str]:
    """What is said to be still there when a write to rank 0 lands, if a machine has put something into `put`."""
    steps = [
        step("warn", lane, **{put: ([], ["STOP"])}),
        step("post", "server", fly__0=([], ["7"])),
        step("land", "network", fly__0=(["7"], []), content=(None, "A")),
    ]
    made = trace(steps, ("content",), box__0=[], box__1=[], word=[])
    facts = Facts(replace(made, vocabulary=Vocabulary(flights=(FlightView(("A",), "fly[{r}][0]", "", ""),))))
    (flight,) = facts.domain.flights
    return not_taken(facts, flight, 2, 3)


def test_a_message_that_is_still_there() -> None:
    assert flying("box__0") == [
        "STOP, which step 1, warn(r=A), had put into box[A][0], was still there at step 3.",
    ]


def test_messages_of_the_posting_machine_and_for_others_do_not_count() -> None:
    assert flying("box__0", "server") == []
    assert flying("box__1") == []
    assert flying("word") == []
