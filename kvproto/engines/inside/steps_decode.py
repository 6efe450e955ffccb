"""Step points of the decode scheduler."""

from __future__ import annotations

import types

from kvproto.engines.inside import places, schedulers
from kvproto.engines.inside.pair import PAGE, Request
from kvproto.engines.inside.stepping import LATE, Stepping, place


class DecodeSteps(Stepping):
    """Reservation, transfer, reading, answering, every way to give pages back."""

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
