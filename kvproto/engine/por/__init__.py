"""Partial-order reduction: of actions that do not get into each other's way, one order is enough.

In each state a set of actions is chosen that stands for all enabled ones; the others are not taken there.  What is
asked of a search keeps its answer: whether an invariant is violated, an assertion fails, the model goes wrong, a
`sometimes` or another probe is true somewhere, a deadlock is reached, and which actions ever happen.  The first run
that is found need not be a shortest one.

**What is chosen.**  For a state s a set T of *nodes* (actions, and facts that are looked for, such as "this claim is
violated in this way"), called stubborn, that is closed under two rules:

1. with an enabled action t it contains every action that, both being enabled, may change what t does, disable it, lead
   to another state in the other order, or be disabled or changed by it; and every fact that t may make untrue;
2. with a node that is not enabled (a fact that is not true) it contains a *necessary enabling set*: a set of
actions one of which has to happen first.  A condition of the node that is false is picked, and everything that can
make it true goes in; or everything that may change anything that enabledness depends on.

The enabled actions of T are taken, at least one.  An action that fails is enabled, and "what it does" is to fail.

**Why that is enough.**  Let a run b1 ... bn from s show what is looked for: bn fails, or a fact holds at the end, or it
is dead there.  Suppose first that some of these are in T, and let b be the first of them.  It was enabled in s: else by
rule 2 something before it would be in T (and inductively before that).  Those before it are not in T, so by rule 1 b
commutes with each in turn, all being enabled where they meet: b may as well come first, and is taken in s.  From its
successor the rest of the run, which is shorter, shows the same thing.  If the fact itself is in T and not true yet,
then by rule 2 some b is in T, too.  Suppose now that none of them is in T, nor the fact.  Then any enabled t of T
commutes with all of them and leaves the fact true, so after t the same run still shows it; only it has not become
shorter. (For a deadlock that cannot be: t would still be enabled there.)  It remains to see that this does not go
on forever.

**Nothing is put off forever.**  The search is breadth first and numbers states in order of discovery.  If none of the
chosen actions leads to a state with a higher number than s, one that is still to be expanded, s is expanded in
full.  So from every state that was expanded in part a chosen action leads to one that is expanded later; as there
are finitely many, every chain of such steps ends in a state that is expanded in full, where b1, still enabled, is
taken.  (This is the proviso for queues of Bosnacki and Holzmann; T and not the whole graph is what must not starve,
see Valmari on stubborn sets and Laarman, Pater, van de Pol and Weber on deriving them from guards.)  It is judged
when the successors are put into the store, in order.

**Nodes under conditions.**  Rules 1 and 2 ask for too much where actions meet only in some states: a write to page
p and the release of the pages of another request, say.  So "t may clash with b" is kept as regions of states (see
`cells`): the node "b where they clash" takes the place of b in rule 1.  If s is in the region, b goes in.  If not,
then a condition of the region is false in s, and its necessary enabling set is enough: before they can clash
somebody in T has to act.  In the same way rule 2 asks for "b where it makes the condition true".

**Facts.**  A claim is violated in one of several ways, each (nearly always) a region.  Actions that cannot leave
the region do not see the fact, so flags that are only ever set do not hinder at all.  A claim that has been found
violated is of no interest any more; that is looked at when a level begins, so that it does not depend on the tier.

**The constraint.**  Where it is false nothing is enabled.  So an action that may make it false disables all others, and
with an action under these conditions T has all actions; states outside of the constraint are judged, but not expanded.

**Symmetry.**  Both reductions may be used together.  The argument above is about one state and holds for every
choice of T, so T may be chosen in the representative: where it says "from the successor", take the successor's
representative, and rename the rest of the run.  That changes which action fails or how a claim is violated, but not
whether: symmetric claims are violated by the renamed state, too, and all their ways are looked for.

**Runs without end.**  What `eventually` and its like say is not kept, so with such a claim nothing is reduced.

How dependence is found out: `footprint` walks through the code of each action and says which cells it reads and
changes, under which conditions; `relations` compares actions cell by cell; `commute` runs those that seem to clash
in both orders. `stubborn` chooses, and c/por.h does the same in C.
"""

from __future__ import annotations

from kvproto.engine.lower import Lowered
from kvproto.engine.por.relations import Relations, TooLargeError, relate
from kvproto.engine.por.stubborn import Chooser
from kvproto.ir.types import cardinality

__all__ = ["Chooser", "Relations", "TooLargeError", "reduction"]


def reduction(lowered: Lowered) -> Relations:
    """What a search of a lowered model needs for the reduction.  Raises `TooLargeError` where it would not pay."""
    return relate(lowered.program, [cardinality(kind) for kind in lowered.layout.types])
