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

LETTERS = {"ld.volatile.global": "T", "ld.global": "L", "bar.sync": "B", "cp.async": "A"}
"""A tag, another load, a barrier, a load that is done ahead."""

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
    found = re.findall(r"ld\.volatile\.global|ld\.global|bar\.sync|cp\.async", loop)
    events = "".join(LETTERS[event] for event in found)
    order = re.fullmatch(r"L*T+B([LB]*)BT+B*", events)

    assert len(stages["cubin"]) > 0
    assert order is not None, events
    # Keys and values of 64 tokens, over 128 threads, in loads of at most 16 bytes.
    assert order[1].count("L") >= 2 * 64 * fixed["dim"] * (4 if element == "*fp32" else 2) // 16 // 128
