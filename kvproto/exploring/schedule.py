"""A schedule in a file: the steps of a path that the model does not take, to be taken again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any, NoReturn

from kvproto.diagnostics import KvError
from kvproto.exploring.target import Happening, Path
from kvproto.trace.codec import MAX_BYTES
from kvproto.trace.printable import printable

SCHEMA = "kvproto.schedule/1"
SUFFIX = ".schedule.json"
NAMED = re.compile(r"\w+(@[\w.-]+)?", re.ASCII)
"""A model of kvproto, and its preset."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps, of what, and what they show."""

    impl: str
    target: str
    scope: str
    sets: dict[str, bool | int | str]
    about: str
    steps: Path

    def text(self) -> str:
        """The text of the file."""
        rows = ",\n".join(f"  {json.dumps({'action': s.action, 'args': dict(s.args)})}" for s in self.steps)
        fields = {"schema": SCHEMA, "impl": self.impl, "target": self.target, "scope": self.scope, "sets": self.sets}
        head = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in fields.items())
        return f'{{\n{head} "about": {json.dumps(self.about)},\n "steps": [\n{rows}\n ]\n}}\n'


def read(file: str) -> Schedule:
    """The schedule in a file.  Raises KV011 for what is none."""
    try:
        raw = File(file).read_bytes()[: MAX_BYTES + 1]
        found = json.loads(raw)
    except OSError as problem:
        _refuse(file, (problem.strerror or "it cannot be read").lower(), code="KV010")
    except (ValueError, RecursionError):
        _refuse(file, "it is no JSON")
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        _refuse(file, f"it does not say that it is a {SCHEMA}")
    texts = [found.get(key) for key in ("impl", "target", "scope", "about")]
    sets, steps = found.get("sets"), found.get("steps")
    if not all(isinstance(text, str) for text in texts) or not isinstance(sets, dict) or not isinstance(steps, list):
        _refuse(file, "a field is missing, or is of another kind")
    impl, target, scope, about = map(str, texts)
    if not NAMED.fullmatch(target):
        # A file name would be run as a model.
        _refuse(file, "it names no model")
    return Schedule(impl, target, scope, sets, about, tuple(_step(file, step) for step in steps))


def _step(file: str, step: Any) -> Happening:
    action, args = (step.get("action"), step.get("args")) if isinstance(step, dict) else (None, None)
    if not isinstance(action, str) or not isinstance(args, dict):
        _refuse(file, "a step is no action with arguments")
    if not all(isinstance(value, (bool, int, str)) for value in args.values()):
        _refuse(file, f"an argument of {printable(action)[:40]} is neither a word nor a number")
    return Happening(action, tuple(args.items()))


def check(file: str, schedule: Schedule, knows: Callable[[Happening], bool]) -> None:
    """Raise KV011 for a schedule with steps that its model does not know."""
    for number, step in enumerate(schedule.steps, 1):
        if not knows(step):
            _refuse(file, f"step {number}, {printable(str(step))[:60]}, is none of {schedule.target}")


def _refuse(file: str, why: str, *, code: str = "KV011") -> NoReturn:
    raise KvError(
        code,
        f"{printable(file)} is no schedule: {why}",
        reason="a schedule is a file that kvproto explore has written",
        cure=f"give the path of a *{SUFFIX} file",
    )
