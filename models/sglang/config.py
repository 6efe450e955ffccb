"""Switches and sizes of the model of SGLang + Mooncake.

A switch is one change of a release, one option of an operator, one proposed measure, or one thing that the environment may do.
The presets in `__init__.py` are made of nothing else.  `cites` name the released code: `srt/FILE.py:NAME` below the package
`sglang`, with the releases in which it is found (`0.5.20+`: from that one on), or a pull request.
"""

from __future__ import annotations

from kvproto.lang import Params, flag, number


class Config(Params):
    """Sizes and switches, grouped by who decides them."""

    # ------------------------------------------------------------------------------------------------ sizes
    short_prompt: int = number(1, "pages of a short prompt; a long one has as many as the context", least=1)
    prefill_pool: int = number(1, "pages of the prefill pool, which is also the longest prompt it takes", least=1)
    two_chunks: bool = flag(False, "prompts of more than one page are computed and sent in two chunks")

    # ------------------------------------------------------------------------------------------ environment
    faults: int = number(0, "disconnects, failed calls, lost messages, crashes in one run, at most; 0: as many as may be")
    client_disconnects: bool = flag(True, "clients may go away while they wait")
    transfer_failures: bool = flag(
        True,
        "a call of the transfer engine may fail or run out of time, its writes still on their way",
        cites="mooncake:mooncake-integration/transfer_engine/transfer_engine_py.cpp:batchTransferSync",
    )
    resubmission: bool = flag(
        False,
        "after a first failure the engine posts a whole batch again, siblings of the first attempt still on their way",
        cites="mooncake:mooncake-integration/transfer_engine/transfer_engine_py.cpp:batchTransferSync",
    )
    timeouts: bool = flag(True, "either side loses patience with the other (300 s by default)")
    hasty_timeouts: bool = flag(False, "... also while what it waits for is still on its way")
    unequal_lengths: bool = flag(False, "prefill computes a shorter prompt than the one decode reserved for (#38704)")
    early_send: bool = flag(
        False,
        "a chunk may be handed to the transfer worker while the forward pass that fills its pages still runs (#31368)",
        cites="srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.maybe_send_cached_prefix_chunk",
    )
    decode_tree: bool = flag(False, "decode keeps prompts in a prefix tree (`--disaggregation-decode-enable-radix-cache`)")
    retraction: bool = flag(False, "decode may take the pages of a running request, which is computed again in the same room")
    message_loss: bool = flag(False, "control messages may be lost (ZMQ PUSH, no retry)")
    node_failure: bool = flag(False, "the prefill node may die; writes of its network card may still land")
    worker_crash: bool = flag(False, "a transfer worker may die of an exception")
    aux_loss: bool = flag(False, "success may be reported although the metadata row never arrives")
    pipeline: bool = flag(False, "the prefill ranks are pipeline stages: each goes by its own verdict")

    # ---------------------------------------------------------------------------------------- 0.5.20
    retire_after_forward: bool = flag(
        False,
        "an aborted or rejected request is retired after its last forward pass, before anything is sent",
        cites=("0.5.20+ srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin._retire_aborted_prefill_result"),
    )
    failed_is_terminal: bool = flag(
        False,
        "a failed room stays failed",
        cites="0.5.20+ srt/disaggregation/common/conn.py:CommonKVManager.conclude_transfer",
    )
    conclude_rechecks: bool = flag(
        False,
        "the transfer worker looks at the room again before it reports success",
        cites="0.5.20+ srt/disaggregation/common/conn.py:CommonKVManager.conclude_transfer",
    )
    failure_to_all: bool = flag(
        False,
        "a failed transfer is reported to every decode rank, not only to the one it failed on (#36612)",
        cites="0.5.20+ srt/disaggregation/common/conn.py:CommonKVManager._room_notify_targets",
    )
    # ---------------------------------------------------------------------------------------- 0.5.21
    reject_at_admission: bool = flag(
        False,
        "a prompt that does not fit is refused at the door of the queue (#38935)",
        cites="0.5.21+ srt/disaggregation/utils.py:is_unadmitted_reject",
    )
    deferred_release: bool = flag(
        False,
        "decode keeps the pages of an aborted transfer until prefill has drained, or for 30 s",
        cites="srt/environ.py:SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE",
    )
    defer_all_failures: bool = flag(
        False,
        "... of a transfer that failed for whatever reason",
        cites="0.5.21+ srt/disaggregation/common/conn.py:CommonKVReceiver.ensure_abort_notified",
    )
    keep_ack_target: bool = flag(
        False,
        "a room that is cleared still acknowledges an abort once it has drained (#40645)",
        cites="0.5.21+ srt/disaggregation/common/conn.py:CommonKVSender.clear",
    )
    abort_waiting_sender: bool = flag(
        False,
        "an abort in prefill's waiting queue marks the room as failed",
        cites="0.5.21+ srt/disaggregation/prefill.py:SchedulerDisaggregationPrefillMixin.release_aborted_prefill_waiting_req",
    )
    # ---------------------------------------------------------------------------------------- 0.5.22
    generations: bool = flag(
        False,
        "aborts and acknowledgements carry the generation of the hold that they belong to",
        cites="0.5.22+ srt/disaggregation/common/conn.py:AckTarget",
    )
    poison: bool = flag(
        False,
        "a room with a failed call acknowledges nothing any more",
        cites="0.5.22+ srt/disaggregation/common/conn.py:CommonKVManager.poison_deferred_ack_room",
    )
    early_send_wait: bool = flag(
        False,
        "the transfer worker waits for the forward pass before it reads the source",
        cites="0.5.22+ srt/disaggregation/mooncake/conn.py:MooncakeKVManager.transfer_worker",
    )
    # ---------------------------------------------------------------------------------------- 0.5.23
    rank_agreement: bool = flag(
        False,
        "decode ranks hold and release together",
        cites="0.5.23 srt/disaggregation/utils.py:all_reduce_flags",
    )
    probe: bool = flag(
        False,
        "a session that failed once is probed and taken back",
        cites="srt/environ.py:SGLANG_ENABLE_FAILED_SESSION_PROBE",
    )

    # ----------------------------------------------------------------------------- options and measures
    checksum: bool = flag(
        False,
        "decode verifies the transferred KV once, before the first read",
        cites="0.5.21+ srt/server_args.py:--disaggregation-enable-kv-checksum",
    )
    bounded_batch: bool = flag(
        False,
        "pages are posted in batches, none of which outlives the time limit of a deferred release",
        cites="0.5.20+ srt/environ.py:SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES",
    )
    gateway: bool = flag(False, "the router stops the decode leg when the prefill leg fails (#29017)")
    patient_balancer: bool = flag(False, "a client's disconnect does not abort a request in transfer")
    larger_pool: bool = flag(False, "the prefill pool holds any prompt that the context allows")
    token_count_check: bool = flag(False, "decode compares what was sent with what it reserved (#38704)")
    source_hold: bool = flag(False, "prefill keeps source pages and metadata row until its writes have drained (#38961)")
    batch_recheck: bool = flag(False, "the transfer worker looks at the room again before each batch")
    prompt_abort: bool = flag(False, "an abort reaches prefill before the time limit of a deferred release")
    no_release_timeout: bool = flag(False, "a deferred release waits for the acknowledgement, however long")
    prefill_notifies: bool = flag(False, "prefill tells decode when it aborts or rejects a request (#30551, #38704)")
    carried_tags: bool = flag(False, "a tag that comes with the page, fresh for each request, is checked at every read")
    page_tags: bool = flag(False, "a tag that changes on reallocation is checked before every read")
    zero_on_release: bool = flag(False, "decode clears pages when it frees them")


cfg = Config()
