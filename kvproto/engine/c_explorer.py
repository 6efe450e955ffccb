"""The C tier: an `Explorer` that hands the work to engine.c through ctypes."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from kvproto.engine.bytecode import Bytecode, pack
from kvproto.engine.explorer import FaultHit
from kvproto.engine.native import Engine, Unavailable, load_engine
from kvproto.engine.program import Program

WORD = (1 << 64) - 1
NONE = WORD
"""What the engine answers for no state."""

MEMORY_REFUSED, BROKEN = 1, 2


class EngineUnavailable(RuntimeError):
    """The C tier cannot be used here; the text says why.  Callers fall back to `PythonExplorer`."""


class EngineFailure(RuntimeError):
    """The program broke a rule of its language while it ran (index or divisor unchecked): a lowering bug."""


class _Spec(ctypes.Structure):
    """`kv_spec` of engine.c."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("words", "registers", "slots", "leaves", "actions", "claims")),
        *((name, ctypes.c_uint64) for name in ("windows", "guards", "faults")),
        *((name, ctypes.c_void_p) for name in ("code", "leaf_table", "action_entry", "claim_entry")),
        ("terminal_entry", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("window_table", "guard_table")),
        *((name, ctypes.c_uint64) for name in ("memory_limit", "seed")),
    ]


class CExplorer:
    """Explores a program with the C engine.

    `memory_limit` bounds the bytes held; `seed` changes how states are hashed and nothing that can be seen.
    """

    tier: str = "C"

    def __init__(self, program: Program, *, memory_limit: int | None = None, seed: int = 0) -> None:
        engine = load_engine()
        if isinstance(engine, Unavailable):
            raise EngineUnavailable(engine.reason)
        self._library = _declared(engine)
        self._words = program.words
        self._actions = len(program.actions)
        self._claims = len(program.claims)
        self._faults = program.faults
        limit = WORD if memory_limit is None else max(0, min(memory_limit, WORD))
        self._handle: int | None = _create(self._library, pack(program), program, limit, seed & WORD)
        if self._handle is None:
            raise MemoryError("the memory limit leaves no room for a search")

    def start(self, initial: Iterable[int]) -> None:
        """Take the initial states; `MemoryError` when not even these fit."""
        states = iter(initial)
        while piece := list(islice(states, 4096)):
            words = array("Q", self._split(piece))
            address, _ = words.buffer_info()
            self._verdict(self._library.kv_start(self._handle, address, len(piece)), starting=True)

    def advance(self, expansions: int) -> bool:
        """Expand up to that many states of the current level; False when memory was refused."""
        return self._verdict(self._library.kv_advance(self._handle, max(0, expansions)), starting=False)

    def states(self) -> int:
        """Distinct states so far."""
        return self._counters()[0]

    def expanded(self) -> int:
        """States whose successors have been generated."""
        return self._counters()[1]

    def transitions(self) -> int:
        """Successors generated so far."""
        return self._counters()[2]

    def level(self) -> int:
        """Level of the next state to expand, or of the last state."""
        return self._counters()[3]

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
        self._library.kv_state(self._handle, state, words)
        return sum(word << 64 * number for number, word in enumerate(words))

    def memory(self) -> int:
        """Bytes held by the engine."""
        return self._counters()[7]

    def close(self) -> None:
        """Give the memory back; the explorer cannot be used after that."""
        if self._handle is not None:
            self._library.kv_free(self._handle)
            self._handle = None

    def __del__(self) -> None:
        """Frees the engine of an explorer that was forgotten."""
        if getattr(self, "_handle", None) is not None:
            self.close()

    def _counters(self) -> list[int]:
        if self._handle is None:
            raise ValueError("the explorer is closed")
        counters = (ctypes.c_uint64 * 8)()
        self._library.kv_counters(self._handle, counters)
        return list(counters)

    def _known(self, state: int) -> None:
        if not 0 <= state < self.states():
            raise IndexError(f"no state {state}")

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


def _state(number: int) -> int | None:
    return None if number == NONE else number


def _create(library: Any, code: Bytecode, program: Program, limit: int, seed: int) -> int | None:
    actions, claims = array("I", code.actions), array("I", code.claims)
    windows = array("I", [number for window in code.windows for number in window])
    spec = _Spec(
        words=code.words,
        registers=code.registers,
        slots=len(code.code) // 16,
        leaves=len(program.leaves),
        actions=len(actions),
        claims=len(claims),
        windows=len(code.windows),
        guards=code.guards,
        faults=code.faults,
        code=_address(code.code),
        leaf_table=_address(code.leaf_table),
        action_entry=actions.buffer_info()[0],
        claim_entry=claims.buffer_info()[0],
        terminal_entry=-1 if code.terminal is None else code.terminal,
        window_table=windows.buffer_info()[0],
        guard_table=_address(code.guard_table),
        memory_limit=limit,
        seed=seed,
    )
    handle: int | None = library.kv_new(ctypes.byref(spec))
    return handle


def _address(data: bytes) -> int | None:
    """Where the bytes lie; valid as long as `data` lives, and the engine copies them before that ends."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value


def _declared(engine: Engine) -> Any:
    """The library with the argument types of its functions, so that ctypes does not cut 64-bit numbers."""
    library: Any = engine.library
    u32, u64, pointer, status = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int
    for name, result, arguments in (
        ("kv_new", pointer, [pointer]),
        ("kv_free", None, [pointer]),
        ("kv_start", status, [pointer, pointer, u64]),
        ("kv_advance", status, [pointer, u64]),
        ("kv_counters", None, [pointer, pointer]),
        ("kv_violation", u64, [pointer, u32]),
        ("kv_fault", status, [pointer, u32, pointer, pointer]),
        ("kv_fired", None, [pointer, pointer]),
        ("kv_state", None, [pointer, u64, pointer]),
        ("kv_path", u64, [pointer, u64, pointer, pointer, u64]),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
