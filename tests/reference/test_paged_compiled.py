"""The kernel, compiled for cards that need not be there: that it compiles, and in which order it loads."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

import triton

from kvproto.reference.paged.libraries import interpreted, kernels

POINTERS = {"asked_at", "keys_at", "values_at", "out_at"}
WORDS = {"tags_at", "table_at", "expected_at", "lengths_at", "places_at", "flags_at"}
NUMBERS = {"pages": "i32", "width": "i32", "queries": "i32", "scale": "fp32", "slope": "fp32"}
SMALL = {"heads": 2, "dim": 16, "page_size": 16, "check": True, "block_q": 16, "block_t": 64, "block_d": 16}
LARGE = {"heads": 8, "dim": 128, "page_size": 64, "check": True, "block_q": 16, "block_t": 64, "block_d": 128}

CAPABILITY = 90
"""Of the cards to compile for: Hopper."""


def compiled(
    element: str, fixed: dict[str, int], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str | bytes]:
    """The stages of the compiler by name."""
    if interpreted():
        pytest.skip("TRITON_INTERPRET is set")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    signature = (
        dict.fromkeys(POINTERS, element) | dict.fromkeys(WORDS, "*i32") | NUMBERS | dict.fromkeys(fixed, "constexpr")
    )
    kernel = kernels().paged_attention
    source = triton.compiler.ASTSource(
        kernel, signature={name: signature[name] for name in kernel.arg_names}, constexprs=fixed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target = triton.backends.compiler.GPUTarget("cuda", CAPABILITY, 32)
        stages: dict[str, str | bytes] = dict(triton.compile(source, target=target).asm)
    return stages


@pytest.mark.parametrize(
    ("element", "fixed"), [("*fp32", SMALL), ("*fp16", LARGE)], ids=["as in the clusters", "as in an engine"]
)
def test_it_compiles_and_loads_tags_around_pages(
    element: str, fixed: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the loop: the tag, a barrier, the page's bytes, a barrier, the tag.  Nothing of it is moved or done ahead."""
    stages = compiled(element, fixed, tmp_path, monkeypatch)
    loop = str(stages["ptx"]).split("Inner Loop Header", 1)[1]
    events = re.findall(r"ld\.volatile\.global|ld\.global|bar\.sync|cp\.async", loop)
    tags = [at for at, event in enumerate(events) if event == "ld.volatile.global"]

    assert len(stages["cubin"]) > 0
    assert "cp.async" not in events
    assert 2 == len(tags)
    between = events[tags[0] + 1 : tags[1]]
    assert "bar.sync" == between[0] == between[-1]
    # Keys and values of 64 tokens, over 128 threads, in loads of at most 16 bytes.
    assert between.count("ld.global") >= 2 * 64 * fixed["dim"] * (4 if element == "*fp32" else 2) // 16 // 128
    assert "ld.global" not in events[tags[1] :]
