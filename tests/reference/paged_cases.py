"""Cases of attention over page tables, what NumPy makes of them, and the kernel on them in Triton's interpreter.

Run as a program, with TRITON_INTERPRET=1, it prints what the kernel has read as JSON: name -> [out, flags].
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvproto.reference.paged.attention import Batch, Read, attend
from kvproto.reference.paged.libraries import torch
from kvproto.reference.paged.pool import PagedPool


@dataclass(frozen=True)
class Case:
    """Requests with their page tables, and entries (request, position) whose tag is not the expected one."""

    tables: tuple[tuple[int, ...], ...]
    lengths: tuple[int, ...]
    pages: int = 12
    page_size: int = 16
    heads: int = 2
    dim: int = 16
    queries: int = 1
    scale: float = 0.25
    slope: float = 0.0
    check: bool = False
    wrong: tuple[tuple[int, int], ...] = ()
    dtype: str = "float32"


CASES = {
    "one request": Case(((3, 1),), (32,)),
    "lengths that end inside a page": Case(((3, 1), (7,), (2, 5, 8, 0)), (17, 1, 64)),
    "an empty request": Case(((3,), ()), (16, 0)),
    "pages of one token": Case(((3, 1, 4, 11, 5), (9, 2)), (5, 2), page_size=1),
    "more tokens than a block": Case(((0, 1, 2, 3, 4, 5, 6, 7, 8),), (140,), heads=1),
    "more queries than a block": Case(((3, 1), (0, 0)), (32, 20), queries=70, heads=1, slope=0.5),
    "a dimension that is no power of two": Case(((3, 1),), (30,), dim=24, queries=3),
    "elements of two bytes": Case(((3, 1), (4, 5)), (32, 9), dtype="float16"),
    "tags that are right": Case(((3, 1), (4,)), (32, 16), check=True),
    "one wrong tag": Case(((3, 1), (4,), (5, 6)), (32, 16, 32), check=True, wrong=((0, 1),)),
    "a wrong tag behind the end": Case(((3, 1), (4, 6)), (32, 16), check=True, wrong=((1, 1),)),
    "wrong tags in every block": Case(((0, 1, 2, 3, 4, 5),), (96,), check=True, wrong=((0, 0), (0, 5))),
    "numbers that are no pages": Case(((3, 12), (-1,), (4,)), (32, 16, 16)),
}


def tag(page: int) -> int:
    """The tag that a page of these pools carries."""
    return 7 * page + 1


def build(case: Case, device: str = "cpu") -> tuple[PagedPool, Batch]:
    """A pool of random numbers and the batch of a case."""
    module = torch()
    draw = module.Generator().manual_seed(7)

    def numbers(*shape: int) -> Any:
        return module.randn(*shape, generator=draw).to(getattr(module, case.dtype)).to(device)

    shape = (case.pages, case.page_size, case.heads, case.dim)
    tags = module.tensor([tag(page) for page in range(case.pages)], dtype=module.int32, device=device)
    pool = PagedPool(numbers(*shape), numbers(*shape), tags)
    expected = [[tag(page) + ((r, k) in case.wrong) for k, page in enumerate(t)] for r, t in enumerate(case.tables)]
    batch = Batch.of(
        numbers(len(case.tables), case.queries, case.heads, case.dim),
        case.tables,
        case.lengths,
        expected=expected if case.check else None,
        places=[[q % 3 for q in range(case.queries)] for _ in case.tables],
        scale=case.scale,
        slope=case.slope,
    )
    return pool, batch


def oracle(case: Case) -> tuple[np.ndarray, list[int]]:
    """The same with NumPy: request by request, query by query, over the tokens one after the other."""
    pool, batch = build(case)
    keys, values, queries = (x.float().numpy() for x in (pool.keys, pool.values, batch.queries))
    out = np.zeros_like(queries)
    flags = []
    for r, (table, length) in enumerate(zip(case.tables, case.lengths, strict=True)):
        read = range(-(-length // case.page_size))
        bad = [k for k in read if not 0 <= table[k] < case.pages or (case.check and (r, k) in case.wrong)]
        flags.append(int(bool(bad)))
        if bad or not length:
            continue
        for q in range(case.queries):
            tokens = [(table[t // case.page_size], t % case.page_size, t // case.page_size) for t in range(length)]
            for h in range(case.heads):
                far = [case.slope * abs(k - q % 3) for _, _, k in tokens]
                dots = [float(queries[r, q, h] @ keys[page, at, h]) for page, at, _ in tokens]
                scores = np.array([dot * case.scale - loss for dot, loss in zip(dots, far, strict=True)])
                weights = np.exp(scores - scores.max())
                weights /= weights.sum()
                out[r, q, h] = sum(w * values[page, at, h] for w, (page, at, _) in zip(weights, tokens, strict=True))
    return out, flags


def interrupted(write: Callable[[PagedPool], None]) -> Read:
    """One request, whose page is written in the middle of the read: after its tag was looked at."""
    from triton.runtime import interpreter

    pool, batch = build(CASES["tags that are right"])
    barriers = []

    def barrier(_: object) -> None:
        barriers.append(True)
        # Two barriers a head, two heads a request: in the last head of the second one, between the tag and the bytes.
        if len(barriers) == 7:
            write(pool)

    original = interpreter.InterpreterBuilder.create_barrier
    interpreter.InterpreterBuilder.create_barrier = barrier
    try:
        return attend(pool, batch, path="triton")
    finally:
        interpreter.InterpreterBuilder.create_barrier = original


def takes_the_tag_away(pool: PagedPool) -> None:
    """A write begins: the tag of page 4 goes, then its bytes."""
    pool.tags[4] = 0
    pool.values[4] = 99.0


def main() -> None:
    """All cases in the interpreter."""
    found = {name: attend(*build(case), path="triton") for name, case in CASES.items()}
    found["interrupted"] = interrupted(takes_the_tag_away)
    print(json.dumps({name: [read.out.float().tolist(), read.flags.tolist()] for name, read in found.items()}))


if __name__ == "__main__":
    main()
