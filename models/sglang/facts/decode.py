"""Decode: reservation, the end of a transfer, and how pages are held and given back."""

from __future__ import annotations

from .shapes import (
    DECODE,
    DECODE_QUEUE,
    ENVIRONMENT,
    EVERY,
    MANAGER,
    MOONCAKE,
    OPTIONS,
    RECEIVER,
    REQUEST,
    SCHEDULER,
    SHARED,
    TRANSFER_QUEUE,
    Absent,
    Before,
    Contains,
    Default,
    Fact,
    Guards,
    Lacks,
    Value,
)

DECODE_TRANSFER = [
    Fact(
        "handshakes-are-polled",
        "receivers that wait for pages are polled in every step, also when no handshake is missing",
        (f"{DECODE_QUEUE}._update_handshake_waiters",),
        (
            ("..0.5.19", Guards("all(decode_req.waiting_for_input for decode_req in self.queue)", "return")),
            ("0.5.20+", Lacks(("all(...)",))),
        ),
    ),
    Fact(
        "pages-early",
        "decode reserves pages before prefill has computed anything, unless it is told otherwise",
        (f"{OPTIONS}:--disaggregation-decode-allocation-policy",),
        (("..0.5.21", Absent()), ("0.5.22+", Value("'early'"))),
    ),
    Fact(
        "reserved-before-published",
        "decode waits for the handshake before it reserves",
        (f"{DECODE_QUEUE}.pop_preallocated",),
        ((EVERY, Before("decode_req.waiting_for_input", "self._pre_alloc(...)")),),
    ),
    Fact(
        "metadata-slot-before-pages",
        "and for a metadata slot",
        (f"{DECODE_QUEUE}.pop_preallocated",),
        ((EVERY, Guards("self.req_to_metadata_buffer_idx_allocator.available_size() <= 0", "break")),),
    ),
    Fact(
        "retracted-requests-first",
        "while retracted requests wait, nothing new is reserved",
        (f"{DECODE}.process_decode_queue",),
        ((EVERY, Guards("len(self.disagg_decode_prealloc_queue.retracted_queue) > 0", "return")),),
    ),
    Fact(
        "published-to-all-ranks",
        "the time limit of decode begins once every rank of prefill has been told the page numbers",
        (
            "..0.5.22 srt/disaggregation/mooncake/conn.py:MooncakeKVReceiver.send_metadata",
            f"0.5.23+ {RECEIVER}.send_metadata",
        ),
        (
            ("..0.5.22", Before("sock.send_multipart(...)", "self.init_time = time.time()")),
            ("0.5.23+", Before("self._send_bootstrap_message(...)", "self.init_time = time.time()")),
        ),
    ),
    Fact(
        "no-limit-before-publishing",
        "and not before",
        (f"{RECEIVER}._check_waiting_timeout",),
        ((EVERY, Guards("self.init_time is None", "return None")),),
    ),
    Fact(
        "time-limit-aborts",
        "at the time limit decode fails the transfer and tells prefill",
        (f"{RECEIVER}._check_waiting_timeout",),
        (
            (
                EVERY,
                Before(
                    "self.kv_mgr.update_status(self.bootstrap_room, KVPoll.Failed)", "self._send_abort_notification()"
                ),
            ),
        ),
    ),
    Fact(
        "waiting-time-limit",
        "which is 300 s",
        (f"{ENVIRONMENT}:SGLANG_DISAGGREGATION_WAITING_TIMEOUT",),
        ((EVERY, Value("EnvInt(300)")),),
        switch="timeouts",
        on=EVERY,
    ),
    Fact(
        "polls-are-final",
        "a receiver that has seen success or failure sticks to it",
        (
            "..0.5.21 srt/disaggregation/mooncake/conn.py:MooncakeKVReceiver.poll",
            f"0.5.22+ {RECEIVER}._poll",
        ),
        ((EVERY, Guards("status in (KVPoll.Success, KVPoll.Failed)", "self.conclude_state = status")),),
    ),
    Fact(
        "heartbeats",
        "heartbeats come every 5 s",
        (f"{ENVIRONMENT}:SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL",),
        ((EVERY, Value("EnvFloat(5.0)")),),
    ),
    Fact(
        "missed-heartbeats",
        "and two may be missed",
        (f"{ENVIRONMENT}:SGLANG_DISAGGREGATION_HEARTBEAT_MAX_FAILURE",),
        ((EVERY, Value("EnvInt(2)")),),
    ),
    Fact(
        "lost-nodes-fail",
        "a prefill node that misses its heartbeats fails the transfers that are not through",
        (f"{MANAGER}._handle_node_failure",),
        ((EVERY, Guards("self.check_status(room) != KVPoll.Success", "self.update_status(room, KVPoll.Failed)")),),
        switch="node_failure",
    ),
    Fact(
        "success-of-all-ranks",
        "decode takes a transfer for done once every rank of prefill that it waits for has said so",
        (f"..0.5.19 {MOONCAKE}.start_decode_thread", f"0.5.20+ {MANAGER}.apply_prefill_status"),
        (
            (
                "..0.5.19",
                Guards(
                    "arrived_response_num == expected_response_num",
                    "self.update_status(bootstrap_room, KVPoll.Success)",
                ),
            ),
            (
                "0.5.20..0.5.22",
                Guards("len(self.prefill_response_tracker[bootstrap_room]) < expected_response_num", "return"),
            ),
            ("0.5.23+", Guards("len(completed_ranks) < expected_response_num", "return")),
        ),
    ),
    Fact(
        "any-failure-fails",
        "the failure of one rank is enough",
        (f"..0.5.19 {MOONCAKE}.start_decode_thread", f"0.5.20+ {MANAGER}.apply_prefill_status"),
        (
            ("..0.5.19", Guards("status == KVPoll.Failed", "self.update_status(bootstrap_room, status)")),
            ("0.5.20+", Guards("status == KVPoll.Failed", "self.update_status(bootstrap_room, KVPoll.Failed)")),
        ),
    ),
    Fact(
        "metadata-gate",
        "a success whose metadata row has no room yet reads as still transferring",
        (f"{SHARED}:_apply_metadata_gate",),
        ((EVERY, Guards("actual_room == 0", "polls[i] = int(KVPoll.Transferring)")),),
        switch="aux_loss",
    ),
    Fact(
        "rooms-are-compared",
        "the room in the metadata row is compared with the request's own",
        (f"{TRANSFER_QUEUE}._commit_transfer_to_req",),
        ((EVERY, Guards("actual_room != expected_room", "return")),),
    ),
    Fact(
        "lengths-are-not-compared",
        "no length is",
        (f"{TRANSFER_QUEUE}._commit_transfer_to_req",),
        ((EVERY, Lacks(("len(...)", "_.origin_input_ids", "_.num_kv_tokens"))),),
        switch="token_count_check",
    ),
    Fact(
        "metadata-has-no-length",
        "and the metadata row has none",
        (f"{SHARED}:MetadataBuffers.set_buf",),
        ((EVERY, Lacks(("_.origin_input_ids",))),),
        switch="token_count_check",
    ),
    Fact(
        "metadata-rows-take-turns",
        "the metadata row that has been free longest is taken next",
        (f"{SHARED}:ReqToMetadataIdxAllocator.alloc",),
        ((EVERY, Contains("self.free_slots.popleft()")),),
    ),
    Fact(
        "metadata-row-is-reset",
        "a metadata row that is given back loses its room",
        (f"{TRANSFER_QUEUE}.pop_transferred",),
        (
            ("..0.5.22", Contains("self.metadata_buffers.bootstrap_room[idx] = 0")),
            ("0.5.23+", Contains("self.metadata_buffers.clear_slot(idx)")),
        ),
    ),
    Fact(
        "prompts-enter-the-tree",
        "a request that starts to decode offers its prompt to the tree",
        ("srt/disaggregation/decode_schedule_batch_mixin.py:ScheduleBatchDisaggregationDecodeMixin.process_prebuilt",),
        (
            ("..0.5.21", Contains("maybe_cache_unfinished_req(req, self.tree_cache)")),
            ("0.5.22+", Contains("checkpoint_kv_cache(req, self.tree_cache)")),
        ),
    ),
    Fact(
        "same-room-again",
        "a retracted request is computed again in the same room",
        (f"{REQUEST}.build_rebootstrap_payload",),
        ((EVERY, Contains("self.bootstrap_room")),),
    ),
    Fact(
        "checksum-is-off",
        "the checksum of transferred pages is off by default",
        (f"{OPTIONS}:--disaggregation-enable-kv-checksum",),
        (("..0.5.20", Absent()), ("0.5.21+", Value("False"))),
        switch="checksum",
    ),
    Fact(
        "checksum-before-reading",
        "it is verified when a batch is made, before anything is read or put into the tree",
        (f"{DECODE}.get_new_prebuilt_batch",),
        (
            ("..0.5.20", Lacks(("self._verify_kv_checksums(...)",))),
            ("0.5.21+", Before("self._verify_kv_checksums(batch)", "batch.process_prebuilt(self.future_map)")),
        ),
    ),
    Fact(
        "tree-of-decode-is-off",
        "the prefix tree of decode is off by default",
        (f"{OPTIONS}:--disaggregation-decode-enable-radix-cache",),
        ((EVERY, Value("False")),),
        switch="decode_tree",
    ),
]

