"""The model's actions as steps of the engine's own code.

Every action has two methods: `may_NAME` says why it is not possible now (or nothing), and `do_NAME` does it.  What
the engine is asked to do is called through `_call` or `_run`, which note the place in its source.
"""

from __future__ import annotations

import inspect
import types
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvproto.engines.inside import places, schedulers
from kvproto.engines.inside.baton import Baton
from kvproto.engines.inside.landing import Write, copy
from kvproto.engines.inside.pair import PAGE, SPARE, STUB_TOKEN, Pair, Request, only
from kvproto.engines.inside.seams import ADDRESS, BOOTSTRAP_PORT

LATE = 10_000.0
"""Seconds that are beyond every time-out of the engine."""

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
    "land": ("r", "k"),
    "land_late": ("r", "k"),
    "vanish": ("r", "k"),
}
"""Actions that can be driven, and their parameters; ranks are left out, since there is one on either side."""


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


class Steps:
    """Step points of one pair of schedulers."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.done = Done()

    # ------------------------------------------------------------------------------------------- outside
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
            for arguments in self._instances(names):
                if not self.refusal(action, arguments):
                    found.append((action, arguments))
        return found

    def _arguments(self, action: str, arguments: dict[str, Any]) -> list[Any]:
        values: list[Any] = [self.pair.requests[arguments["r"]]]
        return values + [arguments[name] for name in ACTIONS[action][1:]]

    def _instances(self, names: tuple[str, ...]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [{"r": label} for label in self.pair.requests]
        if "long" in names:
            found = [one | {"long": long} for one in found for long in (False, True)]
        if "k" in names:
            found = [one | {"k": k} for one in found for k in range(self.pair.sizes.context)]
        return found

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

    # ------------------------------------------------------------------------------------------- prefill
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
        too_long = self._call(side, engine.validate_input_length, req, side.max_req_input_len, False)
        if too_long:
            self._call(side, req.set_finish_with_abort, too_long)
        return req

    @staticmethod
    def _sampling() -> Any:
        from sglang.srt.sampling.sampling_params import SamplingParams

        asked = SamplingParams(max_new_tokens=2)
        asked.normalize(None)
        return asked

    def may_admit(self, request: Request) -> str:
        """It is sent, and prefill has not seen it."""
        return self._arrives(request, request.source)

    def _arrives(self, request: Request, there: Any) -> str:
        if request.client == "IDLE":
            return f"{request.label} is not sent"
        return f"{request.label} is there already" if there is not None else ""

    def do_admit(self, request: Request) -> None:
        """Intake on prefill."""
        side = self.pair.prefill
        request.source = self._take_in(side, request)
        self._call(side, side._add_request_to_queue, request.source)
        admitted = places.prefill(self.pair, request) == "BOOTSTRAP"
        request.stub = admitted and request.source.to_finish is not None
        request.turned_away = not admitted
        if not admitted:
            request.cancel_prefill = False
            self.done.notes.append(f"refused{self._answer(side, request)}")

    def may_finalize(self, request: Request) -> str:
        """Metadata is here."""
        said = self._where(request, "BOOTSTRAP", on=places.prefill)
        if said:
            return said
        if request.source.disagg_kv_sender.conclude_state is not None:
            return f"the sender of {request.label} has concluded"
        found = places.room(self.pair.prefill, request.room)
        return "" if found == "WAITING" else f"the room of {request.label} is {found}"

    def do_finalize(self, request: Request) -> None:
        """A pass over the bootstrap queue."""
        self._pass_bootstrap(request)
        if places.prefill(self.pair, request) == "WAITING":
            request.source_row = request.source.metadata_buffer_index

    def _pass_bootstrap(self, request: Request) -> None:
        side = self.pair.prefill
        queue = side.disagg_prefill_bootstrap_queue
        self.pair.lowest_first(side)
        with self._only(queue, "queue", request):
            side.waiting_queue.extend(self._call(side, queue.pop_bootstrapped))
        self._over(request, on=places.prefill)

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

    def may_bootstrap_timeout(self, request: Request) -> str:
        """Metadata is not here."""
        said = self._where(request, "BOOTSTRAP", on=places.prefill)
        found = places.room(self.pair.prefill, request.room)
        if not said and request.source.disagg_kv_sender.conclude_state is not None:
            return f"the sender of {request.label} has concluded"
        return said or ("" if found == "BOOTSTRAPPING" else f"the room of {request.label} is {found}")

    def do_bootstrap_timeout(self, request: Request) -> None:
        """The sender is polled, late."""
        with self.pair.wires.clock.ahead(LATE):
            self._call(self.pair.prefill, request.source.disagg_kv_sender.poll)

    def may_bootstrap_failure(self, request: Request) -> str:
        """The room has failed."""
        said = self._where(request, "BOOTSTRAP", "WAITING", on=places.prefill)
        if not said and places.prefill(self.pair, request) == "WAITING" and self._left_alone(request):
            return f"{request.label} is to be aborted, and the pass over the waiting queue leaves such requests alone"
        return said or self._failed(request)

    def _left_alone(self, request: Request) -> bool:
        from sglang.srt.disaggregation.utils import is_aborted

        return bool(is_aborted(request.source))

    def _failed(self, request: Request) -> str:
        sender = request.source.disagg_kv_sender
        found = places.room(self.pair.prefill, request.room)
        failed = sender.conclude_state == self.pair.failed or (sender.conclude_state is None and found == "FAILED")
        return "" if failed else f"the room of {request.label} is {found}"

    def do_bootstrap_failure(self, request: Request) -> None:
        """A pass over the queue it is in."""
        side = self.pair.prefill
        if places.prefill(self.pair, request) == "BOOTSTRAP":
            self._pass_bootstrap(request)
        else:
            with self._only(side, "waiting_queue", request):
                self._call(side, side.resolve_waiting_queue_bootstrap)
            self._over(request, on=places.prefill)

    def may_forward(self, request: Request) -> str:
        """It waits, its room is well, and the pool has the pages."""
        said = self._where(request, "WAITING", on=places.prefill)
        if said:
            return said
        if not self._failed(request) and not self._left_alone(request):
            return f"the room of {request.label} has failed, and the same pass first retires such requests"
        wanted = -(-len(request.source.origin_input_ids) // PAGE)
        free = len(self.pair.free(self.pair.prefill)) - SPARE
        return "" if free >= wanted else f"{free} pages are free, {request.label} needs {wanted}"

    def do_forward(self, request: Request) -> None:
        """A batch of this request; the forward pass writes tags instead of keys and values."""
        side = self.pair.prefill
        self.pair.lowest_first(side)
        with self._only(side, "waiting_queue", request):
            schedule = side.get_next_disagg_prefill_batch_to_run
            self.done.points.append(place(schedule))
            schedulers.use(side)
            plan = schedule(running_batch=side.running_batch, last_batch=side.last_batch)
        side.running_batch = plan.running_batch
        if plan.batch_to_run is None:
            self.done.notes.append("the scheduler has made no batch")
            self._over(request, on=places.prefill)
            return
        request.batch = plan.batch_to_run
        side.last_batch = plan.batch_to_run
        count = len(request.source.origin_input_ids)
        pool = side.req_to_token_pool.req_to_token
        slots = pool[request.source.kv.req_pool_idx, :count].long()
        for buffer in (self.pair.keys(side), self.pair.values(side)):
            buffer[slots, 0, 0] = self.pair.tags(request, count)
        request.source_pages = self.pair.pages(side, request.source)

    def may_process_result(self, request: Request) -> str:
        """Its batch has run."""
        return self._where(request, "FORWARD", on=places.prefill)

    def do_process_result(self, request: Request) -> None:
        """The result of the batch."""
        side, batch, request.batch = self.pair.prefill, request.batch, None
        self._call(side, side.process_batch_result_disagg_prefill, batch, _result(batch))
        if places.prefill(self.pair, request) == "INFLIGHT":
            request.doomed = False
        self._over(request, on=places.prefill)

    def may_inflight_success(self, request: Request) -> str:
        """The sender reports success."""
        said = self._where(request, "INFLIGHT", on=places.prefill)
        if said:
            return said
        found = places.room(self.pair.prefill, request.room)
        if request.source.disagg_kv_sender.conclude_state == self.pair.failed or found != "SUCCESS":
            return f"the room of {request.label} is {found}"
        busy = places.working(self.pair, request) != "IDLE"
        return f"the worker is not through with {request.label}" if busy else ""

    def do_inflight_success(self, request: Request) -> None:
        """A pass over the in-flight queue."""
        side = self.pair.prefill
        with self._only(side, "disagg_prefill_inflight_queue", request):
            self._call(side, side.process_disagg_prefill_inflight_queue)
        self._over(request, on=places.prefill)

    def may_inflight_failure(self, request: Request) -> str:
        """The sender reports a failure."""
        return self._where(request, "INFLIGHT", on=places.prefill) or self._failed(request)

    do_inflight_failure = do_inflight_success

    def may_abort_on_prefill(self, request: Request) -> str:
        """An abort is on its way."""
        if request.source is None:
            return f"{request.label} is not on prefill"
        return "" if request.cancel_prefill else f"no abort of {request.label} is on its way to prefill"

    def do_abort_on_prefill(self, request: Request) -> None:
        """The abort arrives."""
        request.cancel_prefill = False
        self._abort(self.pair.prefill, request)
        request.aborted = True

    def _abort(self, side: Any, request: Request) -> None:
        from sglang.srt.managers.io_struct import AbortReq

        self._call(side, side.abort_request, AbortReq(rid=request.label))

    # -------------------------------------------------------------------------------------------- decode
    def may_enter(self, request: Request) -> str:
        """It is sent, and decode has not seen it."""
        return self._arrives(request, request.target)

    def do_enter(self, request: Request) -> None:
        """Intake on decode, and the handshake."""
        side = self.pair.decode
        request.target = self._take_in(side, request)
        self._call(side, side._add_request_to_queue, request.target)
        queue = side.disagg_decode_prealloc_queue
        request.held = next((entry for entry in queue.queue if entry.req is request.target), None)
        if request.held is None:
            request.cancel_decode = False
            self.done.notes.append(f"refused{self._answer(side, request)}")
            return
        request.receiver = request.held.kv_receiver
        self._call(side, queue._resolve_pending_reqs)
        with self._only(queue, "queue", request):
            self._call(side, queue._update_handshake_waiters)

    def may_prealloc(self, request: Request) -> str:
        """It waits for pages, and there are enough of them."""
        said = self._where(request, "PREALLOC", on=places.decode)
        found = places.received(self.pair, request)
        if said or found != "WAITING":
            return said or f"the room of {request.label} is {found}"
        free = len(self.pair.free(self.pair.decode))
        return "" if free >= request.need else f"{free} pages are free, {request.label} needs {request.need}"

    def do_prealloc(self, request: Request) -> None:
        """A pass over the prealloc queue."""
        self._pass_prealloc(request)
        if places.decode(self.pair, request) == "TRANSFER":
            request.target_pages = self.pair.pages(self.pair.decode, request.target)
            request.target_row = request.held.metadata_buffer_index

    def _pass_prealloc(self, request: Request) -> None:
        side = self.pair.decode
        queue = side.disagg_decode_prealloc_queue
        self.pair.lowest_first(side)
        with self._only(queue, "queue", request):
            ready = self._call(side, queue.pop_preallocated)[0]
        side.disagg_decode_transfer_queue.extend(ready)
        self._over(request, on=places.decode)

    def may_prealloc_failure(self, request: Request) -> str:
        """The room has failed."""
        said = self._where(request, "PREALLOC", on=places.decode)
        return said or self._receiver_failed(request)

    def _receiver_failed(self, request: Request) -> str:
        found = places.received(self.pair, request)
        return "" if found == "FAILED" else f"the room of {request.label} is {found}"

    def do_prealloc_failure(self, request: Request) -> None:
        """A pass over the prealloc queue."""
        self._pass_prealloc(request)

    def may_waiting_timeout(self, request: Request) -> str:
        """It waits."""
        said = self._where(request, "TRANSFER", on=places.decode)
        found = places.room(self.pair.decode, request.room)
        if not said and (request.timed_out or request.receiver.conclude_state is not None):
            return f"the receiver of {request.label} has concluded"
        return said or ("" if found == "WAITING" else f"the room of {request.label} is {found}")

    def do_waiting_timeout(self, request: Request) -> None:
        """The receiver is polled, late.

        In the engine what the poll says is acted on in the same pass, which here is the step `transfer_failure`; so
        that step gets the same answer, whatever has arrived in between.
        """
        with self.pair.wires.clock.ahead(LATE):
            said = self._call(self.pair.decode, request.receiver.poll)
        request.timed_out = said == self.pair.failed
        request.receiver.poll = lambda: said

    def may_abort_on_decode(self, request: Request) -> str:
        """An abort is on its way."""
        if request.target is None:
            return f"{request.label} is not on decode"
        return "" if request.cancel_decode else f"no abort of {request.label} is on its way to decode"

    def do_abort_on_decode(self, request: Request) -> None:
        """The abort arrives; of a running request the next pass makes an end."""
        request.cancel_decode = False
        self._abort(self.pair.decode, request)
        if request.label in self.pair.running:
            self._finish(request)

    def may_transfer_failure(self, request: Request) -> str:
        """The room has failed."""
        return self._where(request, "TRANSFER", on=places.decode) or self._receiver_failed(request)

    def do_transfer_failure(self, request: Request) -> None:
        """A pass over the transfer queue."""
        side = self.pair.decode
        queue = side.disagg_decode_transfer_queue
        with self._only(queue, "queue", request):
            side.waiting_queue.extend(self._call(side, queue.pop_transferred))
        if places.decode(self.pair, request) == "HELD":
            request.cancel_decode = False
        self._over(request, on=places.decode)

    def may_commit(self, request: Request) -> str:
        """Success and the metadata row are here."""
        said = self._where(request, "TRANSFER", on=places.decode)
        found = places.received(self.pair, request)
        if said or found != "SUCCESS":
            return said or f"the room of {request.label} is {found}"
        row = self.pair.decode.disagg_metadata_buffers.bootstrap_room[request.held.metadata_buffer_index]
        return "" if int(row[0]) else f"the metadata row of {request.label} is empty"

    do_commit = do_transfer_failure

    def may_attend(self, request: Request) -> str:
        """Decode has it."""
        return self._where(request, "READY", "RUNNING", on=places.decode)

    def do_attend(self, request: Request) -> None:
        """A batch of this request; what attention would read is read from the pool."""
        side = self.pair.decode
        if places.decode(self.pair, request) == "READY":
            with self._only(side, "waiting_queue", request):
                batch = self._call(side, side.get_new_prebuilt_batch, side.running_batch)
            side.waiting_queue = [req for req in side.waiting_queue if req is not request.target]
            if batch is None or request.target not in batch.reqs:
                self.done.notes.append(f"not admitted{self._answer(side, request)}")
                return
            request.batch = None
            self.pair.running.append(request.label)
        self._read(request)

    def _read(self, request: Request) -> None:
        side = self.pair.decode
        pool = side.req_to_token_pool.req_to_token
        slots = pool[request.target.kv.req_pool_idx, : request.tokens].long()
        authors = [self.pair.author(float(value)) for value in self.pair.keys(side)[slots, 0, 0].tolist()]
        firsts = authors[::PAGE]
        request.reads.append(
            {
                "tokens": {author or "": authors.count(author) for author in dict.fromkeys(authors)},
                "pages": [[page, author] for page, author in zip(request.target_pages, firsts, strict=True)],
            }
        )
        request.saw_blank |= None in firsts
        request.saw_foreign |= any(author not in (None, request.label) for author in firsts)

    def may_finish(self, request: Request) -> str:
        """It runs."""
        return self._where(request, "RUNNING", on=places.decode)

    def do_finish(self, request: Request) -> None:
        """The request has all its tokens."""
        request.target.sampling_params.max_new_tokens = len(request.target.output_ids)
        self._finish(request)

    def _finish(self, request: Request) -> None:
        """The engine finds that the request is at its end, releases and answers."""
        from sglang.srt.managers.scheduler_components.batch_result_processor import SchedulerBatchResultProcessor

        side = self.pair.decode
        self.pair.running.remove(request.label)
        self.done.points.append(place(SchedulerBatchResultProcessor.process_batch_result_prebuilt))
        schedulers.use(side)
        side.finished(types.SimpleNamespace(reqs=[request.target], return_logprob=False))
        self._over(request, on=places.decode)

    def may_release_drained(self, request: Request) -> str:
        """It is held, and prefill has acknowledged."""
        said = self._where(request, "HELD", on=places.decode)
        return said or ("" if self._drained(request) else f"prefill has not acknowledged that {request.label} drained")

    def _drained(self, request: Request) -> bool:
        wanted = len(request.receiver.bootstrap_infos)
        return bool(self.pair.decode.kv_manager.is_abort_release_safe(request.room, wanted))

    def do_release_drained(self, request: Request) -> None:
        """A pass over what is held."""
        side = self.pair.decode
        queue = side.disagg_decode_transfer_queue
        with self._only(queue, "_deferred_releases", request):
            self._call(side, queue.resolve_deferred_releases)
        self._over(request, on=places.decode)

    def may_release_timeout(self, request: Request) -> str:
        """It is held, and prefill has not acknowledged."""
        said = self._where(request, "HELD", on=places.decode)
        return said or (f"prefill has acknowledged that {request.label} drained" if self._drained(request) else "")

    def do_release_timeout(self, request: Request) -> None:
        """The same pass, late."""
        with self.pair.wires.clock.ahead(LATE):
            self.do_release_drained(request)

    # ------------------------------------------------------------------------------------------- threads
    def _next(self, side: str, kind: str, request: Request) -> str:
        """Messages of one socket are read in order."""
        read = places.up if side == "prefill" else places.down
        waiting = self.pair.wires.mail[side]
        wanted = (kind, request.room)
        if not any(read(message) == wanted for message in waiting):
            return f"no {kind} of {request.label} is on its way to {side}"
        first = read(waiting[0])
        if first == wanted:
            return ""
        assert first is not None
        return f"{first[0]} of {self.pair.of_room(first[1]).label} comes first in the same socket"

    def may_receive_metadata(self, request: Request) -> str:
        """It is the next message."""
        return self._next("prefill", "METADATA", request)

    def do_receive_metadata(self, request: Request) -> None:
        """One turn of the bootstrap thread."""
        self._run(self.pair.bootstrap)

    def may_receive_abort(self, request: Request) -> str:
        """It is the next message."""
        return self._next("prefill", "ABORT", request)

    do_receive_abort = do_receive_metadata

    def may_receive_success(self, request: Request) -> str:
        """It is the next message."""
        return self._next("decode", "SUCCESS", request)

    def may_receive_failure(self, request: Request) -> str:
        """It is the next message."""
        return self._next("decode", "FAILED", request)

    def may_receive_ack(self, request: Request) -> str:
        """It is the next message."""
        return self._next("decode", "ACK", request)

    def do_receive_success(self, request: Request) -> None:
        """One turn of the decode thread."""
        self._run(self.pair.receiving)

    do_receive_failure = do_receive_ack = do_receive_success

    def _worker(self, request: Request, wanted: str) -> str:
        found = places.working(self.pair, request)
        return "" if found == wanted else f"the worker is {found} with {request.label}, not {wanted}"

    def may_dequeue(self, request: Request) -> str:
        """It is the next chunk, and the worker is free."""
        waiting = self.pair.chunks.waiting
        if not any(chunk.room == request.room for chunk in waiting):
            return f"no chunk of {request.label} waits"
        if self.pair.worker.place != "get":
            return "the only worker of this session is busy"
        ahead = self.pair.of_room(waiting[0].room).label
        return "" if ahead == request.label else f"a chunk of {ahead} comes first in the same queue"

    def do_dequeue(self, request: Request) -> None:
        """The worker takes the chunk and counts it."""
        self._work(request)

    def _work(self, request: Request) -> None:
        """Let the worker go on; back at its queue it is through with the chunk."""
        if self._run(self.pair.worker) == "get":
            request.chunk += 1
            self.pair.chunks.taken = None

    def may_check(self, request: Request) -> str:
        """The worker has taken the chunk."""
        return self._worker(request, "DEQUEUED")

    do_check = do_dequeue

    def may_begin(self, request: Request) -> str:
        """The worker is about to call the engine."""
        return self._worker(request, "CHECKED")

    do_begin = do_dequeue

    def _calling(self, request: Request) -> str:
        return self._worker(request, "CALLING")

    def may_call_succeeds(self, request: Request) -> str:
        """All its writes have landed."""
        left = len(self.pair.landing.of(request.room, awaited=True))
        return self._calling(request) or (f"{left} writes of {request.label} have not landed" if left else "")

    do_call_succeeds = do_dequeue

    def may_call_fails(self, request: Request) -> str:
        """The call runs."""
        return self._calling(request)

    def do_call_fails(self, request: Request) -> None:
        """The call returns an error; its writes stay on their way."""
        for write in self.pair.landing.of(request.room, awaited=True):
            write.awaited = False
        self.pair.landing.outcome = -1
        self._work(request)

    def may_conclude(self, request: Request) -> str:
        """Pages are through."""
        return self._worker(request, "AUX")

    do_conclude = do_dequeue

    # ------------------------------------------------------------------------------------------- network
    def _write(self, request: Request, position: int, awaited: bool) -> Write | None:
        writes = self.pair.landing.of(request.room, awaited=awaited)
        return next((write for write in writes if write.position == position), None)

    def may_land(self, request: Request, k: int) -> str:
        """The write is posted, and its call waits."""
        there = self._write(request, k, True) is not None
        return "" if there else f"no write of page {k} of {request.label} is on its way"

    def do_land(self, request: Request, k: int) -> None:
        """The write takes effect."""
        self._land(self._write(request, k, True))

    def may_land_late(self, request: Request, k: int) -> str:
        """The write is posted, and its call has returned."""
        there = self._write(request, k, False) is not None
        return "" if there else f"no write of page {k} of {request.label} is left of an earlier call"

    def do_land_late(self, request: Request, k: int) -> None:
        """The write takes effect."""
        self._land(self._write(request, k, False))

    may_vanish = may_land_late

    def do_vanish(self, request: Request, k: int) -> None:
        """The write never takes effect."""
        write = self._write(request, k, False)
        assert write is not None
        self.pair.landing.writes.remove(write)

    def _land(self, write: Write | None) -> None:
        assert write is not None
        pair = self.pair
        label = pair.of_room(write.room).label
        owner = pair.owners(pair.decode).get(write.target - 1)
        for piece in write.pieces:
            copy(piece)
        pair.landing.writes.remove(write)
        self.done.points.append("note:the transfer engine, scripted")
        if pair.writer(pair.decode, write.target - 1) != label:
            pair.seen.wrong_source = True
        if owner != label:
            pair.seen.stray = True
            pair.seen.overwrote |= owner is not None
            whose = f"belongs to {owner}" if owner else "is free"
            self.done.notes.append(f"{label}'s write lands in page {write.target - 1}, which {whose}")


def request_of(entry: Any) -> str:
    """The label of the request in an entry of a queue."""
    entry = entry[0] if isinstance(entry, tuple) else entry
    return str(getattr(entry, "req", entry).rid)


def _result(batch: Any) -> Any:
    """What a forward pass without a model gives back: one token for each request."""
    import torch

    return types.SimpleNamespace(
        logits_output=None,
        next_token_ids=torch.tensor([STUB_TOKEN] * len(batch.reqs)),
        extend_input_len_per_req=None,
        extend_logprob_start_len_per_req=None,
        copy_done=None,
        auxiliary_host_output=None,
        routed_experts_output=None,
        indexer_topk_output=None,
        next_draft_input=batch.spec_info,
        can_run_cuda_graph=False,
    )
