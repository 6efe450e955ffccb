"""What is measured: sizes, and the ways to search them."""

from __future__ import annotations

from dataclasses import dataclass

TARGET = "kv_transfer"
SAFE, VULNERABLE = f"{TARGET}@safe", f"{TARGET}@vulnerable"


@dataclass(frozen=True, slots=True)
class Size:
    """A scope of the benchmark protocol, and how many states it is known to have (symmetric ones in one class too)."""

    name: str
    requests: int
    pages: int
    each: int
    states: int
    classes: int
    rounds: int
    """How often it is measured unless asked otherwise."""

    @property
    def defines(self) -> tuple[str, ...]:
        """What SPIN's preprocessor is told."""
        return f"-DR={self.requests}", f"-DP={self.pages}", f"-DK={self.each}"

    @property
    def table(self) -> int:
        """Bits of a hash table with about as many slots as there are states."""
        return max(18, self.states.bit_length())


SIZES = {
    size.name: size
    for size in (
        Size("S", 3, 6, 2, 25_502, 4_284, 3),
        Size("M", 4, 6, 3, 170_320, 7_885, 3),
        Size("L", 5, 6, 3, 1_329_372, 15_636, 3),
        Size("XL", 5, 6, 2, 6_893_402, 64_696, 1),
    )
}


@dataclass(frozen=True, slots=True)
class Way:
    """A way to search.  `options` are those of `kvproto check`, or flags of SPIN's C compiler."""

    key: str
    title: str
    tool: str
    options: tuple[str, ...]
    symmetric: bool = False
    model: str = ""
    """For SPIN: `tuned` by hand, or `exported`."""


TUNED_FLAGS = ("-O3", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK")
"""What makes SPIN fastest without making it lose states."""

SPIN = (
    Way("spin", "SPIN, tuned by hand", "spin", TUNED_FLAGS, model="tuned"),
    Way("spin-exported", "SPIN, as exported", "spin", TUNED_FLAGS, model="exported"),
)

BASELINE = "spin"
"""Ratios are against this one."""


def kvproto_ways(workers: int) -> tuple[Way, ...]:
    """The ways of kvproto: every tier, and what it can do besides."""
    plain = "--no-symmetry"
    return (
        Way("bytecode", "kvproto, bytecode", "kvproto", (plain, "--tier", "bytecode")),
        Way("compiled", "kvproto, compiled", "kvproto", (plain, "--tier", "compiled")),
        Way("auto", "kvproto, as it comes but without symmetry", "kvproto", (plain,)),
        Way(
            "workers",
            f"kvproto, compiled, {workers} workers",
            "kvproto",
            (plain, "--tier", "compiled", "--workers", str(workers)),
        ),
        Way("symmetry", "kvproto with symmetry", "kvproto", ("--symmetry",), symmetric=True),
    )
