"""Sizes and switches of a cluster: how large it is, what may happen to it, and what is done about it."""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.reference.refusal import Refused


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a cluster is; prompts and pools in pages."""

    requests: int = 2  # clients
    context: int = 2  # announced context: a long prompt has this many pages
    prefill_ranks: int = 1
    decode_ranks: int = 1
    prefill_pages: int = 2  # prefill pool as it could be made
    decode_pages: int = 2
    prefill_rows: int = 2  # metadata rows
    decode_rows: int = 2
    short_prompt: int = 1
    prefill_pool: int = 2  # prefill pool as it is configured
    faults: int = 0  # faults that a run may have, at most; 0: as many as may be


@dataclass(frozen=True, slots=True)
class Switches:
    """All off is the engine of the incident, in an environment where nothing goes wrong."""

    # What may happen.
    client_disconnects: bool = False
    transfer_failures: bool = False  # a call may return an error with its writes still on their way
    resubmission: bool = False  # the engine may post the batch of a running call again
    timeouts: bool = False  # either side loses patience with the other
    hasty_timeouts: bool = False  # ... also while what it waits for is still on its way
    unequal_lengths: bool = False  # prefill cuts a prompt that is too long, and decode does not know
    message_loss: bool = False
    node_failure: bool = False  # the prefill node may die
    worker_crash: bool = False
    aux_loss: bool = False  # metadata rows never arrive
    pipeline: bool = False  # the prefill ranks are pipeline stages

    # How the engine is run.
    two_chunks: bool = False  # prompts of more than one page are computed and sent in two chunks
    early_send: bool = False  # the first chunk is handed over while its forward pass still runs
    decode_tree: bool = False  # decode keeps prompts in a prefix tree
    retraction: bool = False  # decode may take the pages of a running request; prefill computes it again
    larger_pool: bool = False  # the prefill pool is made as large as it could be

    # What the releases and the operators do about it.
    retire_after_forward: bool = False  # an aborted or rejected request ends after its last forward pass
    failed_is_terminal: bool = False  # a failed room stays failed
    conclude_rechecks: bool = False  # the worker looks at the room again before it reports success
    failure_to_all: bool = False  # a failed call is reported to every decode rank of the room
    reject_at_admission: bool = False  # too long a prompt is refused before anything else is done with it
    deferred_release: bool = False  # decode keeps the pages of an aborted transfer until prefill has drained
    defer_all_failures: bool = False  # ... of any failed transfer
    keep_ack_target: bool = False  # a cleared room still acknowledges an abort once it has drained
    abort_waiting_sender: bool = False  # an abort in the waiting queue marks the room as failed
    generations: bool = False  # acknowledgements carry the number of the hold that they belong to
    poison: bool = False  # a room with a failed call acknowledges nothing any more
    early_send_wait: bool = False  # the worker waits for the forward pass before it reads the source
    rank_agreement: bool = False  # decode ranks hold and release together
    probe: bool = False  # failed sessions are probed and taken back
    checksum: bool = False  # decode compares a digest of the KV with prefill's before the first read
    bounded_batch: bool = False  # pages are posted one by one, none outlives the time limit of a hold
    gateway: bool = False  # the router stops the decode leg when the prefill leg fails
    patient_balancer: bool = False  # a disconnect does not abort a request in transfer
    token_count_check: bool = False  # decode compares the number of tokens that were sent with its own
    source_hold: bool = False  # prefill keeps source pages until its writes have drained
    batch_recheck: bool = False  # the worker looks at the room before each batch
    prompt_abort: bool = False  # an abort reaches prefill before the time limit of a hold
    no_release_timeout: bool = False  # a hold has no time limit
    prefill_notifies: bool = False  # prefill tells decode when it aborts or rejects a request
    carried_tags: bool = False  # the tag that came with a page's bytes is compared before each read
    page_tags: bool = False  # a page's generation is compared with the recorded one before each read
    zero_on_release: bool = False  # decode clears pages when it frees them

    @property
    def impatient(self) -> bool:
        """Whether time-outs may fire although what they wait for is on its way, or lost without a trace."""
        return self.hasty_timeouts or self.message_loss or self.worker_crash


class Faults:
    """How many more faults the run may have."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.happened = 0

    def spend(self) -> None:
        """One more fault happens; refused if the run has had them all.  Comes last among the conditions of an event."""
        if self._most:
            if self.happened == self._most:
                raise Refused(f"environment: the run has had all its faults ({self._most})")
            self.happened += 1
