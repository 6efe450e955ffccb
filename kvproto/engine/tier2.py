"""Tier 2: bytecode printed as C, one statement for each instruction, and compiled while the search goes on.

The search starts on the interpreter at once.  When it has lasted long enough for a compiler to pay, one is started
in the background, and when it is done the engine calls the compiled blocks instead; both do the same, in the same
order, so nothing else changes.  Libraries are kept in the user's cache under a hash of all that they depend on.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import subprocess
import tempfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kvproto.engine.bytecode import LEAF, PAIR, SLOT, Bytecode, Code
from kvproto.engine.compile_c import Compiler, compilers, library_suffix
from kvproto.engine.model_cache import UNFINISHED, mark_used, prune
from kvproto.engine.native import ABI, build_folders, user_cache

WORTH_STATES = 200_000
"""A search that has found so many states and still has work waiting is worth a compiler."""

LARGEST_CODE = 60_000
"""Longer programs (in slots) take a compiler longer than most searches last."""

PAIRED = frozenset({Code.TEST, Code.PUT, Code.IS, Code.JUMP_IS, Code.JUMP_IS_NOT})
JUMPS = frozenset({Code.JUMP, Code.JUMP_ZERO, Code.JUMP_NONZERO, Code.JUMP_IS, Code.JUMP_IS_NOT})
STATES = frozenset({Code.LOADX, Code.STORE, Code.STOREX, Code.PUT})
BEGINS = frozenset({Code.BEGIN1, Code.BEGIN2, Code.BEGIN3, Code.BEGIN4, Code.BEGIN})

PRELUDE = """\
#include <stdint.h>
enum { NOT_ENABLED, DONE, IS_FAULT, IS_FALSE, IS_TRUE, IS_BROKEN };
typedef uint64_t u;
typedef int64_t i;
static inline u popcount(u x)
{
    x = x - ((x >> 1) & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (x * 0x0101010101010101u) >> 56;
}
static inline i floor_div(i a, i b)
{
    if (b == -1)
        return (i)(0 - (u)a);
    i q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}
static inline i floor_mod(i a, i b)
{
    if (b == -1)
        return 0;
    i m = a % b;
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
"""

EXPRESSIONS = {
    Code.CONST: "{imm}",
    Code.MOVE: "{a}",
    Code.LOAD: "(i)(t[{na}] >> {nb} & (u){imm})",
    Code.ADD: "(i)((u){a} + (u){b})",
    Code.SUB: "(i)((u){a} - (u){b})",
    Code.MUL: "(i)((u){a} * (u){b})",
    Code.MIN: "{a} < {b} ? {a} : {b}",
    Code.MAX: "{a} > {b} ? {a} : {b}",
    Code.EQ: "{a} == {b}",
    Code.NE: "{a} != {b}",
    Code.LT: "{a} < {b}",
    Code.LE: "{a} <= {b}",
    Code.BAND: "{a} & {b}",
    Code.BOR: "{a} | {b}",
    Code.BXOR: "{a} ^ {b}",
    Code.BANDN: "{a} & ~{b}",
    Code.HAS: "(i)((u){a} >> ((u){b} & 63) & 1)",
    Code.ADDI: "(i)((u){a} + (u){imm})",
    Code.MULI: "(i)((u){a} * (u){imm})",
    Code.EQI: "{a} == {imm}",
    Code.LTI: "{a} < {imm}",
    Code.NOT: "{a} == 0",
    Code.BIT: "(i)((u)1 << ((u){a} & 63))",
    Code.POPCOUNT: "(i)popcount((u){a})",
    Code.LOWBIT: "{a} == 0 ? 0 : (i)popcount(((u){a} & (~(u){a} + 1)) - 1)",
}
"""C text of the instructions that only compute; `na` and `nb` are the fields as numbers."""


@dataclass(frozen=True, slots=True)
class _Ins:
    """One instruction at its slot."""

    at: int
    code: Code
    d: int
    a: int
    b: int
    imm: int
    mask: int = 0
    value: int = 0


def print_c(code: Bytecode) -> str:
    """C text that defines `kv_blocks`, a table of one function for each block."""
    names = [f"b{number}" for number in range(len(code.entries))]
    ends = [*code.entries[1:], len(code.code) // SLOT.size]
    leaves = [f"{{{mask}u, {word}, {shift}}}" for mask, word, shift in LEAF.iter_unpack(code.leaf_table)]
    lines = [PRELUDE, f"static const struct {{ u mask; uint32_t word, shift; }} leaf[] = {{{', '.join(leaves)}}};"]
    for name, start, end in zip(names, code.entries, ends, strict=True):
        lines += _function(name, list(_decoded(code.code, start, end)), code.words, len(leaves))
    lines += [
        "#if defined(_WIN32)",
        "__declspec(dllexport)",
        "#else",
        '__attribute__((visibility("default")))',
        "#endif",
        f"int (*const kv_blocks[])(const u *, u *, uint32_t *) = {{{', '.join(names)}}};",
    ]
    return "\n".join(lines) + "\n"


def _decoded(code: bytes, start: int, end: int) -> Iterator[_Ins]:
    at = start
    while at < end:
        number, d, a, b, imm = SLOT.unpack_from(code, at * SLOT.size)
        if Code(number) in PAIRED:
            yield _Ins(at, Code(number), d, a, b, imm, *PAIR.unpack_from(code, (at + 1) * SLOT.size))
            at += 2
        else:
            yield _Ins(at, Code(number), d, a, b, imm)
            at += 1


def _function(name: str, block: list[_Ins], words: int, leaves: int) -> Iterator[str]:
    targets = {ins.at + ins.imm for ins in block if ins.code in JUMPS}
    registers = sorted({ins.d for ins in block if _sets_register(ins)})
    stores = any(ins.code in BEGINS for ins in block)
    yield f"static int {name}(const u *from, u *out, uint32_t *fault)"
    yield "{"
    yield "    (void)out; (void)fault;"
    # A private copy, which the compiler keeps in registers as long as nothing is indexed.
    yield f"    u t[{words}];"
    yield f"    for (int w = 0; w < {words}; w++) t[w] = from[w];"
    if registers:
        yield f"    i {', '.join(f'r{r} = 0' for r in registers)};"
    for ins in block:
        if ins.at in targets:
            yield f"L{ins.at}:;"
        yield from (f"    {line}" for line in _statements(ins, words, leaves))
    yield "    return IS_BROKEN;" if not stores else "    return DONE;"
    yield "}"


def _sets_register(ins: _Ins) -> bool:
    return ins.code in EXPRESSIONS or ins.code in (Code.LOADX, Code.FLOORDIV, Code.MOD, Code.IS)


def _statements(ins: _Ins, words: int, leaves: int) -> list[str]:
    a, b, d = f"r{ins.a}", f"r{ins.b}", f"r{ins.d}"
    imm = f"{ins.imm}" if ins.imm > -(1 << 63) else "INT64_MIN"
    if ins.code in EXPRESSIONS:
        return [f"{d} = {EXPRESSIONS[ins.code].format(a=a, b=b, imm=f'(i){imm}', na=ins.a, nb=ins.b)};"]
    if ins.code in JUMPS:
        return [_jump(ins, a)]
    if ins.code in STATES:
        return [_state_access(ins, a, b, d, f"u n = (u){imm} + (u){a}; if (n >= {leaves}u) return IS_BROKEN;")]
    match ins.code:
        case Code.TEST:
            return [f"if ({_differs(ins, ins.d)}) return NOT_ENABLED;"]
        case Code.NEVER:
            return ["return NOT_ENABLED;"]
        case Code.REQUIRE:
            return [f"if ({a} == 0) return NOT_ENABLED;"]
        case Code.FAULT:
            return [f"*fault = {ins.imm}; return IS_FAULT;"]
        case Code.CHECK:
            return [f"if ({a} == 0) {{ *fault = {ins.imm}; return IS_FAULT; }}"]
        case Code.RET:
            return [f"return {a} != 0 ? IS_TRUE : IS_FALSE;"]
        case Code.IS:
            return [f"{d} = !({_differs(ins, ins.a)});"]
        case Code.DONE:
            return [f"for (int w = 0; w < {words}; w++) out[w] = t[w];", "return DONE;"]
        case Code.FLOORDIV | Code.MOD:
            function = "floor_div" if ins.code is Code.FLOORDIV else "floor_mod"
            return [f"if ({b} == 0) return IS_BROKEN;", f"{d} = {function}({a}, {b});"]
        case _ if ins.code in BEGINS:
            return []  # the copy is made already, and nothing has been stored before this point
        case _:
            raise ValueError(f"no C text for {ins.code.name}")


def _differs(ins: _Ins, word: int) -> str:
    return f"(t[{word}] & {ins.mask}u) != {ins.value}u"


def _jump(ins: _Ins, a: str) -> str:
    conditions = {
        Code.JUMP: "",
        Code.JUMP_ZERO: f"if ({a} == 0) ",
        Code.JUMP_NONZERO: f"if ({a} != 0) ",
        Code.JUMP_IS: f"if (!({_differs(ins, ins.a)})) ",
        Code.JUMP_IS_NOT: f"if ({_differs(ins, ins.a)}) ",
    }
    return f"{conditions[ins.code]}goto L{ins.at + ins.imm};"


def _state_access(ins: _Ins, a: str, b: str, d: str, checked: str) -> str:
    match ins.code:
        case Code.LOADX:
            return f"{{ {checked} {d} = (i)(t[leaf[n].word] >> leaf[n].shift & leaf[n].mask); }}"
        case Code.STOREX:
            put = "(t[leaf[n].word] & ~(leaf[n].mask << leaf[n].shift))"
            return f"{{ {checked} t[leaf[n].word] = {put} | ((u){b} & leaf[n].mask) << leaf[n].shift; }}"
        case Code.STORE:
            mask = ins.imm & (1 << 64) - 1
            keep = ~(mask << ins.b) & (1 << 64) - 1
            return f"t[{ins.d}] = (t[{ins.d}] & {keep}u) | ((u){a} & {mask}u) << {ins.b};"
        case _:
            return f"t[{ins.d}] = (t[{ins.d}] & {~ins.mask & (1 << 64) - 1}u) | {ins.value}u;"


# --------------------------------------------------------------------------------------------- compiling


class CompiledBlocks:
    """Loaded blocks of one program."""

    def __init__(self, path: Path, count: int) -> None:
        self._library = ctypes.CDLL(str(path))
        table = (ctypes.c_void_p * count).in_dll(self._library, "kv_blocks")
        self.pointers = array("Q", (pointer or 0 for pointer in table))
        """Addresses of the functions; valid while this object lives."""


class Compilation:
    """Gets the compiled blocks of a program: from the cache, or from a compiler that runs beside the search."""

    def __init__(self, code: Bytecode) -> None:
        self.code = code
        self.complaint = ""
        """Why there will be no compiled blocks, if that is known."""
        self._process: subprocess.Popen[bytes] | None = None
        self._unfinished: Path | None = None
        self._target: Path | None = None
        self._compilers = compilers()
        if not self._compilers:
            self.complaint = "no C compiler"
        elif len(code.code) // SLOT.size > LARGEST_CODE:
            self.complaint = f"more than {LARGEST_CODE} instructions"

    def cached(self) -> CompiledBlocks | None:
        """What an earlier search has left in the cache."""
        for compiler in self._compilers if not self.complaint else ():
            path = user_cache() / self._name(compiler)
            if path.exists():
                with contextlib.suppress(OSError, ValueError):
                    blocks = CompiledBlocks(path, len(self.code.entries))
                    mark_used(path)
                    return blocks
        return None

    def begin(self) -> None:
        """Start a compiler, unless one runs or there is no hope."""
        if self._process is not None or self.complaint:
            return
        compiler, folder = self._compilers[0], next(iter(build_folders()))
        try:
            with tempfile.NamedTemporaryFile("w", dir=folder, prefix=UNFINISHED, suffix=".c", delete=False) as source:
                source.write(print_c(self.code))
            self._unfinished = Path(source.name)
            self._target = folder / self._name(compiler)
            library = self._unfinished.with_suffix(library_suffix())
            command = [*compiler.command, *_flags(compiler), "-o", str(library), source.name]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError as problem:
            self.complaint = str(problem)

    def finished(self, wait: bool = False) -> CompiledBlocks | None:
        """The blocks, once the compiler is done; None before that or if it failed (then there is a complaint)."""
        if self._process is None or self._unfinished is None or self._target is None:
            return None
        if wait:
            self._process.wait()
        status = self._process.poll()
        if status is None:
            return None
        library = self._unfinished.with_suffix(library_suffix())
        blocks = None
        try:
            if status != 0:
                raise OSError(f"{self._compilers[0]} failed with exit status {status}")
            blocks = CompiledBlocks(library, len(self.code.entries))  # before it has a name that others may prune
            library.replace(self._target)
            prune(self._target)
        except (OSError, ValueError) as problem:
            self.complaint = str(problem)
        self._clean()
        return blocks

    def cancel(self) -> None:
        """The search is over: the compiler need not go on."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        self._clean()

    def _clean(self) -> None:
        if self._unfinished is not None:
            for path in (self._unfinished, self._unfinished.with_suffix(library_suffix())):
                path.unlink(missing_ok=True)
        self._process = self._unfinished = None

    def _name(self, compiler: Compiler) -> str:
        """A name that changes with all that the library depends on, this printer included."""
        parts = [self.code.code, self.code.leaf_table, repr(self.code.entries).encode(), Path(__file__).read_bytes()]
        identity = "\0".join((*compiler.command, *_flags(compiler), str(ABI), str(self.code.words)))
        digest = hashlib.sha256(b"\0".join([*parts, identity.encode()])).hexdigest()[:24]
        return f"model-{digest}{library_suffix()}"


def _flags(compiler: Compiler) -> tuple[str, ...]:
    """Little optimisation: memory decides the speed, and compiling is to be quick."""
    return tuple("-O1" if flag == "-O2" else flag for flag in compiler.flags if flag != "-pthread")
