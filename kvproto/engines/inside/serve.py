"""The engine's process: one JSON object a line in, one out (`kvproto/engines/protocol.py` has the contract)."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
import warnings
from typing import Any, TextIO

VIOLATIONS = {
    "writes_land_in_own_pages": "stray",
    "writes_spare_other_requests": "overwrote",
    "sources_are_stable": "wrong_source",
    "failed_stays_failed": "revived",
}
"""Claims of the model that one variable decides."""


class Server:
    """One pair of schedulers at a time."""

    def __init__(self) -> None:
        from kvproto.engines.inside import seams, stubs

        os.environ.update(seams.ENVIRONMENT)
        stubs.install()
        import sglang.version as released

        seams.install()
        self.version = str(released.__version__)
        self.steps: Any = None

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked."""
        reply: dict[str, Any] = getattr(self, f"on_{asked['do']}")(asked)
        return reply

    def on_start(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A fresh pair."""
        from kvproto.engines.inside.pair import Pair, Sizes
        from kvproto.engines.inside.steps import Steps

        self.steps = Steps(Pair(Sizes(**asked["sizes"])))
        return self._now()

    def on_actions(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What is possible now."""
        return {"actions": [{"action": action, "args": args} for action, args in self.steps.possible()]}

    def on_perform(self, asked: dict[str, Any]) -> dict[str, Any]:
        """One action."""
        return self._perform(asked["action"], asked["args"])

    def on_run(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A fresh pair, and actions until one is refused; states only at the end."""
        from kvproto.engines.inside import abstraction

        self.on_start(asked)
        for number, step in enumerate(asked["steps"]):
            refusal = self.steps.refusal(step["action"], step["args"])
            if refusal:
                return {"performed": number, "refused": refusal, **self._now()}
            self.steps.perform(step["action"], step["args"])
            # Some variables keep what was seen in an earlier state, so every state is looked at, as in `perform`.
            abstraction.look(self.steps.pair)
        return {"performed": len(asked["steps"]), "refused": "", **self._now()}

    def _perform(self, action: str, args: dict[str, Any]) -> dict[str, Any]:
        refusal = self.steps.refusal(action, args)
        if refusal:
            return {"refused": refusal, "points": [], "aside": [], "notes": [], **self._now()}
        done = self.steps.perform(action, args)
        return {"refused": "", "points": done.points, "aside": done.aside, "notes": done.notes, **self._now()}

    def on_view(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What every client has, and what decode read for it."""
        from kvproto.engines.inside import abstraction, places, schedulers

        pair = self.steps.pair
        views = {}
        for label, request in pair.requests.items():
            legs = {}
            for side in (pair.prefill, pair.decode):
                reason = places.told(side, request)
                if reason is not None:
                    legs[side.mode] = {"status": places.status(reason), "text": places.words(reason)}
            views[label] = {
                "client": abstraction.client(pair, request),
                "tokens": request.tokens if request.need else 0,
                "legs": legs,
                "reads": request.reads,
            }
        return {"requests": views, "assumed": schedulers.assumed()}

    def _now(self) -> dict[str, Any]:
        from kvproto.engines.inside import abstraction

        state = abstraction.look(self.steps.pair)
        return {"state": state, "violations": self._violations(state)}

    def _violations(self, state: dict[str, Any]) -> list[str]:
        pair = self.steps.pair
        found = [claim for claim, variable in VIOLATIONS.items() if state[variable]]
        if any(request.saw_foreign for request in pair.requests.values()):
            found.append("reads_no_foreign_data")
        if any(request.saw_foreign or request.saw_blank for request in pair.requests.values()):
            found.append("reads_own_writes")
        for label in pair.requests:
            if state[f"req[{label}].client"] == "OK_200" and (
                state[f"req[{label}].stub"] or state[f"req[{label}].refused"]
            ):
                found.append("rejected_never_succeeds")
        if any(self._leak(side) for side in (pair.prefill, pair.decode)):
            found.append("pages_conserved")
        return sorted(set(found))

    def _leak(self, side: Any) -> bool:
        """A page is free and held at once, or neither."""
        pair = self.steps.pair
        held = [page for request in pair.requests.values() for page in pair.pages(side, self._req(side, request))]
        return sorted(held + pair.free(side)) != list(range(side.max_total_num_tokens // side.page_size))

    def _req(self, side: Any, request: Any) -> Any:
        return request.source if side is self.steps.pair.prefill else request.target


def main() -> None:
    """Serve until the other end closes.  What the engine prints goes to standard error."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        server = Server()
    except Exception as error:
        _send(out, _failure(error))
        return
    _send(out, {"ok": True, "version": server.version, "python": sys.version.split()[0]})
    for line in sys.stdin:
        try:
            reply = {"ok": True, **server.answer(json.loads(line))}
        except Exception as error:
            reply = _failure(error)
        _send(out, reply)


def _failure(error: Exception) -> dict[str, Any]:
    """What went wrong, and where: a change in the engine's shape shows as an attribute or a name that is missing."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    where = f"{last.filename.rpartition('/sglang/')[2]}:{last.lineno}, in {last.name}" if last else ""
    return {
        "ok": False,
        "kind": type(error).__name__,
        "text": str(error),
        "where": where,
        "trace": "".join(traceback.format_exception(error)),
    }


def _send(out: TextIO, message: dict[str, Any]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()
