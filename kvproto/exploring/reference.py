"""The reference implementation as something to explore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.exploring.beside import Beside
from kvproto.exploring.target import Did, Happening, Look
from kvproto.reference.refusal import Refused
from kvproto.replay import adapters
from kvproto.replay.outline import ACTIONS as OUTLINE
from kvproto.replay.sglang import ACTIONS as SGLANG
from kvproto.trace.trace import Step

ACTIONS: Mapping[str, Mapping[str, tuple[tuple[str, ...], Any]]] = {"outline": OUTLINE, "sglang": SGLANG}

MESSAGES = {"lose_up": ("METADATA", "ABORT"), "lose_down": ("SUCCESS", "FAILED", "ACK")}


class Reference:
    """A cluster of tensors.  Claims are judged by the model's conditions on the cluster's own state."""

    grouped: Mapping[str, tuple[str, ...]] = {}
    left_out: tuple[str, ...] = ()

    def __init__(self, beside: Beside) -> None:
        model = beside.system.model
        if model not in ACTIONS:
            raise KvError(
                "KV020",
                f"there is no reference implementation of model {ascii(model)[:60]}",
                reason=f"models that have one are {', '.join(ACTIONS)}",
                cure="explore one of these:  kvproto explore --impl reference sglang@0.5.19",
            )
        self.name = f"reference implementation of {model}"
        self.driven = frozenset(ACTIONS[model])
        self._beside = beside
        self._parameters = dict(beside.system.parameters)
        self._every = list(self._instances(ACTIONS[model]))
        self._path: list[Happening] = []
        self._run = self._fresh()

    def _fresh(self) -> adapters.Run:
        return adapters.start(self._beside.system.model, self._parameters, "numpy")

    def _instances(self, actions: Mapping[str, tuple[tuple[str, ...], Any]]) -> list[Happening]:
        """Every action with all its arguments, as far as the sizes go."""
        size = {name: value for name, value in self._parameters.items() if isinstance(value, int)}
        values: dict[str, Sequence[Any]] = {
            "r": "ABCDEFGH"[: size["Req"]],
            "p": range(size.get("PRank", 1)),
            "d": range(size.get("DRank", 1)),
            "k": range(size.get("Pos", size.get("Slot", 0))),
            "long": (False, True),
        }
        found = []
        for action, (names, _) in actions.items():
            domains = [MESSAGES[action] if name == "m" else values[name] for name in names]
            found += [Happening(action, tuple(zip(names, args, strict=True))) for args in product(*domains)]
        return found

    def begin(self, steps: Sequence[Happening] = ()) -> Did:
        """A fresh cluster and these steps."""
        refused = self._again(steps)
        return Did(self._look(), refused)

    def _again(self, steps: Sequence[Happening]) -> str:
        self._run, self._path = self._fresh(), []
        for step in steps:
            refused = self._try(step)
            if refused:
                return refused
        return ""

    def _try(self, step: Happening) -> str:
        try:
            self._run.perform(Step(step.action, dict(step.args), "", "", "", (), (), {}))
        except Refused as refused:
            return str(refused)
        self._path.append(step)
        return ""

    def possible(self) -> list[Happening]:
        """What is possible is found out by doing it, and beginning again after what was done."""
        here = tuple(self._path)
        found = []
        for step in self._every:
            if not self._try(step):
                found.append(step)
                self._again(here)
        return found

    def perform(self, step: Happening) -> Did:
        """Take a step."""
        refused = self._try(step)
        return Did(self._look(), refused)

    def _look(self) -> Look:
        state = self._run.state(self._run.texts())
        return Look(state, self._beside.broken_in(state))
