"""The model's actions as steps of the engine's own code: which there are, which are possible, doing one."""

from __future__ import annotations

from typing import Any

from kvproto.engines.inside import places
from kvproto.engines.inside.pair import Request
from kvproto.engines.inside.stepping import Done
from kvproto.engines.inside.steps_decode import DecodeSteps
from kvproto.engines.inside.steps_prefill import PrefillSteps
from kvproto.engines.inside.steps_threads import ThreadSteps

ACTIONS: dict[str, tuple[str, ...]] = {
    "submit": ("r", "long"),
    "disconnect": ("r",),
    "admit": ("r",),
    "finalize": ("r",),
    "bootstrap_timeout": ("r",),
    "bootstrap_failure": ("r",),
    "forward": ("r",),
    "process_result": ("r",),
    "inflight_success": ("r",),
    "inflight_failure": ("r",),
    "abort_on_prefill": ("r",),
    "enter": ("r",),
    "prealloc": ("r",),
    "prealloc_failure": ("r",),
    "receive_success": ("r",),
    "receive_failure": ("r",),
    "receive_ack": ("r",),
    "waiting_timeout": ("r",),
    "abort_on_decode": ("r",),
    "transfer_failure": ("r",),
    "commit": ("r",),
    "attend": ("r",),
    "finish": ("r",),
    "release_drained": ("r",),
    "release_timeout": ("r",),
    "receive_metadata": ("r",),
    "receive_abort": ("r",),
    "dequeue": ("r",),
    "check": ("r",),
    "begin": ("r",),
    "call_succeeds": ("r",),
    "call_fails": ("r",),
    "conclude": ("r",),
    "next_batch": ("r",),
    "crash_worker": ("r",),
    "lose_up": ("r", "m"),
    "lose_down": ("r", "m"),
    "land": ("r", "k"),
    "land_late": ("r", "k"),
    "vanish": ("r", "k"),
}
"""Actions that can be driven, and their parameters; ranks are left out, since there is one on either side."""


class Steps(PrefillSteps, DecodeSteps, ThreadSteps):
    """Step points of one pair of schedulers."""

    def refusal(self, action: str, arguments: dict[str, Any]) -> str:
        """Why the action is not possible now; empty if it is."""
        said: str = getattr(self, f"may_{action}")(*self._arguments(action, arguments))
        return said

    def perform(self, action: str, arguments: dict[str, Any]) -> Done:
        """Do it; the action must be possible."""
        self.done = Done()
        getattr(self, f"do_{action}")(*self._arguments(action, arguments))
        self.pair.in_turn()
        return self.done

    def possible(self) -> list[tuple[str, dict[str, Any]]]:
        """Every action that is possible now, with its arguments."""
        found = []
        for action, names in ACTIONS.items():
            for arguments in self._instances(action, names):
                if not self.refusal(action, arguments):
                    found.append((action, arguments))
        return found

    def _arguments(self, action: str, arguments: dict[str, Any]) -> list[Any]:
        values: list[Any] = [self.pair.requests[arguments["r"]]]
        return values + [arguments[name] for name in ACTIONS[action][1:]]

    def _instances(self, action: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [{"r": label} for label in self.pair.requests]
        if "long" in names:
            found = [one | {"long": long} for one in found for long in (False, True)]
        if "m" in names:
            found = [one | {"m": kind} for one in found for kind in places.MESSAGES[action]]
        if "k" in names:
            found = [one | {"k": k} for one in found for k in range(self.pair.sizes.context)]
        return found

    # -------------------------------------------------------------------------------------------- router
    def may_submit(self, request: Request, long: bool) -> str:
        """The client has not sent it yet."""
        return "" if request.client == "IDLE" else f"{request.label} is sent already"

    def do_submit(self, request: Request, long: bool) -> None:
        """Ours: there is no router."""
        request.need = self.pair.sizes.context if long else self.pair.sizes.short
        request.client = "WAITING"

    def may_disconnect(self, request: Request) -> str:
        """The client waits."""
        waits = request.client == "WAITING" and places.told(self.pair.decode, request) is None
        return "" if waits else f"the client of {request.label} does not wait"

    def do_disconnect(self, request: Request) -> None:
        """Ours: both aborts are on their way."""
        request.client = "GONE"
        request.cancel_prefill = request.cancel_decode = True
