"""Rooms: how their status may change, how a transfer is concluded, and how aborts are acknowledged."""

from __future__ import annotations

from .shapes import (
    EVERY,
    MANAGER,
    MOONCAKE,
    RECEIVER,
    SENDER,
    SHARED,
    Absent,
    Before,
    Contains,
    Fact,
    Guards,
    Lacks,
    Unguarded,
    Value,
)

ROOMS = [
    Fact(
        "failed-may-succeed",
        "the status of a room only grows, and failed is the lowest",
        (f"{MANAGER}.update_status",),
        (
            ("..0.5.19", Contains("max(self.request_status[bootstrap_room], status)")),
            ("0.5.20+", Guards("current == KVPoll.Failed", "return")),
        ),
        switch="failed_is_terminal",
        on="0.5.20+",
    ),
    Fact(
        "failed-is-asked-first",
        "a failed room is left alone before its status may grow",
        (f"{MANAGER}.update_status",),
        (
            ("..0.5.19", Lacks(("current == KVPoll.Failed",))),
            ("0.5.20+", Before("current == KVPoll.Failed", "max(current, status)")),
        ),
        switch="failed_is_terminal",
        on="0.5.20+",
    ),
    Fact(
        "failure-overwrites",
        "a failure overwrites whatever the room was",
        (f"{MANAGER}.update_status",),
        (
            (
                EVERY,
                Guards("status == KVPoll.Failed", "self.request_status[bootstrap_room] = KVPoll.Failed"),
            ),
        ),
    ),
    Fact(
        "who-makes-a-room",
        "an unknown room is made by anything but a failure; later only by its first two statuses",
        (f"{MANAGER}.update_status",),
        (
            (
                "..0.5.19",
                Guards("bootstrap_room not in self.request_status", "self.request_status[bootstrap_room] = status"),
            ),
            (
                "0.5.20+",
                Guards(
                    "status in (KVPoll.Bootstrapping, KVPoll.WaitingForInput)",
                    "self.request_status[bootstrap_room] = status",
                ),
            ),
        ),
    ),
    Fact(
        "a-new-room-is-clean",
        "a room that is made anew forgets acknowledgements, poison and counts of its last life",
        (f"{MANAGER}.update_status",),
        (
            ("..0.5.21", Lacks(("self._deferred_ack_targets", "self._staging_outstanding"))),
            (
                "0.5.22+",
                Guards(
                    "status in (KVPoll.Bootstrapping, KVPoll.WaitingForInput)",
                    "self._deferred_ack_poisoned_rooms.discard(bootstrap_room)",
                ),
            ),
        ),
    ),
    Fact(
        "page-numbers-make-a-room",
        "page numbers from decode are taken for any room, and the last of them reports that it waits for input",
        (f"{MOONCAKE}.start_prefill_thread",),
        ((EVERY, Contains("self.update_status(room, KVPoll.WaitingForInput)")),),
    ),
    Fact(
        "conclusion-asks-the-room",
        "a transfer that ends well counts as failed if its room has failed by then",
        (f"{MANAGER}.conclude_transfer",),
        (
            ("..0.5.19", Absent()),
            (
                "0.5.20+",
                Guards("self.request_status.get(bootstrap_room) == KVPoll.Failed", "status = KVPoll.Failed"),
            ),
        ),
        switch="conclude_rechecks",
        on="0.5.20+",
    ),
    Fact(
        "conclusion-of-a-cleared-room",
        "a room that has been cleared concludes nothing",
        (f"{MANAGER}.conclude_transfer",),
        (
            ("..0.5.19", Absent()),
            ("0.5.20+", Guards("bootstrap_room not in self.request_status", "return None")),
        ),
    ),
    Fact(
        "failures-go-to-all",
        "a failure is reported to every rank of decode that has published pages",
        (f"{MANAGER}.conclude_transfer",),
        (
            ("..0.5.19", Absent()),
            ("0.5.20+", Guards("targets is None", "targets = self._room_notify_targets(bootstrap_room)")),
        ),
        switch="failure_to_all",
        on="0.5.20+",
    ),
    Fact(
        "ranks-agree-by-minimum",
        "ranks of one side combine their polls by the minimum, and failed is the lowest",
        (f"{SHARED}:_all_reduce_polls",),
        (
            ("..0.5.22", Contains("dist.all_reduce(..., op=dist.ReduceOp.MIN)")),
            ("0.5.23+", Contains("all_reduce_flags(..., op=dist.ReduceOp.MIN)")),
        ),
    ),
    Fact(
        "failed-is-lowest",
        "failed is the lowest status",
        ("srt/disaggregation/base/conn.py:KVPoll.Failed",),
        ((EVERY, Value("0")),),
    ),
]

