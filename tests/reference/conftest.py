"""The same tests for everything that can hold tensors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kvproto.reference.array import namespace


@pytest.fixture(
    scope="module",
    params=[("numpy", "cpu"), ("torch", "cpu"), pytest.param(("torch", "cuda"), marks=pytest.mark.gpu)],
    ids="-".join,
)
def on_each_backend(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs a module's tests with NumPy and with PyTorch, on a CPU and on a card: `ARRAYS` is each of them in turn."""
    backend, device = request.param
    if backend == "torch":
        torch = pytest.importorskip("torch")
        if device == "cuda" and not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request.module, "ARRAYS", namespace(backend, device=device))
        yield