DECODE_RELEASES = [
    Fact(
        "held-after-aborts",
        "the pages of a failed transfer may be held back",
        (f"{ENVIRONMENT}:SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE",),
        (("..0.5.20", Value("EnvBool(False)")), ("0.5.21+", Value("EnvBool(True)"))),
        switch="deferred_release",
        on="0.5.21+",
    ),
    Fact(
        "held-for-30-seconds",
        "for 30 s",
        (f"{ENVIRONMENT}:SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE_TIMEOUT",),
        ((EVERY, Value("EnvFloat(30.0)")),),
    ),
    Fact(
        "held-after-any-failure",
        "whoever began the failure",
        (f"{TRANSFER_QUEUE}.pop_transferred",),
        (
            ("..0.5.20", Lacks(("_.ensure_abort_notified(...)",))),
            ("0.5.21+", Contains("decode_req.kv_receiver.ensure_abort_notified(force_arm=True)")),
        ),
        switch="defer_all_failures",
        on="0.5.21+",
    ),
    Fact(
        "armed-before-sending",
        "acknowledgements count from before the abort is sent",
        (f"{RECEIVER}._send_abort_notification",),
        (
            ("..0.5.20", Lacks(("_.register_deferred_abort_room(...)",))),
            ("0.5.21+", Before("self.kv_mgr.register_deferred_abort_room(...)", "sock.send_multipart(...)")),
        ),
    ),
    Fact(
        "armed-after-sending",
        "they counted from after it",
        (f"{SCHEDULER}.abort_request",),
        (
            ("..0.5.20", Before("receiver.abort()", "receiver.kv_mgr.register_deferred_abort_room(...)")),
            ("0.5.21+", Lacks(("_.register_deferred_abort_room(...)",))),
        ),
    ),
    Fact(
        "released-in-time",
        "pages are given back at the time limit, acknowledged or not",
        (f"{TRANSFER_QUEUE}.resolve_deferred_releases",),
        (
            ("..0.5.22", Guards("not drained and now < deadline", "still_held.append(...)")),
            ("0.5.23+", Contains("is_drained or now >= deadline")),
        ),
        switch="no_release_timeout",
    ),
    Fact(
        "every-rank-asked-counts",
        "every rank that was told of the abort has to acknowledge it, also those that send nothing",
        (f"{TRANSFER_QUEUE}._defer_release",),
        ((EVERY, Contains("len(decode_req.kv_receiver.bootstrap_infos)")),),
    ),
    Fact(
        "released-by-count",
        "or once as many ranks have acknowledged as were asked",
        (f"{MANAGER}.is_abort_release_safe",),
        ((EVERY, Contains("len(_) >= required_acks")),),
    ),
    Fact(
        "releases-come-first",
        "what is held is looked at before anything else of decode's queues",
        (f"{DECODE}.process_decode_queue",),
        (
            (
                EVERY,
                Before(
                    "self.disagg_decode_transfer_queue.resolve_deferred_releases()",
                    "self.disagg_decode_prealloc_queue.resume_retracted_reqs()",
                ),
            ),
        ),
    ),
    Fact(
        "ranks-hold-together",
        "a transfer that one rank holds is held by all",
        (f"{TRANSFER_QUEUE}.pop_transferred",),
        (
            ("..0.5.22", Lacks(("all_reduce_flags(...)",))),
            ("0.5.23+", Contains("all_reduce_flags(..., op=torch.distributed.ReduceOp.MAX)")),
        ),
        switch="rank_agreement",
        on="0.5.23+",
    ),
    Fact(
        "ranks-release-together",
        "and released by all at once",
        (f"{TRANSFER_QUEUE}.resolve_deferred_releases",),
        (
            ("..0.5.22", Lacks(("all_reduce_flags(...)",))),
            ("0.5.23+", Contains("all_reduce_flags(..., op=torch.distributed.ReduceOp.MIN)")),
        ),
        switch="rank_agreement",
        on="0.5.23+",
    ),
    Fact(
        "waiting-abort-of-decode",
        "an abort in the waiting queue of decode offers the pages to the tree",
        (f"{SCHEDULER}.abort_request",),
        (
            (
                "..0.5.21",
                Guards(
                    "self.disaggregation_mode == DisaggregationMode.DECODE", "release_kv_cache(req, self.tree_cache)"
                ),
            ),
            (
                "0.5.22+",
                Guards(
                    "self.disaggregation_mode == DisaggregationMode.DECODE",
                    "release_kv_cache(req, self.tree_cache, checkpoint=True)",
                ),
            ),
        ),
    ),
    Fact(
        "releases-offer-to-the-tree",
        "releasing offers pages to the tree unless told otherwise",
        ("srt/mem_cache/common.py:release_kv_cache",),
        (("..0.5.21", Default("is_insert", "True")), ("0.5.22+", Guards("checkpoint", "tree_cache.checkpoint(...)"))),
    ),
]
