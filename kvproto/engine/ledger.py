"""The bookkeeping of breadth-first exploration, for the tiers that are written in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from kvproto.engine.explorer import Edges, FaultHit

if TYPE_CHECKING:
    from kvproto.engine.por import Chooser

S = TypeVar("S", bound=Hashable)


class Ledger(ABC, Generic[S]):
    """States by number, how each was found, and what went wrong where: an `Explorer` less the meaning of states.

    A tier says how a packed state is held (`_held`, `packed`), judges a new state (`_judge`), expands one
    (`_expand`), answers probes and predicates (`_asks`, `_tests`) and knows whether there is room (`_room`).
    """

    def __init__(
        self,
        claims: int,
        instances: int,
        probes: int = 0,
        canonical: Callable[[S], S] | None = None,
        chooser: Chooser | None = None,
    ) -> None:
        self._numbers: dict[S, int] = {}
        self._order: list[S] = []
        self._parents = array("i")
        self._actions = array("i")
        self._expanded = self._transitions = self._level_begin = self._level_end = self._violating = 0
        self._level = 1
        self._violation: list[int | None] = [None] * claims
        self._deadlock: int | None = None
        self._faults: dict[int, FaultHit] = {}
        self._fired = [0] * instances
        self._witness: list[int | None] = [None] * probes
        self._open = list(range(probes))
        self._depth = 1
        self._listener: Edges | None = None
        self._canonical = canonical
        self._outside = 0
        self._chooser = chooser
        self._events: list[tuple[int, S | None, int]] | None = None
        """What the state under expansion leads to, while it is collected: action, successor or None, fault."""

    @abstractmethod
    def _held(self, packed: int) -> S:
        """The packed state as this tier holds it."""

    @abstractmethod
    def packed(self, state: int) -> int:
        """The packed state with that number."""

    @abstractmethod
    def _judge(self, number: int, state: S) -> bool:
        """Evaluate every claim on a new state; whether it violates one."""

    @abstractmethod
    def _asks(self, probe: int, state: S) -> bool:
        """Whether the probe is true, or goes wrong, in a state."""

    @abstractmethod
    def _tests(self, predicate: int, state: S) -> int:
        """The value of a predicate: 0, 1, or 2 where it goes wrong."""

    @abstractmethod
    def _inside(self, number: int, state: S) -> bool:
        """Whether the state satisfies the constraint; a fault in it is reported with `_hit`, and means no."""

    @abstractmethod
    def _expand(self, number: int, state: S) -> None:
        """Report every successor of a state with `_found`, every fault with `_hit`, a deadlock with `_dead`."""

    @abstractmethod
    def _room(self, number: int) -> bool:
        """Whether memory allows to go on with that state."""

    @abstractmethod
    def memory(self) -> int:
        """Bytes held, as far as can be told."""

    def start(self, initial: Iterable[int]) -> None:
        """Take the initial states; `MemoryError` when not even these fit."""
        for packed in initial:
            if not self._room(0):
                raise MemoryError("the memory limit leaves no room for the initial states")
            state = self._held(packed)
            if self._canonical is not None:
                state = self._canonical(state)
            if state not in self._numbers:
                self._add(state, -1, 0)
        self._level_end = len(self._order)

    def advance(self, expansions: int) -> bool:
        """Expand up to that many states of the current level; False when memory was refused."""
        enough = True
        for number in range(self._expanded, min(self._level_end, self._expanded + max(0, expansions))):
            if not self._room(number):
                enough = False
                break
            state = self._order[number]
            if self._inside(number, state):
                self._depth = self._level
                if self._chooser is None:
                    self._expand(number, state)
                else:
                    self._expand_enough(number, state, self._chooser)
            else:
                self._outside += 1
            self._expanded = number + 1
        if self._expanded == self._level_end < len(self._order):
            self._level += 1
            self._level_begin, self._level_end = self._expanded, len(self._order)
        return enough

    def _expand_enough(self, number: int, state: S, chooser: Chooser) -> None:
        """Take only the actions that stand for all, unless that would put the others off forever."""
        events: list[tuple[int, S | None, int]] = []
        self._events = events
        self._expand(number, state)
        self._events = None
        if len(events) > 1:
            if chooser.level != self._level:
                found = (*self._violation, *self._witness)
                chooser.begin_level(self._level, [s is not None and s < self._level_end for s in found])
            chosen = set(chooser.choose(self.packed(number), [action for action, _, _ in events]))
            taken = [event for event in events if event[0] in chosen]
            if self._leads_on(number, [s for _, s, _ in taken if s is not None]):
                events = taken
        for action, successor, fault in events:
            if successor is None:
                self._hit(fault, number, action)
            else:
                self._settle(successor, number, action)

    def _leads_on(self, number: int, successors: Iterable[S]) -> bool:
        """Whether one of these is still to be expanded after the state with that number."""
        return any(self._numbers.get(successor, number + 1) > number for successor in successors)

    # --- what a tier reports --------------------------------------------------------------------------

    def _found(self, state: S, parent: int, action: int) -> None:
        """A successor."""
        if self._canonical is not None:
            state = self._canonical(state)
        if self._listener is not None:
            if (number := self._numbers.get(state)) is not None:
                self._listener.actions.append(action)
                self._listener.targets.append(number)
            return
        if self._events is not None:
            self._events.append((action, state, -1))
        else:
            self._settle(state, parent, action)

    def _settle(self, state: S, parent: int, action: int) -> None:
        self._transitions += 1
        self._fired[action] += 1
        if state not in self._numbers:
            self._add(state, parent, action)

    def _add(self, state: S, parent: int, action: int) -> None:
        number = self._numbers[state] = len(self._order)
        self._order.append(state)
        self._parents.append(parent)
        self._actions.append(action)
        self._violating += self._judge(number, state)
        for probe in [p for p in self._open if self._asks(p, state)]:
            self._witness[probe] = number
            self._open.remove(probe)

    def _violated(self, claim: int, number: int) -> None:
        """A claim is false in a state."""
        if self._violation[claim] is None:
            self._violation[claim] = number

    def _hit(self, fault: int, state: int, action: int) -> None:
        """A fault; the first of each number counts."""
        if self._events is not None and action >= 0:
            self._events.append((action, None, fault))
            return
        self._faults.setdefault(fault, FaultHit(fault, state, action))

    def _dead(self, number: int) -> None:
        """A state in which nothing can happen and more should."""
        if self._deadlock is None:
            self._deadlock = number

    # --- what the driver asks -------------------------------------------------------------------------

    def states(self) -> int:
        """Distinct states so far."""
        return len(self._order)

    def outside(self) -> int:
        """States among the expanded ones that are outside of the constraint."""
        return self._outside

    def depth(self) -> int:
        """Deepest level with an expanded state inside of the constraint."""
        return self._depth

    def expanded(self) -> int:
        """States whose successors have been generated."""
        return self._expanded

    def transitions(self) -> int:
        """Successors generated so far."""
        return self._transitions

    def level(self) -> int:
        """Level of the next state to expand, or of the last state."""
        return self._level

    def frontier(self) -> int:
        """States found and not yet expanded."""
        return len(self._order) - self._expanded

    def at_level_start(self) -> bool:
        """Whether no state of the current level has been expanded."""
        return self._expanded in (self._level_begin, len(self._order))

    def violation(self, claim: int) -> int | None:
        """First state that violates the claim."""
        return self._violation[claim]

    def witness(self, probe: int) -> int | None:
        """First state in which the probe is true."""
        return self._witness[probe]

    def violating_states(self) -> int:
        """Number of states that violate some claim."""
        return self._violating

    def deadlock(self) -> int | None:
        """First deadlocked state."""
        return self._deadlock

    def faults(self) -> list[FaultHit]:
        """First hit of each fault met, by fault number."""
        return [self._faults[fault] for fault in sorted(self._faults)]

    def fired(self) -> list[int]:
        """How often each action instance produced a successor."""
        return list(self._fired)

    def path(self, state: int) -> tuple[int, list[int]]:
        """The initial state and the actions by which the state was found."""
        self._known(state)
        actions: list[int] = []
        while (parent := self._parents[state]) >= 0:
            actions.append(self._actions[state])
            state = parent
        return state, actions[::-1]

    def test(self, predicate: int, first: int, last: int) -> bytes:
        """The value of a predicate in the states `first` up to `last`: 0, 1, or 2 where it faults."""
        return bytes(self._tests(predicate, self._known(number)) for number in range(first, last))

    def edges(self, first: int, last: int) -> Edges:
        """The transitions of the states `first` up to `last`, to states that are known.

        They are found by expanding the states once more, with a ledger that only listens.
        """
        edges = Edges(first, array("Q", [0]), array("I"), array("I"))
        known = dict(self._faults), self._deadlock
        self._listener = edges
        try:
            for number in range(first, last):
                state = self._known(number)
                if self._inside(number, state):
                    self._expand(number, state)
                edges.offsets.append(len(edges.actions))
        finally:
            self._listener = None
            self._faults, self._deadlock = known
        return edges

    def _known(self, state: int) -> S:
        if not 0 <= state < len(self._order):
            raise IndexError(f"no state {state}")
        return self._order[state]

    def close(self) -> None:
        """Give the memory back."""
        self._numbers, self._order = {}, []
        self._parents, self._actions = array("i"), array("i")
