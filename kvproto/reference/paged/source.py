"""The side that computes: prompts in chunks, into pages that prompts with the same beginning share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvproto.reference import attention, prompts
from kvproto.reference.array import Arrays
from kvproto.reference.paged.measures import tag_of
from kvproto.reference.paged.prefix import SharedPages
from kvproto.reference.pages import Image, Memory
from kvproto.reference.prompts import PAGE_SIZE, label
from kvproto.reference.refusal import Refused, expect
from kvproto.transports import Move, Transport

SOURCE = "source"
"""What a transport calls the memory of this side."""


@dataclass(slots=True)
class Job:
    """A request that is computed.

    `computed` counts positions from the front, shared pages included; `sent` are positions that were posted, with their
    writes.  `reads` are what attention gave in each chunk, over all pages so far.
    """

    text: str
    shared: int
    computed: int
    sent: dict[int, int] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    @property
    def pages(self) -> int:
        """Pages of the prompt."""
        return prompts.page_count(len(self.text))


class Source:
    """Computes `chunk` pages at a time.

    A prompt of more than `longest` pages drains as a placeholder of one token, as in the engine of the incident.
    """

    def __init__(self, pages: int, arrays: Arrays, *, chunk: int = 2, longest: int = prompts.MOST_PAGES) -> None:
        self.memory = Memory(pages, arrays)
        self.pages = SharedPages("source", pages)
        self.jobs: dict[int, Job] = {}
        self._chunk = chunk
        self._longest = longest

    def admit(self, room: int, text: str) -> int:
        """Take a request; says how many of its pages are there already, written by others."""
        if prompts.page_count(len(text)) > self._longest:
            text = prompts.STUBS[room - 1]
        shared = self.pages.begin(room, text)
        self.jobs[room] = Job(text, shared, shared)
        return shared

    def compute(self, room: int) -> range:
        """The next chunk: fill its pages, read everything so far, let others find what is full.

        Says which positions were computed.
        """
        job = self._job(room)
        chunk = range(job.computed, min(job.computed + self._chunk, job.pages))
        expect(len(chunk) > 0, f"source: request {label(room)} is computed")
        self.pages.extend(room, len(chunk))
        for position in chunk:
            self._fill(room, job.text, position)
        job.computed = chunk.stop
        job.reads.append(self.read(room))
        for position in chunk:
            self.pages.publish(room, position)
        return chunk

    def _fill(self, room: int, text: str, position: int) -> None:
        characters = prompts.split(text)[position].ljust(PAGE_SIZE, prompts.PAD)
        keys, values = attention.encode(self.memory.arrays, characters, position)
        self.memory.write(self.pages.to_write(room, position), Image(keys, values, tag_of(text, position)))

    def read(self, room: int) -> str:
        """What attention over the room's pages gives."""
        return attention.attend(self.memory, self.pages.tables[room])

    def post(self, room: int, transport: Transport, targets: Sequence[int], target: str) -> tuple[int, ...]:
        """Post a write for every page that is computed and not posted yet, in one call."""
        job = self._job(room)
        table = self.pages.tables[room]
        positions = [k for k in range(job.computed) if k not in job.sent and k < len(targets)]
        moves = [Move(f"{label(room)}/{k}", SOURCE, table[k], target, targets[k]) for k in positions]
        writes = transport.post(moves)
        job.sent |= zip(positions, writes, strict=True)
        return writes

    def digest(self, room: int) -> bytes:
        """The sum over the pages that were computed."""
        return self.memory.digest(self.pages.tables[room])

    def release(self, room: int) -> tuple[int, ...]:
        """Let a request's pages go, whatever is on its way from them; says which of them are free."""
        self._job(room)
        del self.jobs[room]
        return self.pages.release(room)

    def _job(self, room: int) -> Job:
        if room not in self.jobs:
            raise Refused(f"source: request {label(room)} is not known")
        return self.jobs[room]
