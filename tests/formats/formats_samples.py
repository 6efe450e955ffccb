"""Traces for the tests of exports: recorded ones, long ones, ones with names that mean something to a format."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, settings

from kvproto.report import Report, report
from kvproto.trace import codec
from kvproto.trace.trace import FlightView, PoolView, Step, Trace, Value, Vocabulary

ROOT = Path(__file__).parents[2]
RECORDED = sorted((ROOT / "traces").glob("*.trace.json"))

relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)
"""How long a machine takes is no property of a format."""

HOSTILE = [
    "@everyone",
    "#1",
    "GH-12",
    "</script><img src=x onerror=alert(1)>",
    "a|b",
    "\\|",
    "```",
    "`x`",
    "**bold** _it_ ~~s~~ $x$",
    "[a](https://example.com) www.example.com :tada: a@b.cd",
    "x;y #35; %%{init} end",
    "style:#35;",
    'quote " <- \\N \\l',
    "- 1. + = >",
    "a\nb\r\u2028c\u202e\ud800\x00",
    "loop\nend\nactivate p0",
    "constructor",
    "__proto__",
    "x" * 3000,
    "e" + "\u0301" * 3000,
]


def ascii_name(word: str) -> str:
    """What a test for the word is called."""
    return ascii(word[:16])


def recorded(path: Path) -> Report:
    """The report of a recorded trace."""
    return report(codec.read(path), file=f"traces/{path.name}")


LONG = 2400
"""Steps of a long trace: an export that took quadratic time would be felt, and the tests are not."""


@cache
def long_report() -> Report:
    """The report of a long trace."""
    return report(long_trace())


@cache
def long_trace(steps: int = LONG, lanes: int = 4) -> Trace:
    """Machines that pass a counter on, while writes are posted and land some steps later."""
    names = [f"lane {at}" for at in range(lanes)]
    state: dict[str, Value] = {f"box[{at}]": [] for at in range(lanes)}
    state |= {"owner[0]": "A", "owner[1]": "B", "content[0]": None, "content[1]": None}
    state |= {"fly[A]": [], "fly[B]": [], "n": 0}
    init, done = dict(state), []
    for at in range(steps):
        delta: dict[str, tuple[Value, Value]] = {"n": (state["n"], at + 1)}
        here, there = f"box[{at % lanes}]", f"box[{(at + 1) % lanes}]"
        for path, new in ((here, []), (there, ["TOKEN"])):
            if state[path] != new:
                delta[path] = (state[path], new)
        fly = f"fly[{'AB'[at // 6 % 2]}]"
        new_set: list[bool | int | str] = [[], [at % 2], [at % 2]][at % 3]
        if state[fly] != new_set:
            delta[fly] = (state[fly], new_set)
        state |= {path: new for path, (_, new) in delta.items()}
        lane = names[at % lanes]
        done.append(Step("pass_on", {"k": at}, lane, "m.py:1", "It passes on.", (here, "n"), tuple(delta), delta))
    vocabulary = Vocabulary(
        tuple(names),
        (PoolView("pool", ("0", "1"), "owner", "content"),),
        (FlightView(("A", "B"), "fly[{r}]", "", "", (), "pool"),),
    )
    head = ("long", "", "", {}, "never_ends", "the counter stays small", "violated", "0" * 16)
    return Trace(*head, init, tuple(done), blame=("n",), vocabulary=vocabulary)


def hostile_trace(word: str) -> Trace:
    """A trace whose every name is that word."""
    state: dict[str, Value] = {word: None, f"{word}2": [], "box": []}
    delta: dict[str, tuple[Value, Value]] = {word: (None, word), f"{word}2": ([], [word])}
    first = Step(word, {word: word}, word, word, word, (word,), tuple(delta), delta)
    sent: dict[str, tuple[Value, Value]] = {"box": ([], [word])}
    second = Step(word, {}, word, word, word, (), ("box",), sent)
    taken: dict[str, tuple[Value, Value]] = {"box": ([word], [])}
    third = Step(word, {}, f"{word}2", word, word, ("box", word), ("box",), taken)
    names = (word, word, word, {word: word}, word, word, word, word)
    return Trace(*names, state, (first, second, third), blame=("box",), why=(f"Step 1 {word}", word))
