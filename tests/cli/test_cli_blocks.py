"""The building blocks on the command line: found by name, listed after the models, explained, shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kvproto.lang.load import building_blocks, patterns, proofs, shipped_models

if TYPE_CHECKING:
    from cli_runs import Run


def test_a_block_is_a_target(kv: Run) -> None:
    """Where no preset is named the flags are those of `right`."""
    done = kv("check", "blocks.page_pool", "blocks.page_pool@right")

    assert (0, "") == (done.code, done.err)
    assert 1 == kv("check", "blocks.page_pool@leak").code
    assert 2 == kv("check", "blocks.page_pool@leek").code


def test_no_such_block(kv: Run) -> None:
    done = kv("check", "blocks.page_pol")

    assert 2 == done.code
    assert "KV001" in done.err and "did you mean 'blocks.page_pool'?" in done.err
    assert all(name in done.err for name in shipped_models())


def test_list_keeps_the_models_in_front(kv: Run) -> None:
    titles = [line for line in kv("list").out.splitlines() if line and not line.startswith(" ")]

    assert [*shipped_models(), "building", "patterns", "proofs"] == [line.split()[0] for line in titles]
    many = ("    blocks.", "    patterns.", "    proofs.")
    rows = [line for line in kv("list").out.splitlines() if line.startswith(many)]
    assert [*building_blocks(), *patterns(), *proofs()] == [row.split()[0] for row in rows]
    assert "building blocks" not in kv("list", "kv_transfer").out
    assert "double-free" in kv("list", "blocks.page_pool").out


def test_cites_finds_blocks_where_a_function_is_asked_for(kv: Run) -> None:
    assert "blocks.prefix_index" in kv("list", "--cites", "RadixCache.evict").out
    assert "blocks." not in kv("list", "--cites").out


def test_traces_carry_the_name_of_the_block(kv: Run) -> None:
    kv("check", "blocks.prefix_index@not-locked", "--trace-dir", "traces")
    trace = Path("traces/blocks.prefix_index-not-locked-used_stays.trace.json")

    assert [trace] == list(Path("traces").iterdir())
    assert "kvproto explain used_stays" in kv("show", str(trace)).out
    assert "(model blocks.prefix_index)" in kv("explain", "used_stays").out
