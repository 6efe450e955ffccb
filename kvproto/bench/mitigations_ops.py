"""The operations whose cost is measured, on paged pools of PyTorch tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvproto.reference.paged import Batch, PagedPool, attend, operations
from kvproto.reference.paged.libraries import torch

HEADS, DIM = 8, 128
"""Key and value heads of one layer, and their width: those of a usual model with grouped queries."""

DTYPE = "bfloat16"
SETS = 4
"""Page tables that operations take in turn, so that what one has touched is not what the next one finds in a cache."""

TAG, CANARY = 7, 1.5

COPY, READ = "move the pages", "one step of decoding"


@dataclass(frozen=True, slots=True)
class Case:
    """One request: pages of so many tokens, and tokens in its sequence."""

    page_size: int
    tokens: int

    @property
    def pages(self) -> int:
        """Pages that hold the tokens."""
        return -(-self.tokens // self.page_size)


@dataclass(frozen=True, slots=True)
class Operation:
    """What is measured: the method of `Bench` that does it.

    `beside` is the plain operation that it is added to, itself for a plain one.  With `includes_plain` the method does
    the plain one too.  `passes` says how often it goes over all bytes of the pages.
    """

    name: str
    method: str
    beside: str
    passes: int = 0
    includes_plain: bool = False

    @property
    def plain(self) -> bool:
        """Whether this is what is done without any mitigation."""
        return self.name == self.beside


OPERATIONS = (
    Operation(COPY, "copy", COPY, passes=1),
    Operation("zero on release", "zero", COPY, passes=1),
    Operation("zero on allocation", "zero_and_copy", COPY, passes=1, includes_plain=True),
    Operation("checksum on both sides", "checksum", COPY, passes=2),
    Operation("canary planted and looked at", "canary", COPY),
    Operation("tags written", "tag", COPY),
    Operation(READ, "read", READ, passes=1),
    Operation("tags checked by the read", "read_checked", READ, includes_plain=True),
)
"""All that is measured, in the order of the tables."""


class Bench:
    """Pools that hold one request, once at the source and in `SETS` places at the target."""

    def __init__(self, case: Case, device: str) -> None:
        module = torch()
        self.case = case
        shape = (case.page_size, HEADS, DIM)
        self._source = PagedPool.empty(case.pages, *shape, device=device, dtype=DTYPE)
        self._target = PagedPool.empty(SETS * case.pages, *shape, device=device, dtype=DTYPE)
        # Reads have a pool of their own, whose tags nobody clears.
        self._kept = PagedPool.empty(SETS * case.pages, *shape, device=device, dtype=DTYPE)
        chance = module.Generator(device=self._source.device).manual_seed(1)
        # Filled as a whole: memory that was never touched is slow at its first use.
        for pool in (self._source, self._target, self._kept):
            pool.keys.normal_(generator=chance)
            pool.values.normal_(generator=chance)
        # A pool in use is not in order: pages of a request lie anywhere.
        order = module.randperm(SETS * case.pages, generator=chance, device=self._source.device)
        self._tables = list(order.reshape(SETS, case.pages))
        self._all = module.arange(case.pages, device=self._source.device)
        operations.write_tags(self._kept, order, TAG)
        queries = module.empty(1, 1, HEADS, DIM, dtype=getattr(module, DTYPE), device=self._source.device)
        queries.normal_(generator=chance)
        self._batches = [self._batch(queries, table) for table in self._tables]
        self._turn = 0

    def _batch(self, queries: Any, table: Any) -> tuple[Batch, Batch]:
        """One step of decoding, without and with a check of tags."""
        module = torch()
        rows = table.to(module.int32)[None]
        lengths = module.tensor([self.case.tokens], dtype=module.int32, device=table.device)
        scale = DIM**-0.5
        wanted = module.full_like(rows, TAG)
        return Batch(queries, rows, lengths, scale=scale), Batch(queries, rows, lengths, wanted, scale=scale)

    @property
    def page_bytes(self) -> int:
        """Bytes of keys and values of one page."""
        return self._source.page_bytes

    @property
    def on_card(self) -> bool:
        """Whether the device works by itself."""
        return bool(self._source.device.type == "cuda")

    def wait(self) -> None:
        """Let the device finish."""
        if self.on_card:
            torch().cuda.synchronize(self._source.device)

    def _next(self) -> int:
        self._turn = (self._turn + 1) % SETS
        return self._turn

    def copy(self) -> None:
        """Move the request's pages to the target."""
        self._copy(self._tables[self._next()])

    def _copy(self, table: Any) -> None:
        self._target.keys.index_copy_(0, table, self._source.keys)
        self._target.values.index_copy_(0, table, self._source.values)

    def zero(self) -> None:
        """Clear the pages of a request that is over."""
        operations.zero(self._target, self._tables[self._next()])

    def zero_and_copy(self) -> None:
        """Clear pages as they are given to a request, which then fills them."""
        table = self._tables[self._next()]
        operations.zero(self._target, table)
        self._copy(table)

    def checksum(self) -> None:
        """Sum up the pages at the source, and again at the target."""
        operations.checksum(self._source, self._all)
        operations.checksum(self._target, self._tables[self._next()])

    def canary(self) -> None:
        """Mark pages before they are written, and look for marks before they are read."""
        table = self._tables[self._next()]
        operations.plant_canary(self._target, table, CANARY)
        operations.canaries_left(self._target, table, CANARY).any()

    def tag(self) -> None:
        """Give the pages of a request their new tags."""
        operations.write_tags(self._target, self._tables[self._next()], TAG)

    def read(self) -> None:
        """One query over all tokens of the request."""
        attend(self._kept, self._batches[self._next()][0])

    def read_checked(self) -> None:
        """The same, with the tag of every page checked as the page is read."""
        attend(self._kept, self._batches[self._next()][1])

    def wrong(self) -> tuple[str, ...]:
        """Operations that do not do what they are for; a fast one of these would be no finding."""
        module = torch()
        table, (plain, checked) = self._tables[0], self._batches[0]
        self._copy(table)
        sums = int(operations.checksum(self._source, self._all)), int(operations.checksum(self._target, table))
        operations.plant_canary(self._target, table, CANARY)
        marks = operations.canaries_left(self._target, table, CANARY)
        other = int(operations.checksum(self._target, table))
        operations.zero(self._target, table)
        cleared = self._target.keys[table], self._target.values[table]
        operations.write_tags(self._target, table, TAG)
        good = attend(self._kept, checked)
        operations.write_tags(self._kept, table[-1:], TAG + 1)
        bad = attend(self._kept, checked)
        operations.write_tags(self._kept, table[-1:], TAG)
        right = {
            "checksum on both sides": sums[0] == sums[1] != other,
            "canary planted and looked at": bool(marks.all()),
            "zero on release": not any(bool(part.any()) for part in cleared),
            "tags written": bool((self._target.tags[table] == TAG).all()),
            "tags checked by the read": not int(good.flags[0])
            and bool(int(bad.flags[0]))
            and bool(module.equal(good.out, attend(self._kept, plain).out)),
        }
        return tuple(name for name, fine in right.items() if not fine)
