"""The transfer worker of prefill: what it counts, asks and reports around the writes of a chunk."""

from __future__ import annotations

from .shapes import (
    ENVIRONMENT,
    EVERY,
    MOONCAKE,
    SENDER,
    Absent,
    Before,
    Contains,
    Fact,
    Guards,
    Lacks,
    Value,
)

WORKER = [
    Fact(
        "the-last-chunk",
        "the last chunk is the one with which as many pages are sent as prefill has counted",
        (f"{SENDER}._prepare_send_indices",),
        ((EVERY, Contains("is_last_chunk = self.curr_idx == self.num_kv_indices")),),
    ),
    Fact(
        "failed-rooms-take-no-chunks",
        "a chunk of a failed room is not queued",
        (f"{MOONCAKE}.add_transfer_request",),
        ((EVERY, Guards("self.check_status(bootstrap_room) == KVPoll.Failed", "return")),),
    ),
    Fact(
        "queues-of-the-worker",
        "there are four queues for chunks",
        (f"{ENVIRONMENT}:SGLANG_DISAGGREGATION_QUEUE_SIZE",),
        ((EVERY, Value("EnvInt(4)")),),
    ),
    Fact(
        "counted-before-asked",
        "a chunk is counted when it leaves the queue, before the room is asked whether it has failed",
        (f"{MOONCAKE}.transfer_worker",),
        (
            (
                EVERY,
                Before(
                    "self._staging_outstanding[kv_chunk.room] += 1",
                    "self.check_status(kv_chunk.room) == KVPoll.Failed",
                ),
            ),
        ),
    ),
    Fact(
        "skipped-chunks-acknowledge",
        "a chunk of a failed room is skipped, and an abort acknowledged",
        (f"{MOONCAKE}.transfer_worker",),
        (
            (
                EVERY,
                Guards(
                    "self.check_status(kv_chunk.room) == KVPoll.Failed", "self._maybe_ack_drained_abort(kv_chunk.room)"
                ),
            ),
        ),
    ),
    Fact(
        "asked-before-sending",
        "the room is asked before the pages are sent",
        (f"{MOONCAKE}.transfer_worker",),
        ((EVERY, Before("self.check_status(kv_chunk.room) == KVPoll.Failed", "self.send_kvcache(...)")),),
    ),
    Fact(
        "more-pages-than-offered",
        "where decode offers fewer pages than prefill has, the rest is not sent",
        (f"{MOONCAKE}.transfer_worker",),
        (
            (
                EVERY,
                Guards(
                    "len(chunked_dst_kv_indice) < len(kv_chunk.prefill_kv_indices)",
                    "kv_chunk.prefill_kv_indices = kv_chunk.prefill_kv_indices[: len(chunked_dst_kv_indice)]",
                ),
            ),
        ),
    ),
    Fact(
        "fewer-pages-than-offered",
        "where decode offers more, nothing is said",
        (f"{MOONCAKE}.transfer_worker",),
        (
            (
                EVERY,
                Lacks(
                    (
                        "len(chunked_dst_kv_indice) > len(kv_chunk.prefill_kv_indices)",
                        "len(chunked_dst_kv_indice) != len(kv_chunk.prefill_kv_indices)",
                        "len(kv_chunk.prefill_kv_indices) < len(chunked_dst_kv_indice)",
                    )
                ),
            ),
        ),
        switch="token_count_check",
    ),
    Fact(
        "metadata-with-the-last-chunk",
        "the metadata row goes with the last chunk",
        (f"{MOONCAKE}.transfer_worker",),
        ((EVERY, Guards("kv_chunk.is_last_chunk", "self.send_aux(...)")),),
    ),
    Fact(
        "metadata-after-pages",
        "the metadata row is sent after the pages",
        (f"{MOONCAKE}.transfer_worker",),
        ((EVERY, Before("self.send_kvcache(...)", "self.send_aux(...)")),),
    ),
    Fact(
        "status-after-metadata",
        "the status is reported after the metadata row",
        (f"{MOONCAKE}.transfer_worker",),
        (
            ("..0.5.19", Before("self.send_aux(...)", "self.update_status(req.room, status)")),
            ("0.5.20+", Before("self.send_aux(...)", "self.conclude_transfer(...)")),
        ),
    ),
    Fact(
        "asked-after-state",
        "the room is asked again after the state components of the last chunk",
        (f"{MOONCAKE}.transfer_worker",),
        (
            ("..0.5.21", Lacks(("self.request_status.get(kv_chunk.room, KVPoll.Failed) == KVPoll.Failed",))),
            ("0.5.22+", Guards("self.request_status.get(kv_chunk.room, KVPoll.Failed) == KVPoll.Failed", "break")),
        ),
    ),
    Fact(
        "failed-calls-poison",
        "a call that fails poisons the room",
        (f"{MOONCAKE}.transfer_worker",),
        (
            ("..0.5.21", Lacks(("self._poison_unsettled_send(...)",))),
            ("0.5.22+", Guards("ret != 0", "self._poison_unsettled_send(kv_chunk.room)")),
        ),
        switch="poison",
        on="0.5.22+",
    ),
    Fact(
        "crashes-poison",
        "so does an exception of the worker",
        (f"{MOONCAKE}.transfer_worker",),
        (
            ("..0.5.21", Lacks(("self.poison_deferred_ack_room(...)",))),
            ("0.5.22+", Contains("self.poison_deferred_ack_room(kv_chunk.room)")),
        ),
        switch="poison",
        on="0.5.22+",
    ),
    Fact(
        "crashes-end-the-worker",
        "which ends the worker",
        (f"{MOONCAKE}.transfer_worker",),
        ((EVERY, Contains("raise RuntimeError(...)")),),
        switch="worker_crash",
    ),
    Fact(
        "counted-down-then-acknowledged",
        "after its writes a chunk is counted down",
        (f"{MOONCAKE}.transfer_worker",),
        ((EVERY, Before("self.send_aux(...)", "self._staging_outstanding[kv_chunk.room] -= 1")),),
    ),
    Fact(
        "one-failure-bars-a-session",
        "one failed call bars the session",
        (f"{MOONCAKE}.transfer_worker",),
        (
            (
                EVERY,
                Guards(
                    "self.session_failures[req.mooncake_session_id] >= 1",
                    "self.failed_sessions.add(req.mooncake_session_id)",
                ),
            ),
        ),
    ),
    Fact(
        "registration-lifts-the-bar",
        "a session that registers again is taken back",
        (
            f"..0.5.21 {MOONCAKE}.start_prefill_thread",
            f"0.5.22 {MOONCAKE}._publish_peer_registration",
            f"0.5.23+ {MOONCAKE}._unblacklist_session",
        ),
        (
            ("..0.5.21", Contains("self.failed_sessions.remove(mooncake_session_id)")),
            ("0.5.22", Contains("self.failed_sessions.discard(mooncake_session_id)")),
            ("0.5.23+", Contains("self.failed_sessions.discard(session_id)")),
        ),
    ),
    Fact(
        "barred-sessions-are-probed",
        "barred sessions are probed by default",
        (f"{ENVIRONMENT}:SGLANG_ENABLE_FAILED_SESSION_PROBE",),
        (("..0.5.22", Value("EnvBool(False)")), ("0.5.23+", Value("EnvBool(True)"))),
        switch="probe",
        on="0.5.23+",
    ),
]

SENDING = [
    Fact(
        "batches-are-unbounded",
        "by default the pages of a chunk are one call of the transfer engine",
        (f"{ENVIRONMENT}:SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES",),
        (("..0.5.19", Absent()), ("0.5.20+", Value("EnvInt(0)"))),
        switch="bounded_batch",
    ),
    Fact(
        "zero-means-one-call",
        "zero means that there are no batches",
        (f"{MOONCAKE}._send_kvcache_generic",),
        (
            ("..0.5.19", Lacks(("_.max_transfer_batch_indices",))),
            ("0.5.20+", Guards("max_batch_indices <= 0", "return process_layers(layers_params)")),
        ),
    ),
    Fact(
        "batches-end-at-a-failure",
        "a batch that fails is the last one",
        (f"{MOONCAKE}._send_kvcache_generic",),
        (("..0.5.19", Lacks(("_.max_transfer_batch_indices",))), ("0.5.20+", Guards("ret != 0", "return ret"))),
    ),
    Fact(
        "batches-do-not-ask",
        "the room is not asked between batches",
        (f"{MOONCAKE}._send_kvcache_generic",),
        ((EVERY, Lacks(("self.check_status(...)", "self.request_status"))),),
        switch="batch_recheck",
    ),
]
