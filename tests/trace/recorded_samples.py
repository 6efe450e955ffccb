"""Traces of the model of SGLang, as a search found them: ranks, several sets of writes, claims of every kind."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from trace_samples import STORED, expected_texts, golden

from kvproto.cli.main import main
from kvproto.trace import codec

RECORDED = {
    "ranks_blank": ("sglang@incident", "", "reads_own_writes"),
    "ranks_stale": ("sglang@incident", "", "reads_no_foreign_data"),
    "ranks_rejected": ("sglang@incident", "", "rejected_never_succeeds"),
    "ranks_bystander": ("sglang@0.5.19", "small", "writes_spare_other_requests"),
    "ranks_copied": ("sglang@0.5.19", "small", "reads_no_foreign_data"),
    "ranks_posted_late": ("sglang@0.5.23", "small", "reads_no_foreign_data"),
    "ranks_source": ("sglang@0.5.19", "small", "sources_are_stable"),
    "ranks_committed": ("sglang@0.5.19", "small", "committed_pages_are_own"),
    "ranks_revived": ("sglang@0.5.19", "small", "failed_stays_failed"),
    "ranks_quiet": ("sglang@0.5.21", "small", "acknowledged_is_quiet"),
    "ranks_session": ("sglang@0.5.21", "small", "sessions_recover"),
    "ranks_in_vain": ("sglang@0.5.23", "small", "nobody_waits_in_vain"),
    "ranks_freed": ("sglang@0.5.23", "small", "no_free_under_write"),
    "ranks_two": ("sglang@0.5.19", "fan-out", "writes_land_in_own_pages"),
    "ranks_differ": ("sglang@0.5.21", "fan-out", "ranks_agree"),
}
"""Sample -> target, scope ("" for the preset's own) and property of the search that found it."""


def record(name: str) -> None:
    """Search again, and keep the trace and the texts of it."""
    target, scope, claim = RECORDED[name]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--scope", scope] if scope else []
        main(["check", target, *options, "--property", claim, "--trace-dir", folder, "--quiet"])
        (found,) = Path(folder).glob("*.trace.json")
        # Without the sentences, so that pictures are made with those of today.
        trace = replace(codec.read(found), why=())
    (STORED / f"{name}.trace.json").write_text(codec.dumps(trace), "utf-8")
    for kind, text in expected_texts(trace).items():
        golden(name, kind).write_text(text, "utf-8")


if __name__ == "__main__":
    for sample in RECORDED:
        record(sample)
