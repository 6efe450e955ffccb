"""Keeps the journal of a search: when to write, what to go on from, what is left in the end."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from kvproto.diagnostics import KvError
from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.checkpoint import Journal, check_place, identity, resume
from kvproto.engine.lower import Lowered
from kvproto.engine.outcome import Options
from kvproto.engine.tiers import Chosen
from kvproto.ir.nodes import Claim, System


class Keeper:
    """The journal of one search.

    It is written every `Options.checkpoint_interval` seconds and when a limit, Ctrl-C or SIGTERM ends the search, and
    removed when the search has nothing left to do.  A journal that cannot be written any more (the disk is full) ends
    no search: that is told with the result.  One that nobody asked for takes the place of no other file.
    """

    def __init__(
        self,
        system: System,
        lowered: Lowered,
        claims: tuple[Claim, ...],
        tier: Chosen,
        options: Options,
        path: Path,
        *,
        asked: bool = True,
    ) -> None:
        assert isinstance(tier.explorer, CExplorer), "other tiers are refused where a journal is asked for"
        self.left: Path | None = None
        """The journal that is there when the search has ended."""
        self.problem = ""
        """Why that is not up to date."""
        self._options = options
        self._explorer = tier.explorer
        self._path = path
        self._next = options.checkpoint_interval
        self._lowered = lowered
        self._extra = ([claim.name for claim in claims], options.fingerprints, tier.symmetric, tier.por)
        self.roots = 0
        """Number of initial states; the driver says it once they are there."""
        target = "@".join(part for part in (system.model, system.preset) if part)
        self._journal = Journal(path, target, replaces=asked)
        if options.checkpoint is not None:
            check_place(path)

    def resume(self) -> None:
        """Bring the explorer, which has its initial states, to where the journal to go on from ends."""
        if self._options.resume is None:
            return
        resumed = resume(self._options.resume, self._who, self._explorer, self.roots)
        if self._path == self._options.resume:
            self._journal.go_on(resumed)
            self.left = self._path

    def look(self, seconds: float) -> None:
        """Write if it is time."""
        if seconds >= self._next:
            self._write()
            self._next = seconds + self._options.checkpoint_interval

    def end(self, *, finished: bool) -> None:
        """The search is over; `finished` if there is nothing to go on with."""
        if finished:
            self._journal.remove()
            self.left, self.problem = None, ""
        elif self._explorer.expanded():
            self._write()
        self._journal.close()

    @cached_property
    def _who(self) -> str:
        """What other searches must have in common with this one to go on from its journal."""
        starts = [self._explorer.packed(number) for number in range(self.roots)]
        return identity(self._lowered, starts, *self._extra)

    def _write(self) -> None:
        try:
            self._journal.add(self._explorer, self._who)
        except KvError as problem:
            self.problem = problem.diagnostic.message
        else:
            self.left, self.problem = self._journal.path, ""
