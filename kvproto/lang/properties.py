"""Declaring what is claimed: of every state, of some state, of whole runs; and what runs may be relied on to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

MARK = "__kvproto__"
"""Attribute under which a decorated function carries its declaration."""

MarkedKind = Literal["invariant", "sometimes", "eventually", "leads_to", "always_eventually", "eventually_always"]


@dataclass(frozen=True, slots=True)
class ClaimMark:
    """What a decorator of properties leaves on a function."""

    claim: str
    kind: MarkedKind


def _claimed(kind: MarkedKind, mark: ClaimMark) -> Callable[[F], F]:
    if not isinstance(mark.claim, str):
        example = "no page has two owners" if kind == "invariant" else "a request is answered"
        raise TypeError(f"@{kind} needs its claim in words: write @{kind}({example!r})")

    def apply(fn: F) -> F:
        setattr(fn, MARK, mark)
        return fn

    return apply


def invariant(claim: str) -> Callable[[F], F]:
    """Declare a property of every reachable state, as a positive claim in words; the docstring says why."""
    return _claimed("invariant", ClaimMark(claim, "invariant"))


def sometimes(claim: str) -> Callable[[F], F]:
    """Declare that some reachable state satisfies the function: a sanity check, or a puzzle to solve."""
    return _claimed("sometimes", ClaimMark(claim, "sometimes"))


def eventually(claim: str) -> Callable[[F], F]:
    """Declare that every run comes to a state that satisfies the function, for every choice of its parameters."""
    return _claimed("eventually", ClaimMark(claim, "eventually"))


def leads_to(claim: str) -> Callable[[F], F]:
    """Declare that after every state that satisfies the first condition comes one that satisfies the second.

    The function returns both: `return waiting, served`.  A state that satisfies both is its own answer.
    """
    return _claimed("leads_to", ClaimMark(claim, "leads_to"))


def always_eventually(claim: str) -> Callable[[F], F]:
    """Declare that every run satisfies the function again and again."""
    return _claimed("always_eventually", ClaimMark(claim, "always_eventually"))


def eventually_always(claim: str) -> Callable[[F], F]:
    """Declare that every run satisfies the function from some state on."""
    return _claimed("eventually_always", ClaimMark(claim, "eventually_always"))


@dataclass(frozen=True, slots=True)
class FairnessMark:
    """What `weak` and `strong` say; `line`, `start` and `end` are where in the file (the end is 0 if unknown)."""

    kind: Literal["weak", "strong"]
    actions: tuple[Callable[..., Any], ...]
    per: tuple[str, ...]
    file: str = field(compare=False)
    line: int = field(compare=False)
    start: int = field(compare=False)
    end: int = field(compare=False)


def weak(*actions: Callable[..., Any], per: str | tuple[str, ...] = ()) -> FairnessMark:
    """The actions, taken together, are not put off forever while one of them stays possible.

    `per` names parameters that all of them have: then this holds for every choice of these by itself.
    """
    return _fair("weak", actions, per, sys._getframe(1))


def strong(*actions: Callable[..., Any], per: str | tuple[str, ...] = ()) -> FairnessMark:
    """The actions, taken together, are not put off forever while one of them is possible again and again.

    `per` names parameters that all of them have: then this holds for every choice of these by itself.
    """
    return _fair("strong", actions, per, sys._getframe(1))


def _fair(
    kind: Literal["weak", "strong"],
    actions: tuple[Callable[..., Any], ...],
    per: str | tuple[str, ...],
    caller: FrameType,
) -> FairnessMark:
    if not actions:
        raise TypeError(f"{kind}(...) needs at least one action")
    names = (per,) if isinstance(per, str) else per
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"per is the name of a parameter, or a tuple of names, not {per!r}")
    places = list(caller.f_code.co_positions())
    line, last, start, end = places[caller.f_lasti // 2]
    if line is None or last != line:
        end = None
    return FairnessMark(
        kind, actions, names, caller.f_code.co_filename, line or caller.f_lineno, start or 0, end or 0
    )
