"""Attention over page tables: PyTorch operations and the Triton kernel against NumPy, and tags checked on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from paged_cases import CASES, Case, build, oracle, tag

from kvproto.diagnostics import KvError
from kvproto.reference.paged import libraries
from kvproto.reference.paged.attention import Batch, attend, flagged
from kvproto.reference.paged.pool import PagedPool

PROGRAM = Path(__file__).parent / "paged_cases.py"

TOLERANCE = {"float32": 1e-5, "float16": 2e-3}


def assert_close(out: Any, case: Case) -> None:
    """What was read is what NumPy reads, up to rounding."""
    assert float(np.abs(np.asarray(out) - oracle(case)[0]).max(initial=0.0)) < TOLERANCE[case.dtype]


@pytest.fixture(params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    """The name of a case."""
    return str(request.param)


def test_plain_operations_read_what_numpy_reads(name: str) -> None:
    read = attend(*build(CASES[name]), path="plain")

    assert_close(read.out.float().numpy(), CASES[name])
    assert oracle(CASES[name])[1] == read.flags.tolist()


@pytest.fixture(scope="module")
def interpreted() -> dict[str, Any]:
    """What the kernel reads in Triton's interpreter: a process of its own, as Triton decides on import."""
    pytest.importorskip("triton")
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore::RuntimeWarning", str(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_kernel_reads_what_numpy_reads(name: str, interpreted: dict[str, Any]) -> None:
    out, flags = interpreted[name]

    assert_close(out, CASES[name])
    assert oracle(CASES[name])[1] == flags


def test_the_kernel_notices_a_write_in_the_middle_of_its_read(interpreted: dict[str, Any]) -> None:
    """The tag was right when it was looked at first, and is gone when the bytes have been read."""
    out, flags = interpreted["interrupted"]

    assert [0, 1] == flags
    assert 0.0 == float(np.abs(out[1]).max())
    assert np.allclose(out[0], oracle(CASES["tags that are right"])[0][0], atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("path", ["plain", "triton"])
def test_a_card_reads_what_numpy_reads(name: str, path: str) -> None:
    pytest.importorskip("triton")
    read = attend(*build(CASES[name], "cuda"), path=path)

    assert_close(read.out.float().cpu().numpy(), CASES[name])
    assert oracle(CASES[name])[1] == read.flags.tolist()


# What the tag check is worth.


class Interrupted:
    """Tags of a pool; once they have been looked at, something happens to the pool."""

    def __init__(self, tags: torch.Tensor, happens: Any) -> None:
        self.tags, self.happens = tags, happens

    def __getitem__(self, pages: torch.Tensor) -> torch.Tensor:
        found = self.tags[pages].clone()
        self.happens()
        return found


def test_plain_operations_notice_a_write_in_the_middle_of_a_read() -> None:
    pool, batch = build(CASES["tags that are right"])

    def write() -> None:
        pool.tags[4] = 0
        pool.values[4] = 99.0

    read = attend(PagedPool(pool.keys, pool.values, Interrupted(pool.tags, write)), batch, path="plain")

    assert [False, True] == flagged(read)
    assert 0.0 == float(read.out[1].abs().max())


def test_without_the_check_the_foreign_bytes_are_read() -> None:
    """What the check is for: nothing else in attention asks whose page it is."""
    case = CASES["one wrong tag"]
    pool, batch = build(case)
    unchecked = Batch(batch.queries, batch.table, batch.lengths, scale=case.scale)

    assert [True, False, False] == flagged(attend(pool, batch))
    assert [False] * 3 == flagged(attend(pool, unchecked))
    assert float(attend(pool, unchecked).out[0].abs().max()) > 0.1


def test_pages_that_must_not_be_read_do_not_spoil_others() -> None:
    """Old bytes may be anything, also no number; zero times that is not zero."""
    case = CASES["one wrong tag"]
    pool, batch = build(case)
    pool.keys[1], pool.values[1] = float("nan"), float("inf")
    read = attend(pool, batch, path="plain")

    assert_close(read.out.numpy(), case)


# What is refused.


def test_shapes_that_do_not_fit_are_refused() -> None:
    pool, batch = build(CASES["one request"])
    thin = batch.queries[..., :4]

    with pytest.raises(ValueError, match=r"dim are of shape 4, not 16"):
        attend(pool, Batch(thin, batch.table, batch.lengths))
    with pytest.raises(ValueError, match="queries are of shape"):
        attend(pool, Batch(batch.queries[:, :, :1], batch.table, batch.lengths))
    with pytest.raises(ValueError, match="lengths are of shape"):
        attend(pool, Batch(batch.queries, batch.table, batch.lengths[:0]))
    with pytest.raises(ValueError, match="expected are of shape"):
        attend(pool, Batch(batch.queries, batch.table, batch.lengths, expected=batch.table[:, :1]))
    with pytest.raises(ValueError, match="needs the places"):
        attend(pool, Batch(batch.queries, batch.table, batch.lengths, slope=1.0))
    with pytest.raises(ValueError, match="'fast' is none of"):
        attend(pool, batch, path="fast")


def test_the_kernel_is_not_run_on_a_cpu_without_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvproto.reference.paged.attention.interpreted", lambda: False)
    pool, batch = build(CASES["one request"])

    with pytest.raises(KvError, match="TRITON_INTERPRET=1") as caught:
        attend(pool, batch, path="triton")
    assert "KV051" == caught.value.diagnostic.code


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("kvproto.reference.paged.libraries.importlib.import_module", missing)
    libraries.kernels.cache_clear()

    with pytest.raises(KvError, match=r"kvproto\[replay\]") as caught:
        libraries.torch()
    assert "KV050" == caught.value.diagnostic.code
    with pytest.raises(KvError, match="pip install triton") as caught:
        libraries.kernels()
    assert "KV051" == caught.value.diagnostic.code
    assert not libraries.has_triton()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_card_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KvError, match="no CUDA device"):
        PagedPool.empty(1, 16, 2, 16, device="cuda")
    with pytest.raises(ValueError, match="'tpu' is none of"):
        libraries.device_named("tpu")


def test_a_pool_knows_its_sizes() -> None:
    pool = PagedPool.empty(5, 16, 2, 8, dtype="float16")

    assert (5, 16, 2 * 16 * 2 * 8 * 2) == (pool.pages, pool.page_size, pool.page_bytes)
    assert "cpu" == libraries.device_label(pool.device)
    assert 8 == tag(1)
