"""What became of fixes without a guard, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from kvproto.suite.mutants import Fate, Kind
from kvproto.suite.mutation import Trial, exit_code, outdated
from kvproto.suite.needless import Needless
from kvproto.suite.table import WIDTH
from kvproto.trace.printable import fold

WORDS: dict[Kind, str] = {
    "caught": "caught",
    "redundant": "without effect",
    "shortcut": "only shortcuts",
    "survivor": "needless",
    "undecided": "undecided",
}
"""What is said of so many guards that were left out."""


def mutation_table(trials: Sequence[Trial], known: Needless, *, quiet: bool = False) -> list[str]:
    """A paragraph a preset; with `quiet` only what is wrong."""
    lines: list[str] = []
    for trial in trials:
        some = list(_guards(trial, known, quiet=quiet))
        if some or not quiet:
            lines += [f"{trial.entry.target}  {_counts([trial]) or 'no guards'}", *some]
    for model, guard in outdated(trials, known):
        text = f"{model} has a reason for  {guard}  which is caught, or is no guard of it any more"
        lines += [
            f"NOT AS EXPECTED: {line}" if at == 0 else f"  {line}" for at, line in enumerate(fold(text, WIDTH - 17))
        ]
    return [*lines, *([""] if lines else []), mutation_totals(trials, known)]


def mutation_totals(trials: Sequence[Trial], known: Needless) -> str:
    """`373 guards left out, one at a time, of 51 presets: 250 caught, ..., all of those explained`."""
    open_ones = sum(len(trial.unexplained(known)) for trial in trials)
    rest = f"{open_ones} of those not explained" if open_ones else "all of those explained"
    number = sum(len(trial.fates) for trial in trials)
    presets = f"{len(trials)} preset{'s' * (len(trials) != 1)}"
    has_survivors = any(trial.of("survivor") for trial in trials)
    return f"{number} guard{'s' * (number != 1)} left out, one at a time, of {presets}: {_counts(trials) or 'none'}" + (
        f", {rest}" if has_survivors else ""
    )


def _counts(trials: Sequence[Trial]) -> str:
    numbers = {kind: sum(len(trial.of(kind)) for trial in trials) for kind in WORDS}
    return ", ".join(f"{number} {WORDS[kind]}" for kind, number in numbers.items() if number)


def _guards(trial: Trial, known: Needless, *, quiet: bool) -> Iterator[str]:
    for fate in trial.fates:
        line = _guard(trial, fate, known)
        if line is not None and (not quiet or line.startswith(("NOT", "INCONCL."))):
            yield from (f"  {part}" if at == 0 else f"    {part}" for at, part in enumerate(fold(line, WIDTH - 4)))


def _guard(trial: Trial, fate: Fate, known: Needless) -> str | None:
    if fate.kind == "undecided":
        return f"INCONCL.: {fate.guard}"
    if fate.kind == "shortcut":
        return f"shortcut: {fate.guard}"
    if fate.kind != "survivor":
        return None
    reason = known.reason(trial.entry.model, fate.guard)
    if reason is None:
        return f"NOT EXPLAINED: {fate.guard}, in {fate.line}"
    return f"{reason.kind}: {fate.guard}: {reason.why}"


def mutation_json(trials: Sequence[Trial], known: Needless) -> dict[str, object]:
    """All of it, for a machine."""
    return {
        "summary": mutation_totals(trials, known),
        "as_expected": {0: True, 1: False, 3: None}[exit_code(trials, known)],
        "counts": {kind: sum(len(trial.of(kind)) for trial in trials) for kind in get_args(Kind)},
        "outdated": [{"model": model, "guard": guard} for model, guard in outdated(trials, known)],
        "presets": [
            {"target": trial.entry.target, "guards": [_fate_json(trial, fate, known) for fate in trial.fates]}
            for trial in trials
        ],
    }


def _fate_json(trial: Trial, fate: Fate, known: Needless) -> dict[str, object]:
    reason = known.reason(trial.entry.model, fate.guard) if fate.kind == "survivor" else None
    return {
        "action": fate.action,
        "guard": fate.part,
        "place": fate.line,
        "fate": fate.kind,
        "by": list(fate.by),
        "reason": {"kind": reason.kind, "why": reason.why} if reason else None,
    }
