"""Test benches whose engine runs by itself as fast as it can: the reference implementation, and released SGLang."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from kvproto.engines.child import Child
from kvproto.reference.refusal import Refused
from kvproto.replay import adapters
from kvproto.replay.outline import ACTIONS as OUTLINE
from kvproto.replay.sglang import ACTIONS as SGLANG
from kvproto.trace.trace import State, Step

BY_OTHERS = (
    *("submit", "disconnect", "call_fails", "resubmit", "crash_worker", "prefill_dies", "retract", "probe_session"),
    *("fail_transfer", "vanish", "lose_up", "lose_down", "waiting_timeout", "bootstrap_timeout", "release_timeout"),
)
"""What an engine does not do by itself."""

SIGNS = ("saw_blank", "saw_foreign", "stray", "overwrote", "wrong_source", "revived", "split_verdict")
"""Variables of the two models that say that something has gone wrong."""

Call = tuple[str, tuple[tuple[str, Any], ...]]


class Bench(ABC):
    """An adapter for scripts.  Whatever is not held happens at once, in every pause of the test.

    `deaf` names actions whose holds are not obeyed.
    """

    def __init__(self, deaf: tuple[str, ...] = ()) -> None:
        self._deaf = deaf
        self._held: set[Call] = set()
        self._happened: Counter[Call] = Counter()
        self._waited: Counter[Call] = Counter()
        self.log: list[str] = []
        self.over = False

    @abstractmethod
    def state(self) -> State:
        """What can be observed."""

    @abstractmethod
    def do(self, action: str, args: Mapping[str, Any]) -> str:
        """Let it happen, or say why not."""

    @abstractmethod
    def own(self) -> Iterable[Call]:
        """What the engine may be able to do by itself now."""

    def call(self, event: Any) -> Call:
        return event.action, tuple(event.args.items())

    # ------------------------------------------------------------------------------------- hooks

    def knows(self, event: Any) -> bool:
        return event.action in (*BY_OTHERS, *OUTLINE, *SGLANG)

    def hold(self, event: Any) -> None:
        if event.action not in self._deaf:
            self._held.add(self.call(event))

    def cause(self, event: Any) -> None:
        self._happen(self.call(event))
        self._go_on()

    def release(self, event: Any) -> None:
        if self.call(event) in self._held:
            self.cause(event)
        else:
            self.wait_for(event)

    def drop(self, event: Any) -> None:
        raise AssertionError("no script here loses anything")

    def wait_for(self, event: Any) -> None:
        call = self.call(event)
        self._waited[call] += 1
        if self._happened[call] < self._waited[call]:
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

    def _happen(self, call: Call) -> None:
        refused = self.do(call[0], dict(call[1]))
        if refused:
            raise TimeoutError(refused)
        self._happened[call] += 1
        self.log.append(call[0])

    def _go_on(self) -> None:
        """Whatever can happen happens; an event that changes nothing does not."""
        moved = True
        while moved:
            moved = False
            for call in self.own():
                if call not in self._held and call[0] not in BY_OTHERS:
                    before = self.state()
                    if not self.do(call[0], dict(call[1])) and self.state() != before:
                        self._happened[call] += 1
                        self.log.append(call[0])
                        moved = True


class ReferenceBench(Bench):
    """The reference implementation of a model."""

    def __init__(self, model: str, parameters: Mapping[str, Any], deaf: tuple[str, ...] = ()) -> None:
        super().__init__(deaf)
        self._run = adapters.start(model, parameters, "numpy")
        values = {
            "r": "ABCDEFGH"[: parameters["Req"]],
            "p": range(parameters.get("PRank", 1)),
            "d": range(parameters.get("DRank", 1)),
            "k": range(parameters.get("Pos", parameters.get("Slot", 1))),
        }
        self._own = [
            (action, tuple(zip(names, args, strict=True)))
            for action, (names, _) in {"outline": OUTLINE, "sglang": SGLANG}[model].items()
            if action not in BY_OTHERS
            for args in product(*(values[name] for name in names))
        ]

    def state(self) -> State:
        return self._run.state(self._run.texts())

    def do(self, action: str, args: Mapping[str, Any]) -> str:
        try:
            self._run.perform(Step(action, dict(args), "", "", "", (), (), {}))
        except Refused as refused:
            return str(refused)
        return ""

    def own(self) -> Iterable[Call]:
        return self._own


class EngineBench(Bench):
    """A release of SGLang.  There is one rank on either side, so ranks are left out."""

    def __init__(self, child: Child, state: State) -> None:
        super().__init__()
        self._child = child
        self._state = state

    def call(self, event: Any) -> Call:
        return event.action, tuple(pair for pair in event.args.items() if pair[0] not in ("p", "d"))

    def state(self) -> State:
        return self._state

    def do(self, action: str, args: Mapping[str, Any]) -> str:
        done = self._child.perform(action, args)
        self._state = done.now.state
        return done.refused

    def own(self) -> Iterable[Call]:
        return [(one.action, tuple(one.args.items())) for one in self._child.actions()]
