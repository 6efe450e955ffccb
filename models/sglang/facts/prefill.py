"""The prefill scheduler: results, aborts, releases, and chunks that are sent before their forward pass."""

from __future__ import annotations

from .shapes import (
    ENVIRONMENT,
    EVERY,
    MOONCAKE,
    PREFILL,
    PREFILL_QUEUE,
    SCHEDULER,
    SENDER,
    Absent,
    Before,
    Contains,
    Fact,
    Guards,
    Lacks,
    Value,
)

PREFILL_RESULTS = [
    Fact(
        "pages-of-own-prompt",
        "prefill counts the pages to send from its own prompt",
        (f"..0.5.20 {PREFILL_QUEUE}.finalize_bootstrap", f"0.5.21+ {PREFILL_QUEUE}._num_pages_to_send"),
        ((EVERY, Contains("len(req.origin_input_ids)")),),
    ),
    Fact(
        "retired-after-forward",
        "the result of the last chunk of an aborted request is retired",
        (f"{PREFILL}.process_batch_result_disagg_prefill",),
        (
            ("..0.5.19", Lacks(("self._retire_aborted_prefill_result(...)",))),
            ("0.5.20+", Guards("is_aborted(req)", "self._retire_aborted_prefill_result(req)")),
        ),
        switch="retire_after_forward",
        on="0.5.20+",
    ),
    Fact(
        "retired-before-sending",
        "before its last chunk is sent",
        (f"{PREFILL}.process_batch_result_disagg_prefill",),
        (
            ("..0.5.19", Lacks(("self._retire_aborted_prefill_result(...)",))),
            ("0.5.20+", Before("self._retire_aborted_prefill_result(req)", "self.send_kv_chunk(req, last_chunk=True)")),
        ),
        switch="retire_after_forward",
        on="0.5.20+",
    ),
    Fact(
        "retiring-fails-the-room-first",
        "retiring marks the room as failed, then gives the pages back",
        (f"{PREFILL}._retire_aborted_prefill_result",),
        (("..0.5.19", Absent()), ("0.5.20+", Before("sender.abort()", "release_kv_cache(...)"))),
    ),
    Fact(
        "retiring-does-not-wait",
        "retiring does not ask for outstanding chunks",
        (f"{PREFILL}._retire_aborted_prefill_result",),
        (("..0.5.19", Absent()), ("0.5.20+", Lacks(("_._staging_outstanding", "_.poll()")))),
        switch="source_hold",
    ),
    Fact(
        "chunked-abort",
        "an abort between chunks marks the room as failed, then gives the pages back",
        (f"{SCHEDULER}.process_pending_chunked_abort",),
        ((EVERY, Before("req.disagg_kv_sender.abort()", "release_kv_cache(...)")),),
    ),
    Fact(
        "waiting-abort-tells-the-sender",
        "an abort in the waiting queue of prefill marks the room as failed, bootstrapped or not",
        (f"{SCHEDULER}.abort_request",),
        (
            ("..0.5.20", Guards("bootstrap_pending", "req.disagg_kv_sender.abort()")),
            ("0.5.21+", Contains("self.release_aborted_prefill_waiting_req(req)")),
        ),
        switch="abort_waiting_sender",
        on="0.5.21+",
    ),
    Fact(
        "waiting-abort-order",
        "the room fails first, then the pages are given back",
        (f"{PREFILL}.release_aborted_prefill_waiting_req",),
        (("..0.5.20", Absent()), ("0.5.21+", Before("sender.abort()", "release_kv_cache(...)"))),
    ),
    Fact(
        "sender-abort-is-local",
        "the sender's abort sends no message of its own",
        (f"{SENDER}.abort",),
        (
            (
                EVERY,
                Lacks(
                    (
                        "_.send_multipart(...)",
                        "_.sync_status_to_decode_endpoint(...)",
                        "_.send_kv_status_message(...)",
                        "_.conclude_transfer(...)",
                        "_.conclude_failure(...)",
                    )
                ),
            ),
        ),
        switch="prefill_notifies",
    ),
    Fact(
        "sender-abort-fails-the-room",
        "it marks the room as failed",
        (f"{SENDER}.abort",),
        ((EVERY, Contains("self.kv_mgr.update_status(self.bootstrap_room, KVPoll.Failed)")),),
    ),
    Fact(
        "inflight-success-releases",
        "a transfer that succeeded gives its pages back",
        (f"{PREFILL}.process_disagg_prefill_inflight_queue",),
        ((EVERY, Guards("poll == KVPoll.Success", "release_kv_cache(...)")),),
    ),
    Fact(
        "inflight-failure-releases",
        "so does one that failed, in the same step",
        (f"{PREFILL}.handle_inflight_transfer_failure",),
        ((EVERY, Contains("release_kv_cache(...)")),),
    ),
    Fact(
        "inflight-failure-does-not-wait",
        "without asking for outstanding chunks",
        (f"{PREFILL}.handle_inflight_transfer_failure",),
        ((EVERY, Lacks(("_._staging_outstanding",))),),
        switch="source_hold",
    ),
    Fact(
        "inflight-does-not-read-to-finish",
        "the answer of a finished transfer does not depend on to_finish",
        (f"{PREFILL}.process_disagg_prefill_inflight_queue",),
        ((EVERY, Lacks(("_.to_finish",))),),
    ),
    Fact(
        "failed-handshakes-and-the-tree",
        "a request whose handshake failed offers its pages to the tree, later not",
        (f"{PREFILL}.handle_bootstrap_failure",),
        (
            ("..0.5.20", Contains("release_kv_cache(req, self.tree_cache)")),
            ("0.5.21", Contains("release_kv_cache(req, self.tree_cache, is_insert=False)")),
            ("0.5.22+", Contains("release_kv_cache(req, self.tree_cache, checkpoint=False)")),
        ),
    ),
    Fact(
        "success-waits-for-chunks",
        "success is held back while chunks are outstanding",
        (
            "..0.5.21 srt/disaggregation/mooncake/conn.py:MooncakeKVSender.poll",
            "0.5.22 srt/disaggregation/mooncake/conn.py:MooncakeKVSender._poll_with_status",
            f"0.5.23+ {SENDER}._poll_with_status",
        ),
        (
            (
                EVERY,
                Guards(
                    "self.kv_mgr._staging_outstanding.get(self.bootstrap_room, 0) > 0", "return KVPoll.Transferring"
                ),
            ),
        ),
    ),
    Fact(
        "stages-poll-themselves",
        "a pipeline stage acts on its own poll, for the requests that all stages have seen end",
        (f"{PREFILL}.process_disagg_prefill_inflight_queue",),
        ((EVERY, Guards("rids_to_check is not None", "poll not in (KVPoll.Success, KVPoll.Failed)")),),
        switch="pipeline",
    ),
    Fact(
        "boot-time-limit",
        "prefill waits 300 s for the page numbers of decode",
        (f"{ENVIRONMENT}:SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT",),
        ((EVERY, Value("EnvInt(300)")),),
        switch="timeouts",
        on=EVERY,
    ),
]

