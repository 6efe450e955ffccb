"""Counterexamples of the shipped models' wrong presets, on their models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.nodes import LIVENESS
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.trace.build import build_trace
from kvproto.whatif.subject import Subject, subject


@dataclass(frozen=True)
class Wrong:
    """A preset that breaks a property, and what it has set wrong: no switch is missing if that is the environment."""

    target: str
    claim: str
    missing: str
    about_runs: bool = False


def wrong(target: str, claim: str, missing: str, *, about_runs: bool = False) -> tuple[str, Wrong]:
    """With a name."""
    return f"{target}-{claim}", Wrong(target, claim, missing, about_runs)


WRONG = dict(
    [
        wrong("blocks.control_channel@not-numbered", "over_when_all_stopped", "numbered"),
        wrong("blocks.control_channel@counted", "over_when_all_stopped", "counts_peers"),
        wrong("blocks.control_channel@not-idempotent", "stops_once", "stops_once"),
        wrong("blocks.control_channel@overtakes", "stays_stopped", "remembers"),
        wrong("blocks.control_channel@no-retry", "comes_to_an_end", "retries", about_runs=True),
        wrong("blocks.deferred_release@counted-at-begin", "ack_means_quiet", "counts_early"),
        wrong("blocks.deferred_release@noted-first", "ack_means_quiet", "marks_first"),
        wrong("blocks.deferred_release@not-poisoned", "ack_means_quiet", "poisons"),
        wrong("blocks.deferred_release@short-limit", "limit_means_quiet", "limit"),
        wrong("blocks.deferred_release@not-numbered", "ack_fits", "numbered"),
        wrong("blocks.deferred_release@no-limit", "holds_end", "limit", about_runs=True),
        wrong("blocks.metadata_rows@not-cleared", "none_wronged", "clears"),
        wrong("blocks.metadata_rows@no-gate", "none_wronged", "gate"),
        wrong("blocks.metadata_rows@not-held", "none_wronged", "holds"),
        wrong("blocks.metadata_rows@freed-twice", "no_row_twice", "frees_once"),
        wrong("blocks.metadata_rows@no-limit", "concludes", "limit", about_runs=True),
        wrong("blocks.page_pool@double-free", "no_page_twice", "frees_once"),
        wrong("blocks.page_pool@leak", "no_page_lost", "frees_unwritten"),
        wrong("blocks.page_pool@reads-early", "reads_own", "writes_first"),
        wrong("blocks.page_pool@not-cleared", "bytes_end_with_the_owner", "clears"),
        wrong("blocks.prefix_index@published-early", "hits_are_computed", "publishes_computed"),
        wrong("blocks.prefix_index@published-unverified", "hits_are_verified", "publishes_verified"),
        wrong("blocks.prefix_index@not-locked", "used_stays", "locks"),
        wrong("blocks.prefix_index@lock-lost", "locks_end", "unlocks_aborted"),
        wrong("blocks.prefix_index@duplicate-lost", "no_page_lost", "frees_duplicate"),
        wrong("blocks.ranks@first-success", "goes_on_complete", "needs_all"),
        wrong("blocks.ranks@alone", "same_fate", "agrees"),
        wrong("blocks.ranks@released-alone", "frees_in_step", "release"),
        wrong("blocks.ranks@held-alone", "frees_in_step", "hold"),
        wrong("blocks.ranks@told-to-one", "decides", "failure_to_all", about_runs=True),
        wrong("blocks.ranks@source-at-once", "source_stays", "source_waits"),
        wrong("blocks.ranks@stages-alone", "ends_alike", "stages_agree"),
        wrong("blocks.timers@unbounded", "freed_after_the_last_write", "bounded"),
        wrong("blocks.timers@not-rechecked", "freed_after_the_last_write", "rechecks"),
        wrong("blocks.timers@short-hold", "freed_after_the_last_write", "hold_limit"),
        wrong("blocks.timers@late-notice", "freed_after_the_last_write", "notice"),
        wrong("blocks.timers@short-patience", "patience_outlasts_calls", "patience"),
        wrong("blocks.timers@no-patience", "waits_end", "gives_up", about_runs=True),
        wrong("blocks.timers@no-limit", "holds_end", "expires", about_runs=True),
        wrong("kv_transfer@vulnerable", "no_stray", "deferred_release"),
        wrong("kv_transfer@vulnerable", "own_data", "deferred_release"),
    ]
)
"""Every wrong preset that differs from the right one in a measure."""


@cache
def sample(target: str, claim: str) -> Subject:
    """The counterexample that a search finds."""
    asked = find(target)
    system = build(asked.model, choose(asked.model, preset=asked.preset))
    found = search(system, Options(properties=(claim,))).finding(claim).counterexample
    assert found is not None
    assert (found.loop is not None) == (found.claim.kind in LIVENESS)
    return subject(build_trace(system, found))


def found_by(name: str) -> Subject:
    """The counterexample of a wrong preset."""
    return sample(WRONG[name].target, WRONG[name].claim)