HANDLER = (
    f"..0.5.21 {MOONCAKE}.start_prefill_thread",
    f"0.5.22+ {MOONCAKE}._handle_deferred_abort_notification",
)

ABORTS = [
    Fact(
        "abort-fails-the-room-first",
        "an abort from decode marks the room as failed before whoever waits for the acknowledgement is noted",
        HANDLER,
        (
            (
                "..0.5.21",
                Before(
                    "self.update_status(room_to_be_aborted, KVPoll.Failed)", "self.register_deferred_ack_target(...)"
                ),
            ),
            ("0.5.22+", Before("self.update_status(room, KVPoll.Failed)", "self.register_deferred_ack_target(...)")),
        ),
    ),
    Fact(
        "abort-acknowledges-last",
        "the acknowledgement is tried after that",
        HANDLER,
        ((EVERY, Before("self.register_deferred_ack_target(...)", "self._maybe_ack_drained_abort(...)")),),
    ),
    Fact(
        "unknown-rooms-are-acknowledged",
        "the abort of a room that is over or unknown is acknowledged at once, if no chunk is outstanding",
        HANDLER,
        (
            (
                "..0.5.20",
                Guards("self._staging_outstanding.get(room_to_be_aborted, 0) == 0", "self._send_abort_ack(...)"),
            ),
            ("0.5.21", Unguarded("room_active", "self._send_abort_ack(...)")),
            ("0.5.22+", Unguarded("room_active", "self.register_deferred_ack_target(...)")),
        ),
    ),
    Fact(
        "acknowledged-at-zero",
        "nothing is acknowledged while a chunk is outstanding",
        (f"{MANAGER}._maybe_ack_drained_abort",),
        ((EVERY, Guards("self._staging_outstanding.get(room, 0) > 0", "return")),),
    ),
    Fact(
        "poisoned-rooms-are-silent",
        "a poisoned room acknowledges nothing",
        (f"{MANAGER}._maybe_ack_drained_abort",),
        (
            ("..0.5.21", Lacks(("self._deferred_ack_poisoned_rooms",))),
            ("0.5.22+", Guards("room in self._deferred_ack_poisoned_rooms", "return")),
        ),
        switch="poison",
        on="0.5.22+",
    ),
    Fact(
        "cleared-rooms-acknowledge",
        "a sender that is cleared keeps whoever waits for the acknowledgement until the room has drained",
        (f"{SENDER}.clear",),
        (
            ("..0.5.20", Lacks(("self.kv_mgr._maybe_ack_drained_abort(...)",))),
            ("0.5.21+", Contains("self.kv_mgr._maybe_ack_drained_abort(self.bootstrap_room)")),
        ),
        switch="keep_ack_target",
        on="0.5.21+",
    ),
    Fact(
        "cleared-rooms-forget",
        "before that it was forgotten",
        (f"{SENDER}.clear",),
        (
            ("..0.5.21", Contains("self.kv_mgr._deferred_ack_targets.pop(self.bootstrap_room, None)")),
            ("0.5.22+", Lacks(("self.kv_mgr._deferred_ack_targets",))),
        ),
    ),
    Fact(
        "acknowledgements-have-generations",
        "an acknowledgement counts for the hold that asked for it",
        (f"{MANAGER}.note_abort_ack",),
        (
            ("..0.5.21", Lacks(("_.generation", "generation"))),
            ("0.5.22+", Guards("state.generation == generation", "state.prefill_ranks.add(prefill_rank)")),
        ),
        switch="generations",
        on="0.5.22+",
    ),
    Fact(
        "aborts-have-generations",
        "the abort carries the number of the hold",
        (f"{RECEIVER}._send_abort_notification",),
        (
            ("..0.5.21", Lacks(("self._abort_generation",))),
            ("0.5.22+", Contains("AbortNotification(..., generation=self._abort_generation)")),
        ),
        switch="generations",
        on="0.5.22+",
    ),
]
