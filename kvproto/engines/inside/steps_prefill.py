"""Step points of the prefill scheduler."""

from __future__ import annotations

import types
from typing import Any

from kvproto.engines.inside import places, schedulers
from kvproto.engines.inside.pair import PAGE, SPARE, STUB_TOKEN, Request
from kvproto.engines.inside.stepping import LATE, Stepping, place


class PrefillSteps(Stepping):
    """Admission, bootstrap, forward passes, the in-flight queue, aborts."""

    def may_admit(self, request: Request) -> str:
        """It is sent, and prefill has not seen it."""
        return self._arrives(request, request.source)

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
