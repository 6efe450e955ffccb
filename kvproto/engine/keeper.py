"""Keeps the journal of a search: when to write, what to go on from, what is left in the end."""

from __future__ import annotations

from pathlib import Path

from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.checkpoint import Journal, identity, resume
from kvproto.engine.lower import Lowered
from kvproto.engine.outcome import Options
from kvproto.engine.tiers import Chosen
from kvproto.ir.nodes import Claim, System

WORTH_KEEPING_S = 5.0


class Keeper:
    """The journal of one search.

    It is written every `Options.checkpoint_interval` seconds and when a limit or Ctrl-C ends the search, and
    removed when the search has nothing left to do.
    """

    def __init__(
        self,
        system: System,
        lowered: Lowered,
        claims: tuple[Claim, ...],
        tier: Chosen,
        options: Options,
        path: Path,
    ) -> None:
        assert isinstance(tier.explorer, CExplorer), "other tiers are refused where a journal is asked for"
        self.left: Path | None = None
        """The journal that is there when the search has ended."""
        self._options = options
        self._explorer = tier.explorer
        self._path = path
        self._next = options.checkpoint_interval
        names = [claim.name for claim in claims]
        self._who = identity(lowered, names, options.fingerprints, tier.symmetric)
        self._journal = Journal(path, self._who, "@".join(part for part in (system.model, system.preset) if part))

    def resume(self) -> None:
        """Bring the explorer, which has its initial states, to where the journal to go on from ends."""
        if self._options.resume is None:
            return
        resumed = resume(self._options.resume, self._who, self._explorer, self._explorer.states())
        if self._path == self._options.resume:
            self._journal.go_on(resumed)

    def look(self, seconds: float) -> None:
        """Write if it is time."""
        if seconds >= self._next:
            self._write()
            self._next = seconds + self._options.checkpoint_interval

    def end(self, seconds: float, *, finished: bool) -> None:
        """The search is over; `finished` if there is nothing to go on with.

        What nobody asked for is written only where repeating the search would be tedious.
        """
        asked = self._path != self._options.fallback_checkpoint
        if not finished:
            if asked or seconds >= WORTH_KEEPING_S:
                self._write()
        elif self._journal.started:
            self._path.unlink(missing_ok=True)
            self.left = None

    def _write(self) -> None:
        self._journal.add(self._explorer)
        self.left = self._path
