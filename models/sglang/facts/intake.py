"""Intake: what a refused or truncated request looks like, and the doors of the queues."""

from __future__ import annotations

from .shapes import (
    DECODE_QUEUE,
    EVERY,
    OPTIONS,
    PREFILL_QUEUE,
    REQUEST,
    SCHEDULER,
    Absent,
    Before,
    Contains,
    Fact,
    Guards,
    Lacks,
    Returns,
    Value,
)

INTAKE = [
    Fact(
        "reject-swaps-the-prompt",
        "a request that is refused at intake gets a prompt of one token",
        (f"{REQUEST}.set_finish_with_abort",),
        ((EVERY, Contains('self.origin_input_ids = array("q", [0])')),),
    ),
    Fact(
        "reject-is-a-note",
        "its verdict goes into to_finish",
        (f"{REQUEST}.set_finish_with_abort",),
        ((EVERY, Contains("self.to_finish = FINISH_ABORT(...)")),),
    ),
    Fact(
        "reject-does-not-finish",
        "and not into finished_reason",
        (f"{REQUEST}.set_finish_with_abort",),
        ((EVERY, Lacks(("self.finished_reason = _",))),),
    ),
    Fact(
        "finished-means-reason",
        "a request is finished once it has a finished_reason",
        (f"{REQUEST}.finished",),
        ((EVERY, Returns("self.finished_reason is not None")),),
    ),
    Fact(
        "too-long-is-truncated",
        "a prompt that is too long is cut where --allow-auto-truncate is on, at the limit of this side",
        ("srt/managers/utils.py:validate_input_length",),
        ((EVERY, Guards("allow_auto_truncate", "req.origin_input_ids = req.origin_input_ids[:max_req_input_len]")),),
    ),
    Fact(
        "too-long-from-the-limit-on",
        "too long begins at the limit itself",
        ("srt/managers/utils.py:validate_input_length",),
        ((EVERY, Contains("len(req.origin_input_ids) >= max_req_input_len")),),
    ),
    Fact(
        "truncation-is-off",
        "--allow-auto-truncate is off by default",
        (f"{OPTIONS}:--allow-auto-truncate",),
        ((EVERY, Value("False")),),
        switch="unequal_lengths",
    ),
    Fact(
        "intake-queues-the-rejected",
        "intake puts a refused request into the queue like any other",
        (f"..0.5.21 {SCHEDULER}.handle_generate_request", f"0.5.22+ {SCHEDULER}._handle_generate_request"),
        ((EVERY, Guards("error_msg", "self._add_request_to_queue(req)")),),
    ),
    Fact(
        "door-of-prefill",
        "the bootstrap queue of prefill turns a refused request away",
        (f"{PREFILL_QUEUE}.add",),
        (
            ("..0.5.20", Lacks(("is_unadmitted_reject(...)",))),
            ("0.5.21+", Guards("is_unadmitted_reject(req)", "return")),
        ),
        switch="reject_at_admission",
        on="0.5.21+",
    ),
    Fact(
        "door-before-sender",
        "the door comes before the room is opened",
        (f"{PREFILL_QUEUE}.add",),
        (
            ("..0.5.20", Lacks(("is_unadmitted_reject(...)",))),
            ("0.5.21+", Before("is_unadmitted_reject(req)", "self.create_sender(...)")),
        ),
    ),
    Fact(
        "door-of-decode",
        "the preallocation queue of decode has the same door, before the receiver is made",
        (f"{DECODE_QUEUE}.add",),
        (
            ("..0.5.20", Lacks(("is_unadmitted_reject(...)",))),
            ("0.5.21+", Before("is_unadmitted_reject(req)", "self._create_receiver_and_enqueue(...)")),
        ),
        switch="reject_at_admission",
        on="0.5.21+",
    ),
    Fact(
        "door-answers",
        "a request turned away is answered",
        (f"{SCHEDULER}.retire_unadmitted_request",),
        (("..0.5.20", Absent()), ("0.5.21+", Contains("self.output_streamer.stream_output(...)"))),
    ),
]
