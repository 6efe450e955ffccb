"""`kvproto replay --backend` and `--device`: what holds the tensors."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli_runs import Run

from kvproto.trace import codec

TRACE = Path(__file__).parents[2] / "traces" / "outline-incident-reads_no_foreign_data.trace.json"


def held_by(kv: Run, *options: str) -> tuple[str, str]:
    """Backend and device as the outcome names them."""
    done = kv("replay", str(TRACE), "--json", "-", *options)
    outcome = json.loads(done.out)

    assert (0, True) == (done.code, outcome["agrees"])
    return outcome["backend"], outcome["device"]


def test_the_default_is_numpy(kv: Run) -> None:
    assert ("numpy", "cpu") == held_by(kv) == held_by(kv, "--backend", "numpy")
    assert "tensors:" not in kv("replay", str(TRACE)).out


@pytest.mark.parametrize("options", [("--backend", "torch"), ("--device", "cpu"), ("--backend=torch", "--device=cpu")])
def test_a_device_means_torch(kv: Run, options: tuple[str, ...]) -> None:
    pytest.importorskip("torch")

    assert ("torch", "cpu") == held_by(kv, *options)
    assert "tensors: torch, on cpu" in kv("replay", str(TRACE), *options).out.splitlines()


def test_without_a_card_the_cpu_does_and_one_is_told(kv: Run) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    done = kv("replay", str(TRACE), "--device", "cuda")

    assert "no CUDA device here: tensors lie on the CPU\n" == done.err
    assert "tensors: torch, on cpu" in done.out
    assert 0 == done.code


@pytest.mark.gpu
def test_a_card_holds_the_tensors(kv: Run) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")

    assert ("torch", f"cuda ({torch.cuda.get_device_name()})") == held_by(kv, "--device", "cuda")


def test_numpy_has_no_device(kv: Run) -> None:
    done = kv("replay", str(TRACE), "--backend", "numpy", "--device", "cpu")

    assert 2 == done.code
    assert done.err.startswith("error KV026  --device says nothing with --backend numpy")


def test_without_torch_the_extra_is_named(kv: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for options in (("--backend", "torch"), ("--device", "cpu"), ("--device", "cuda")):
        done = kv("replay", str(TRACE), *options)

        assert 2 == done.code
        assert done.err.startswith("error KV050")
        assert "kvproto[replay]" in done.err


def test_what_is_stored_in_the_trace_says_where_it_was_found(kv: Run) -> None:
    pytest.importorskip("torch")
    copyfile(TRACE, "run.trace.json")
    kv("replay", "run.trace.json", "--backend", "torch", "--save")
    stored = codec.read("run.trace.json").replay

    assert stored is not None
    assert ("torch", "cpu", True) == (stored["backend"], stored["device"], stored["agrees"])