EARLY_SEND = [
    Fact(
        "early-send-is-on",
        "a cached prefix is sent before the forward pass, by default",
        (f"{ENVIRONMENT}:SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX",),
        ((EVERY, Value("EnvBool(True)")),),
    ),
    Fact(
        "early-send-event",
        "the end of the forward pass under way is noted for whoever sends",
        (f"{PREFILL}.maybe_send_cached_prefix_chunk",),
        ((EVERY, Guards("self.enable_overlap", "req.disagg_kv_sender._early_send_wait_event = ev")),),
    ),
    Fact(
        "early-send-is-waited-for",
        "the transfer worker waits for it",
        (f"{MOONCAKE}.transfer_worker",),
        (
            ("..0.5.21", Lacks(("_.wait_event",))),
            ("0.5.22+", Guards("kv_chunk.wait_event is not None", "kv_chunk.wait_event.synchronize()")),
        ),
        switch="early_send_wait",
        on="0.5.22+",
    ),
    Fact(
        "early-send-wait-before-check",
        "before it looks at the room",
        (f"{MOONCAKE}.transfer_worker",),
        (
            ("..0.5.21", Lacks(("_.wait_event",))),
            (
                "0.5.22+",
                Before("kv_chunk.wait_event.synchronize()", "self.check_status(kv_chunk.room) == KVPoll.Failed"),
            ),
        ),
        switch="early_send_wait",
        on="0.5.22+",
    ),
    Fact(
        "no-early-send-while-loading",
        "no prefix is sent early while it is loaded back from the host",
        (f"{PREFILL}.maybe_send_cached_prefix_chunk",),
        (("..0.5.22", Lacks(("allow_send",))), ("0.5.23+", Guards("not allow_send", "return"))),
    ),
]
