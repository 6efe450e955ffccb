"""The C tier: an `Explorer` that hands the work to engine.c through ctypes."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Literal

from kvproto.engine.bytecode import pack
from kvproto.engine.c_library import BROKEN, MEMORY_REFUSED, META_HEAD, NONE, OK, WORD, Settings, create, declared
from kvproto.engine.explorer import Edges, FaultHit
from kvproto.engine.native import Unavailable, load_engine
from kvproto.engine.program import Program
from kvproto.engine.tier2 import WORTH_STATES, Compilation, CompiledBlocks

if TYPE_CHECKING:
    from kvproto.engine.por import Relations
    from kvproto.engine.por.packing import PackedRelations

Compile = Literal["auto", "off", "now"]
"""Printed C (tier 2): when a search is long enough, never, or before the first state."""

EDGES_AT_ONCE = 1 << 20


class EngineUnavailable(RuntimeError):
    """The C tier cannot be used here; the text says why.  Callers fall back to `PythonExplorer`."""


class EngineFailure(RuntimeError):
    """The program broke a rule of its language while it ran (index or divisor unchecked): a lowering bug."""


class CExplorer:
    """Explores a program with the C engine.

    `memory_limit` bounds the bytes held; `seed` changes how states are hashed and nothing that can be seen; nor
    does the number of workers, which is one with a partial-order reduction (`por`).  `compiling` says when printed C
    takes over from the interpreter.
    """

    tier: str = "C"

    def __init__(
        self,
        program: Program,
        *,
        memory_limit: int | None = None,
        seed: int = 0,
        workers: int = 1,
        share_from: int = 2048,
        numbered: bool = False,
        fingerprints: bool = False,
        canon: array[int] | None = None,
        por: Relations | None = None,
        spill: str | None = None,
        compiling: Compile = "off",
    ) -> None:
        engine = load_engine()
        if isinstance(engine, Unavailable):
            raise EngineUnavailable(engine.reason)
        self._library = declared(engine)
        self._words = program.words
        self.numbered = numbered or spill is not None or por is not None
        """Whether states can be found by content: what `edges` and `test` need."""
        self.lossy = fingerprints and not self.numbered and program.words > 2
        """Whether fingerprints stand for states: smaller states are kept whole, which takes no more room."""
        self._actions = len(program.actions)
        self._claims, self._probes, self._predicates = (
            len(blocks) for blocks in (program.claims, program.probes, program.predicates)
        )
        self._faults = program.faults
        code = pack(program)
        tables = None if por is None else _packed(por)
        settings = Settings(memory_limit, seed, workers, share_from, numbered, fingerprints, canon, tables, spill)
        self._handle: int | None = create(self._library, code, program, settings)
        if self._handle is None:
            raise MemoryError("the memory limit leaves no room for a search")
        self._blocks: CompiledBlocks | None = None
        self._compilation = None if compiling == "off" else Compilation(code)
        if self._compilation is not None:
            self._install(self._compilation.cached())
            if compiling == "now" and self._blocks is None:
                self._compilation.begin()
                self._install(self._compilation.finished(wait=True))

    @property
    def compiled(self) -> bool:
        """Whether printed C runs by now."""
        return self._blocks is not None

    @property
    def complaint(self) -> str:
        """Why printed C does not run, if that is known."""
        return "" if self._compilation is None else self._compilation.complaint

    @property
    def workers(self) -> int:
        """Threads that expand states."""
        return int(self._library.kv_workers(self._handle))

    def _install(self, blocks: CompiledBlocks | None) -> None:
        if blocks is not None and self._library.kv_compile(self._handle, blocks.pointers.buffer_info()[0]) == OK:
            self._blocks = blocks

    def start(self, initial: Iterable[int]) -> None:
        """Take the initial states; `MemoryError` when not even these fit."""
        states = iter(initial)
        while piece := list(islice(states, 4096)):
            words = array("Q", self._split(piece))
            address, _ = words.buffer_info()
            self._verdict(self._library.kv_start(self._handle, address, len(piece)), starting=True)

    def advance(self, expansions: int) -> bool:
        """Expand up to that many states of the current level; False when memory was refused."""
        if self._compilation is not None and self._blocks is None:
            if self.states() >= WORTH_STATES and self.frontier() * 4 >= WORTH_STATES:
                self._compilation.begin()
            self._install(self._compilation.finished())
        return self._verdict(self._library.kv_advance(self._handle, max(0, expansions)), starting=False)

    def states(self) -> int:
        """Distinct states so far."""
        return self._counters()[0]

    def outside(self) -> int:
        """States among the expanded ones that are outside of the constraint."""
        return self._counters()[9]

    def expanded(self) -> int:
        """States whose successors have been generated."""
        return self._counters()[1]

    def transitions(self) -> int:
        """Successors generated so far."""
        return self._counters()[2]

    def level(self) -> int:
        """Level of the next state to expand, or of the last state."""
        return self._counters()[3]

    def depth(self) -> int:
        """Deepest level with an expanded state inside of the constraint."""
        return self._counters()[8]

    def frontier(self) -> int:
        """States found and not yet expanded."""
        counters = self._counters()
        return counters[0] - counters[1]

    def at_level_start(self) -> bool:
        """Whether no state of the current level has been expanded."""
        states, expanded, _, _, level_begin, *_ = self._counters()
        return expanded in (level_begin, states)

    def violation(self, claim: int) -> int | None:
        """First state that violates the claim."""
        if not 0 <= claim < self._claims:
            raise IndexError(f"no claim {claim}")
        return _state(self._library.kv_violation(self._handle, claim))

    def witness(self, probe: int) -> int | None:
        """First state in which the probe is true."""
        if not 0 <= probe < self._probes:
            raise IndexError(f"no probe {probe}")
        return _state(self._library.kv_witness(self._handle, probe))

    def violating_states(self) -> int:
        """Number of states that violate some claim."""
        return self._counters()[5]

    def deadlock(self) -> int | None:
        """First deadlocked state."""
        return _state(self._counters()[6])

    def faults(self) -> list[FaultHit]:
        """First hit of each fault met, by fault number."""
        hits = []
        state, action = ctypes.c_uint64(), ctypes.c_int64()
        for fault in range(self._faults):
            if self._library.kv_fault(self._handle, fault, ctypes.byref(state), ctypes.byref(action)):
                hits.append(FaultHit(fault, state.value, action.value))
        return hits

    def fired(self) -> list[int]:
        """How often each action instance produced a successor."""
        counts = (ctypes.c_uint64 * self._actions)()
        self._library.kv_fired(self._handle, counts)
        return list(counts)

    def path(self, state: int) -> tuple[int, list[int]]:
        """The initial state and the actions by which the state was found."""
        self._known(state)
        root = ctypes.c_uint64()
        steps = self._library.kv_path(self._handle, state, ctypes.byref(root), None, 0)
        actions = (ctypes.c_uint32 * steps)()
        self._library.kv_path(self._handle, state, ctypes.byref(root), actions, steps)
        return root.value, actions[::-1]

    def packed(self, state: int) -> int:
        """The packed state with that number."""
        self._known(state)
        words = (ctypes.c_uint64 * self._words)()
        self._verdict(self._library.kv_state(self._handle, state, words), starting=True)
        return sum(word << 64 * number for number, word in enumerate(words))

    def edges(self, first: int, last: int) -> Edges:
        """The transitions of the states `first` up to `last`, to states that are known."""
        self._whole(first, last)
        offsets, actions, targets = array("Q", [0]), array("I"), array("I")
        room = min(EDGES_AT_ONCE, (last - first) * self._actions) + self._actions
        piece_actions, piece_targets = array("I", bytes(4 * room)), array("I", bytes(4 * room))
        at = first
        while at < last:
            rows = array("Q", bytes(8 * (last - at + 1)))
            done = self._library.kv_edges(
                self._handle, at, last, *(x.buffer_info()[0] for x in (rows, piece_actions, piece_targets)), room
            )
            base = len(actions)
            offsets.extend(base + row for row in rows[1 : done + 1])
            actions += piece_actions[: rows[done]]
            targets += piece_targets[: rows[done]]
            at += done
        return Edges(first, offsets, actions, targets)

    def test(self, predicate: int, first: int, last: int) -> bytes:
        """The value of a predicate in the states `first` up to `last`: 0, 1, or 2 where it faults."""
        if not 0 <= predicate < self._predicates:
            raise IndexError(f"no predicate {predicate}")
        self._whole(first, last)
        answers = (ctypes.c_uint8 * (last - first))()
        self._library.kv_test(self._handle, predicate, first, last, answers)
        return bytes(answers)

    def memory(self) -> int:
        """Bytes held by the engine."""
        return self._counters()[7]

    def close(self) -> None:
        """Give the memory back; the explorer cannot be used after that."""
        if self._handle is not None:
            self._library.kv_free(self._handle)
            self._handle = None
        if self._compilation is not None:
            self._compilation.cancel()

    def __del__(self) -> None:
        """Frees the engine of an explorer that was forgotten."""
        if getattr(self, "_handle", None) is not None:
            self.close()

    # --- checkpoints ----------------------------------------------------------------------------------

    def save(self, first: int, last: int) -> tuple[array[int], array[int]]:
        """Parents and actions of the states `first` up to `last`: enough to make them again."""
        parents, actions = (array("I", bytes(4 * (last - first))) for _ in range(2))
        self._library.kv_save(self._handle, first, last, parents.buffer_info()[0], actions.buffer_info()[0])
        return parents, actions

    def load(self, parents: array[int], actions: array[int]) -> bool:
        """Make saved states again, after `start`; False when memory was refused.

        `ValueError` if they cannot be what a search of this program saved.
        """
        if len(parents) != len(actions):
            raise ValueError("there are not as many actions as parents")
        addresses = parents.buffer_info()[0], actions.buffer_info()[0]
        status = self._library.kv_load(self._handle, len(parents), *addresses)
        if status == BROKEN:
            raise ValueError("a state does not follow from its parent")
        return bool(status == OK)

    def save_meta(self) -> array[int]:
        """All that is known about the search apart from its states."""
        numbers = array("Q", bytes(8 * self._library.kv_meta_size(self._handle)))
        self._library.kv_save_meta(self._handle, numbers.buffer_info()[0])
        return numbers

    def load_meta(self, numbers: array[int]) -> None:
        """The reverse, once all states are loaded; `ValueError` if it does not fit them."""
        if len(numbers) != self._library.kv_meta_size(self._handle) or len(numbers) < META_HEAD:
            raise ValueError("the counters do not fit this program")
        if self._library.kv_load_meta(self._handle, numbers.buffer_info()[0]) != OK:
            raise ValueError("the counters do not fit the states")

    # --- inside ---------------------------------------------------------------------------------------

    def _counters(self) -> list[int]:
        if self._handle is None:
            raise ValueError("the explorer is closed")
        counters = (ctypes.c_uint64 * 10)()
        self._library.kv_counters(self._handle, counters)
        return list(counters)

    def _known(self, state: int) -> None:
        if not 0 <= state < self.states():
            raise IndexError(f"no state {state}")

    def _whole(self, first: int, last: int) -> None:
        if not 0 <= first <= last <= self.states():
            raise IndexError(f"no states {first} to {last}")
        if not self.numbered:
            raise ValueError("only a numbered store keeps its states")

    def _split(self, states: Iterable[int]) -> Iterator[int]:
        for state in states:
            if state < 0 or state >> 64 * self._words:
                raise ValueError(f"{state:#x} is not a state of {self._words} words")
            for word in range(self._words):
                yield state >> 64 * word & WORD

    def _verdict(self, status: int, *, starting: bool) -> bool:
        if status == BROKEN:
            raise EngineFailure("an index or a divisor was out of range: the lowering did not check it")
        if status == MEMORY_REFUSED and starting:
            raise MemoryError("the memory limit leaves no room for the initial states")
        return status != MEMORY_REFUSED


def _packed(tables: Relations) -> PackedRelations:
    from kvproto.engine.por.packing import packed

    return packed(tables)


def _state(number: int) -> int | None:
    return None if number == NONE else number
