"""Small change of the explanations: page lists, step lists, calls, quotes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvproto.trace.printable import shown
from kvproto.trace.trace import Step

LONGEST = 240
"""Sentences are kept near this many characters."""


def call(step: Step) -> str:
    """`land(r=A, k=0)`."""
    return f"{step.action}({', '.join(f'{name}={shown(value)}' for name, value in step.args.items())})"


def ranges(labels: Iterable[str], order: Sequence[str]) -> str:
    """`0, 2-4`: labels in the given order, neighbours joined."""
    place = {label: at for at, label in enumerate(order)}
    wanted = sorted({label for label in labels if label in place}, key=place.__getitem__)
    parts: list[list[str]] = []
    for label in wanted:
        if parts and place[label] == place[parts[-1][-1]] + 1:
            parts[-1].append(label)
        else:
            parts.append([label])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in parts)


def numbers(steps: Iterable[int], word: str = "step") -> str:
    """`step 7`, `steps 7-9, 12`."""
    wanted = sorted(set(steps))
    if not wanted:
        return f"no {word}"
    order = [str(n) for n in range(wanted[0], wanted[-1] + 1)]
    text = ranges(map(str, wanted), order)
    return f"{word} {text}" if len(wanted) == 1 else f"{word}s {text}"


def count(amount: int, word: str) -> str:
    """`1 write`, `8 writes`."""
    return f"{amount} {word}" if amount == 1 else f"{amount} {word}s"


def joined(parts: Sequence[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f" {word} ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def capital(sentence: str) -> str:
    """The sentence with a capital at its beginning."""
    return sentence[:1].upper() + sentence[1:]


def with_quote(sentence: str, text: str) -> str:
    """`sentence: "text"`, the text cut at a word where it would make the sentence too long."""
    text = " ".join(text.split())
    if not text:
        return f"{sentence}."
    room = LONGEST - len(sentence) - 4
    if len(text) > room:
        text = text[: max(room - 3, 0)].rpartition(" ")[0] + "..."
    return f'{sentence}: "{text}"' if len(text) > 12 else f"{sentence}."
