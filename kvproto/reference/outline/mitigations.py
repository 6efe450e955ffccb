"""Sizes and switches of a cluster: how large it is, and which measures against cross-request reads are taken."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a cluster is; all in pages except `requests`."""

    requests: int  # clients
    context: int  # announced context: a long prompt has this many pages
    short_prompt: int
    prefill_pages: int  # prefill pool as it could be made
    prefill_pool: int  # prefill pool as it is configured
    decode_pages: int


@dataclass(frozen=True, slots=True)
class Switches:
    """The measures.  All off is the engine of the incident, but for `release_timeout`, which it always had."""

    larger_pool: bool = False  # the prefill pool is made as large as it could be
    reject_at_admission: bool = False  # too long a prompt is refused before anything else is done with it
    retire_after_forward: bool = False  # a rejected request ends after its forward pass, nothing is sent
    failed_is_terminal: bool = False  # an aborted room reports failure once its writes have drained
    token_count_check: bool = False  # decode compares the transferred token count with the prompt's
    deferred_release: bool = False  # decode keeps pages of a failed transfer until prefill acknowledges
    release_timeout: bool = True  # ... or until a time limit
    bounded_batch: bool = False  # no posted write outlives that time limit
    prompt_abort: bool = False  # an abort reaches prefill before that time limit
    deferred_source_release: bool = False  # prefill keeps source pages until its writes have drained
    patient_balancer: bool = False  # a disconnect does not abort a request in transfer
    checksum: bool = False  # decode compares a digest of the KV with prefill's before the first read
    page_tags: bool = False  # a page's generation is compared with the recorded one before each read
    carried_tags: bool = False  # the tag that came with a page's bytes is compared before each read
    zero_on_release: bool = False  # decode clears pages when it frees them
