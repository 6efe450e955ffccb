"""What the step points share: calls that note their place in the engine's source, and passes that see one request."""

from __future__ import annotations

import inspect
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvproto.engines.inside import places, schedulers
from kvproto.engines.inside.baton import Baton
from kvproto.engines.inside.pair import Pair, Request, only
from kvproto.engines.inside.seams import ADDRESS, BOOTSTRAP_PORT

LATE = 10_000.0
"""Seconds that are beyond every time-out of the engine."""


def place(function: Any) -> str:
    """Where a function of the engine is: `srt/disaggregation/decode.py:DecodePreallocQueue.pop_preallocated`."""
    plain = inspect.unwrap(function)
    plain = getattr(plain, "__func__", plain)
    path = inspect.getsourcefile(plain) or ""
    return f"{path.rpartition('/sglang/')[2]}:{plain.__qualname__.replace('.<locals>', '')}"


@dataclass(slots=True)
class Done:
    """What a step did: the places it called, requests that were kept out of a pass, and remarks."""

    points: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Stepping:
    """Every action has two methods: `may_NAME` says why it is not possible now (or nothing), and `do_NAME` does it."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.done = Done()

    def _call(self, side: Any, function: Callable[..., Any], *given: Any) -> Any:
        self.done.points.append(place(function))
        schedulers.use(side)
        return function(*given)

    def _run(self, baton: Baton) -> str:
        side = self.pair.decode if baton is self.pair.receiving else self.pair.prefill
        body = next(body for name, body in self.pair.wires.bodies if name == baton.name)
        self.done.points.append(place(inspect.getclosurevars(body).nonlocals["target"]))
        schedulers.use(side)
        return baton.go()

    def _where(self, request: Request, *wanted: str, on: Callable[[Pair, Request], str]) -> str:
        found = on(self.pair, request)
        if found in wanted:
            return ""
        side = self.pair.prefill if on is places.prefill else self.pair.decode
        return f"{request.label} is {found} on {side.mode}, not {' or '.join(wanted)}{self._answer(side, request)}"

    def _answer(self, side: Any, request: Request) -> str:
        """What the side told the client, if it did."""
        reason = places.told(side, request)
        if reason is None:
            return ""
        return f"; {side.mode} has answered it with {places.status(reason)}: {places.words(reason)}"

    def _take_in(self, side: Any, request: Request) -> Any:
        """What `Scheduler.handle_generate_request` does from its check of the length on."""
        from sglang.srt.managers import scheduler as engine

        req = schedulers.fitting(
            engine.Req,
            rid=request.label,
            origin_input_text="",
            origin_input_ids=array("q", range(100, 100 + request.tokens)),
            sampling_params=self._sampling(),
            bootstrap_host=ADDRESS,
            bootstrap_port=BOOTSTRAP_PORT,
            bootstrap_room=request.room,
            disagg_mode=side.disaggregation_mode,
            vocab_size=1 << 20,
            eos_token_ids=set(),
        )
        req.tokenizer = None
        side.init_req_max_new_tokens(req)
        cut = self.pair.sizes.truncates
        too_long = self._call(side, engine.validate_input_length, req, side.max_req_input_len, cut)
        if too_long:
            self._call(side, req.set_finish_with_abort, too_long)
        return req

    @staticmethod
    def _sampling() -> Any:
        from sglang.srt.sampling.sampling_params import SamplingParams

        asked = SamplingParams(max_new_tokens=2)
        asked.normalize(None)
        return asked

    def _arrives(self, request: Request, there: Any) -> str:
        if request.client == "IDLE":
            return f"{request.label} is not sent"
        return f"{request.label} is there already" if there is not None else ""

    def _only(self, owner: Any, name: str, request: Request) -> Any:
        def mine(entry: Any) -> bool:
            entry = entry[0] if isinstance(entry, tuple) else entry
            return entry is request.source or getattr(entry, "req", entry) is request.target

        aside: list[Any] = []
        self.done.aside += [request_of(entry) for entry in getattr(owner, name) if not mine(entry)]
        return only(owner, name, mine, aside)

    def _over(self, request: Request, *, on: Callable[[Pair, Request], str]) -> None:
        """A side that is through with a request has no use for an abort that is on its way to it."""
        if on(self.pair, request) != "OVER":
            return
        if on is places.prefill:
            request.cancel_prefill = False
        else:
            request.cancel_decode = False

    def _abort(self, side: Any, request: Request) -> None:
        from sglang.srt.managers.io_struct import AbortReq

        self._call(side, side.abort_request, AbortReq(rid=request.label))


def request_of(entry: Any) -> str:
    """The label of the request in an entry of a queue."""
    entry = entry[0] if isinstance(entry, tuple) else entry
    return str(getattr(entry, "req", entry).rid)
