"""Switches and sizes of the model of SGLang + Mooncake.

A switch is one change of a release, one option of an operator, one proposed measure, or one thing that the
environment may do; the presets in `__init__.py` are made of nothing else.  `cites` name the released code (see
`docs/citations.md`), or the pull request in which a measure is proposed.
"""

from __future__ import annotations

from kvproto.lang import Params, flag, number

TRANSFER = "mooncake:mooncake-integration/transfer_engine/transfer_engine_py.cpp:batchTransferSync"
CONN = "srt/disaggregation/common/conn.py"
PREFILL = "srt/disaggregation/prefill.py"


class Config(Params):
    """Sizes and switches, grouped by who decides them."""

    # ------------------------------------------------------------------------------------------- sizes
    short_prompt: int = number(1, "pages of a short prompt; a long one has as many as the context", least=1)
    prefill_pool: int = number(1, "pages of the prefill pool, which is also the longest prompt it takes", least=1)
    two_chunks: bool = flag(False, "prompts of more than one page are computed and sent in two chunks")
    faults: int = number(0, "at most so many disconnects, failed calls, lost messages, crashes in a run; 0: no limit")

    # ------------------------------------------------------------------------------------- environment
    client_disconnects: bool = flag(True, "clients may go away while they wait", kind="environment")
    transfer_failures: bool = flag(
        True,
        "a call of the transfer engine may fail or run out of time, its writes still on their way",
        cites=TRANSFER,
        kind="environment",
    )
    resubmission: bool = flag(
        False,
        "after a first failure a whole batch is posted again, siblings of the first attempt still on their way",
        cites=TRANSFER,
        kind="environment",
    )
    timeouts: bool = flag(True, "either side loses patience with the other (300 s by default)", kind="environment")
    hasty_timeouts: bool = flag(False, "... also while what it waits for is still on its way", kind="environment")
    unequal_lengths: bool = flag(
        False,
        "prefill may compute a shorter prompt than the one decode reserved for",
        cites="#38704",
        kind="environment",
    )
    early_send: bool = flag(
        False,
        "a chunk may be handed to the transfer worker while the forward pass that fills its pages still runs",
        cites=(f"{PREFILL}:SchedulerDisaggregationPrefillMixin.maybe_send_cached_prefix_chunk", "#31368"),
        kind="environment",
    )
    decode_tree: bool = flag(
        False,
        "decode keeps prompts in a prefix tree",
        cites="srt/server_args.py:--disaggregation-decode-enable-radix-cache",
        kind="environment",
    )
    retraction: bool = flag(
        False,
        "decode may retract a running request, which is computed again in the same room",
        kind="environment",
    )
    message_loss: bool = flag(False, "control messages may be lost (ZMQ PUSH, no retry)", kind="environment")
    node_failure: bool = flag(
        False, "the prefill node may die; writes of its network card may still land", kind="environment"
    )
    worker_crash: bool = flag(False, "a transfer worker may die of an exception", kind="environment")
    aux_loss: bool = flag(False, "success is reported although the metadata row never arrives", kind="environment")
    pipeline: bool = flag(
        False, "the prefill ranks are pipeline stages: each goes by its own verdict", kind="environment"
    )

    # ------------------------------------------------------------------------------------------ 0.5.20
    retire_after_forward: bool = flag(
        False,
        "an aborted or rejected request is retired after its last forward pass, before anything is sent",
        cites=(f"0.5.20+ {PREFILL}:SchedulerDisaggregationPrefillMixin._retire_aborted_prefill_result", "#36988"),
        kind="mitigation",
    )
    failed_is_terminal: bool = flag(
        False,
        "a failed room stays failed",
        cites=f"0.5.20+ {CONN}:CommonKVManager.update_status",
        kind="mitigation",
    )
    conclude_rechecks: bool = flag(
        False,
        "the transfer worker looks at the room again before it reports success",
        cites=f"0.5.20+ {CONN}:CommonKVManager.conclude_transfer",
        kind="mitigation",
    )
    failure_to_all: bool = flag(
        False,
        "a failed transfer is reported to every decode rank, not only to the one it failed on",
        cites=(f"0.5.20+ {CONN}:CommonKVManager._room_notify_targets", "#36612"),
    )

    # ------------------------------------------------------------------------------------------ 0.5.21
    reject_at_admission: bool = flag(
        False,
        "a prompt that does not fit is refused at the door of the queue",
        cites=("0.5.21+ srt/disaggregation/utils.py:is_unadmitted_reject", "#38935"),
        kind="mitigation",
    )
    deferred_release: bool = flag(
        False,
        "decode keeps the pages of an aborted transfer until prefill has drained, or for 30 s",
        cites="srt/environ.py:SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE",
        kind="mitigation",
    )
    defer_all_failures: bool = flag(
        False,
        "... of a transfer that failed for whatever reason",
        cites=f"0.5.21+ {CONN}:CommonKVReceiver.ensure_abort_notified",
        kind="mitigation",
    )
    keep_ack_target: bool = flag(
        False,
        "a room that is cleared still acknowledges an abort once it has drained",
        cites=(f"0.5.21+ {CONN}:CommonKVSender.clear", "#40645"),
    )
    abort_waiting_sender: bool = flag(
        False,
        "an abort in prefill's waiting queue marks the room as failed",
        cites=f"0.5.21+ {PREFILL}:SchedulerDisaggregationPrefillMixin.release_aborted_prefill_waiting_req",
    )

    # ------------------------------------------------------------------------------------------ 0.5.22
    generations: bool = flag(
        False,
        "aborts and acknowledgements carry the generation of the hold that they belong to; each rank has its own",
        cites=f"0.5.22+ {CONN}:AckTarget",
    )
    poison: bool = flag(
        False,
        "a room with a failed call acknowledges nothing any more",
        cites=f"0.5.22+ {CONN}:CommonKVManager.poison_deferred_ack_room",
        kind="mitigation",
    )
    early_send_wait: bool = flag(
        False,
        "the transfer worker waits for the forward pass before it reads the source",
        cites="0.5.22+ srt/disaggregation/mooncake/conn.py:MooncakeKVManager.transfer_worker",
    )

    # ------------------------------------------------------------------------------------------ 0.5.23
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

    # ---------------------------------------------------------------------------- options and proposals
    checksum: bool = flag(
        False,
        "decode verifies the transferred KV once, before the first read",
        cites="0.5.21+ srt/server_args.py:--disaggregation-enable-kv-checksum",
        kind="mitigation",
    )
    bounded_batch: bool = flag(
        False,
        "pages are posted in batches, none of which outlives the time limit of a deferred release",
        cites="0.5.20+ srt/environ.py:SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES",
        kind="mitigation",
    )
    gateway: bool = flag(
        False, "the router stops the decode leg when the prefill leg fails", cites="#29017", kind="mitigation"
    )
    patient_balancer: bool = flag(
        False, "a client's disconnect does not abort a request in transfer", kind="mitigation"
    )
    larger_pool: bool = flag(False, "the prefill pool holds any prompt that the context allows", kind="mitigation")
    token_count_check: bool = flag(
        False, "decode compares what was sent with what it reserved", cites="#38704", kind="mitigation"
    )
    source_hold: bool = flag(
        False,
        "prefill keeps source pages and metadata row until its writes have drained",
        cites="#38961",
        kind="mitigation",
    )
    batch_recheck: bool = flag(
        False, "the transfer worker looks at the room again before each batch", kind="mitigation"
    )
    prompt_abort: bool = flag(
        False, "an abort reaches prefill before the time limit of a deferred release", kind="mitigation"
    )
    no_release_timeout: bool = flag(
        False, "a deferred release waits for the acknowledgement, however long", kind="mitigation"
    )
    prefill_notifies: bool = flag(
        False,
        "prefill tells decode when it aborts or rejects a request",
        cites=("#30551", "#38704"),
        kind="mitigation",
    )
    carried_tags: bool = flag(
        False,
        "a tag that comes with the page, fresh for each request, is checked at every read",
        kind="mitigation",
    )
    page_tags: bool = flag(False, "a tag that changes on reallocation is checked before every read", kind="mitigation")
    zero_on_release: bool = flag(False, "decode clears pages when it frees them", kind="mitigation")


cfg = Config()
