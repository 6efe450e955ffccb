"""Searches an entry and says whether it is as expected."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from kvproto.engine.outcome import Finding, Options, Result
from kvproto.engine.search import search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.suite.entries import Entry

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of an entry.

    `missed` are expected violations that were not found, `broken` are violations that nobody expected, `other` shortest
    runs of another length, `doubts` why it is no proof where nothing is broken.
    """

    entry: Entry
    result: Result
    missed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """0 as expected, 1 not so, 3 inconclusive."""
        if self.missed or self.broken or self.other:
            return 1
        return 3 if self.doubts else 0

    def words(self) -> list[str]:
        """What is wrong, a line each."""
        return [
            *(f"{name} was expected to break and does not" for name in self.missed),
            *(f"{name} was expected to hold and breaks" for name in self.broken),
            *self.other,
            *self.doubts,
        ]


def judge(entry: Entry, options: Options) -> Judgement:
    """Search one entry, to the end."""
    model = find(entry.model).model
    result = search(build(model, choose(model, preset=entry.preset)), options)
    return compare(entry, result)


def compare(entry: Entry, result: Result) -> Judgement:
    """An entry against what was found."""
    missed: list[str] = []
    broken: list[str] = []
    other: list[str] = []
    doubts: list[str] = []
    for finding in result.findings:
        name, expected = finding.claim.name, entry.expected
        if finding.verdict == "violated" and name not in expected:
            broken.append(name)
        elif finding.verdict == "violated":
            other += _length(finding, expected[name])
        elif name in expected and finding.verdict == "holds":
            missed.append(name)
        elif finding.verdict == "inconclusive":
            doubts.append(f"{name} is undecided: {finding.reason or result.stopped}")
    if result.complete and result.never_fired:
        doubts.append(f"never happened: {', '.join(result.never_fired)}")
    doubts += [f"{gap.owner} is vacuous: {gap.text} is never true" for gap in result.vacuous]
    return Judgement(entry, result, tuple(missed), tuple(broken), tuple(other), tuple(doubts))


def _length(finding: Finding, expected: int | None) -> Iterator[str]:
    found = finding.counterexample
    if expected is not None and found is not None and len(found.steps) != expected:
        steps = f"{len(found.steps)} step{'' if len(found.steps) == 1 else 's'}"
        yield f"{finding.claim.name} breaks in {steps}, expected were {expected}"


def judge_all(entries: Sequence[Entry], options: Options, workers: int) -> Iterator[Judgement]:
    """Judge all, some at a time, in the order in which they are done."""
    return for_each(judge, entries, options, workers)


def for_each(
    work: Callable[[Entry, Options], T], entries: Sequence[Entry], options: Options, workers: int
) -> Iterator[T]:
    """What `work` says of every entry, some at a time, in the order in which they are done."""
    if workers == 1 or len(entries) == 1:
        for entry in entries:
            yield work(entry, options)
        return
    # Models are loaded afresh in each process: a fork would share what an interrupted search has open.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_interrupts) as pool:
        jobs = [pool.submit(work, entry, options) for entry in entries]
        try:
            for job in as_completed(jobs):
                yield job.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _leave_interrupts() -> None:
    """Ctrl-C is for the parent, which ends its children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def usual_workers() -> int:
    """As many as there are cores."""
    return os.cpu_count() or 1
