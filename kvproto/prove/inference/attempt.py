"""One attempt: candidates, dropped until they are inductive, sliced, and what is left proved for every size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvproto.prove.inference.discharge import Discharge, Proved
from kvproto.prove.inference.groundwork import Groundwork, Part
from kvproto.prove.inference.guide import Guide, Support
from kvproto.prove.inference.houdini import Houdini
from kvproto.prove.inference.pool import Pool
from kvproto.prove.inference.slicing import Slicer
from kvproto.prove.logic.theory import Clause
from kvproto.prove.mining.minimal import Literals, without_subsumed
from kvproto.prove.proof import Induction


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why the attempt failed, and the clauses that were given up on the way."""

    reason: str
    where: Induction | None
    hypotheses: tuple[Clause, ...]
    dropped: tuple[Clause, ...]


class Attempt(ABC):
    """What all attempts have in common; where candidates come from is said by those below."""

    def __init__(self, work: Groundwork, text: str, support: Support | None = None):
        self.work, self.text, self.support = work, text, support
        self.pool = Pool(work.template, work.implied, self.longest(), work.limits.candidates)
        self.rejected: dict[str, Induction] = {}
        self.wanted = {claim.name for claim in work.theory.claims}

    @abstractmethod
    def candidates(self) -> Sequence[Literals]:
        """Clauses to begin with."""

    def run(self) -> Proved | Stuck:
        """The proof, or where it is stuck."""
        theory, finite = self.work.theory, self.work.finite
        self.pool.give((*theory.claims, *theory.typing, *self.work.user))
        self.pool.add(self.candidates())
        houdini = Houdini(finite, self.pool, self.wanted, self.support)
        while True:
            lost = houdini.run()
            self.rejected |= {name: found for name, found in houdini.rejected.items() if name not in self.wanted}
            if lost is not None:
                return self._stuck(f"no candidate keeps {lost.broken.name}", lost, houdini.hypotheses)
            found = Slicer(theory, finite, self.pool.alive).slice()
            if isinstance(found, Induction):
                if self.support is None or not houdini.begin(self.support.exclude(found.before, self.pool)):
                    return self._stuck(f"what is left does not imply {found.broken.name}", found)
                continue
            result = Discharge(theory, self.work.solver, self.pool.alive).run(found)
            if isinstance(result, Proved):
                return result
            if result.where is None or not self.pool.has(result.where.broken.name):
                return self._stuck(result.reason, result.where)
            houdini.refute(result.where)

    def settled(self) -> list[Literals]:
        """What is inductive among the candidates, claims or not."""
        Houdini(self.work.finite, self.pool, ()).run()
        return [literals for literals, _ in self.pool.mined.values()]

    def longest(self) -> int:
        """How long a clause may become by weakening; as long as it is, unless candidates are weakened."""
        return 0

    def _stuck(self, reason: str, where: Induction | None, hypotheses: Iterable[Clause] | None = None) -> Stuck:
        known = self.pool.alive if hypotheses is None else hypotheses
        return Stuck(reason, where, tuple(known), tuple(self.pool.dropped))


class Mined(Attempt):
    """All shortest clauses of at most `short` literals, and of one more over a part of the template."""

    def __init__(self, work: Groundwork, short: int, part: Part | None = None):
        self.short, self.part = short, part
        text = f"clauses of {short} literals over {work.variables(work.template.usable)}"
        if part is not None:
            text += f", of {short + 1} over {work.variables(part)}"
        super().__init__(work, text)

    def candidates(self) -> list[Literals]:
        """Short clauses, then the longer ones, no more than are wanted."""
        found = self.work.mined(self.short, None)
        if self.part is not None:
            found = list(dict.fromkeys((*found, *self.work.mined(self.short + 1, self.part))))
            found = without_subsumed(self.work.template, found)
        return found[: self.work.limits.candidates]

    def longest(self) -> int:
        """Short clauses are weakened; that all longer ones are candidates would be too many."""
        return self.short


class Guided(Attempt):
    """What is known to be inductive, and clauses that exclude the states in which claims break."""

    def __init__(self, work: Groundwork, base: Sequence[Literals], longest: int, depth: int):
        self.base = base
        text = f"clauses of {longest} literals over {work.variables(work.template.usable)} on demand, to depth {depth}"
        claims = [claim.name for claim in work.theory.claims]
        guide = Guide(work, longest, work.limits.proposals)
        super().__init__(work, text, Support(guide, claims, depth, work.limits.guided))

    def candidates(self) -> Sequence[Literals]:
        """Only what is known; everything else is asked for."""
        return self.base
