"""A test bench: the reference implementation, whose parts run by themselves as fast as they can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any

from kvproto.reference.refusal import Refused
from kvproto.replay import adapters
from kvproto.replay.outline import ACTIONS as OUTLINE
from kvproto.replay.sglang import ACTIONS as SGLANG
from kvproto.trace.trace import State, Step

BY_OTHERS = (
    *("submit", "disconnect", "call_fails", "resubmit", "crash_worker", "prefill_dies", "retract", "probe_session"),
    *("fail_transfer", "vanish", "lose_up", "lose_down", "waiting_timeout", "bootstrap_timeout", "release_timeout"),
)
"""What the implementation does not do by itself."""

Call = tuple[str, tuple[Any, ...]]


def step(action: str, args: Mapping[str, Any]) -> Step:
    return Step(action, dict(args), "", "", "", (), (), {})


class ReferenceBench:
    """An adapter for scripts.  Whatever is not held happens at once, in every pause of the test.

    `deaf` names actions whose holds are not obeyed.
    """

    def __init__(self, model: str, parameters: Mapping[str, Any], deaf: tuple[str, ...] = ()) -> None:
        actions = {"outline": OUTLINE, "sglang": SGLANG}[model]
        self._run = adapters.start(model, parameters, "numpy")
        self._held: set[Call] = set()
        self._deaf = deaf
        self.happened: Counter[Call] = Counter()
        self._waited: Counter[Call] = Counter()
        self.log: list[str] = []
        self.over = False
        values = {
            "r": "ABCDEFGH"[: parameters["Req"]],
            "p": range(parameters.get("PRank", 1)),
            "d": range(parameters.get("DRank", 1)),
            "k": range(parameters.get("Pos", parameters.get("Slot", 1))),
        }
        self._own: dict[Call, Step] = {}
        for action, (names, _) in actions.items():
            if action not in BY_OTHERS:
                for args in product(*(values[name] for name in names)):
                    self._own[action, args] = step(action, dict(zip(names, args, strict=True)))

    def state(self) -> State:
        return self._run.state(self._run.texts())

    def knows(self, event: Any) -> bool:
        return event.action in BY_OTHERS or self._call(event) in self._own

    def _call(self, event: Any) -> Call:
        return event.action, tuple(event.args.values())

    def hold(self, event: Any) -> None:
        if event.action not in self._deaf:
            self._held.add(self._call(event))

    def cause(self, event: Any) -> None:
        self._happen(self._call(event), step(event.action, event.args))
        self._go_on()

    def release(self, event: Any) -> None:
        call = self._call(event)
        if call in self._held:
            self._happen(call, step(event.action, event.args))
            self._go_on()
        else:
            self.wait_for(event)

    def drop(self, event: Any) -> None:
        kinds = {"receive_metadata": "METADATA", "receive_abort": "ABORT"}
        down = {"receive_success": "SUCCESS", "receive_failure": "FAILED", "receive_ack": "ACK"}
        kind = kinds.get(event.action) or down.get(event.action)
        lost = "vanish" if kind is None else "lose_up" if event.action in kinds else "lose_down"
        more = {} if kind is None else {"m": kind}
        self._happen((lost, ()), step(lost, {**event.args, **more}))
        self._go_on()

    def wait_for(self, event: Any) -> None:
        call = self._call(event)
        self._waited[call] += 1
        if self.happened[call] < self._waited[call]:
            raise TimeoutError(f"{event.call} does not happen")

    def expect(self, fact: Any) -> None:
        state = self.state()
        if fact.kind == "page":
            first = fact.pool[0]
            ranks = ("[0]", "[0][0]") if first == "d" and "d_owner[0]" not in state else ("", "")
            names = (f"{first}_owner{ranks[0]}", f"{first}_content{ranks[1]}")
            there = tuple(state[f"{name}[{fact.page}]"] for name in names)
            assert there == (fact.owner, fact.content), f"page {fact.page} is {there}"
        else:
            wrong = [path for path, value in state.items() if value is True and path.rpartition(".")[2] in SIGNS]
            assert wrong, "nothing is wrong"

    def finish(self) -> None:
        self.over = True

    def _happen(self, call: Call, what: Step) -> None:
        try:
            self._run.perform(what)
        except Refused as refused:
            raise TimeoutError(str(refused)) from None
        self.happened[call] += 1
        self.log.append(what.action)

    def _go_on(self) -> None:
        """Whatever can happen happens; an event that changes nothing does not."""
        moved = True
        while moved:
            moved = False
            for call, what in self._own.items():
                if call not in self._held and self._moves(what):
                    self.happened[call] += 1
                    self.log.append(what.action)
                    moved = True

    def _moves(self, what: Step) -> bool:
        before = self.state()
        try:
            self._run.perform(what)
        except Refused:
            return False
        return self.state() != before


SIGNS = ("saw_blank", "saw_foreign", "stray", "overwrote", "wrong_source", "revived", "split_verdict")
"""Variables of the two models that say that something has gone wrong."""
