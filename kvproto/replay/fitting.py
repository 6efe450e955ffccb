"""What a trace says, checked before an implementation gets to see it: sizes, switches, actions and arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvproto.diagnostics import did_you_mean
from kvproto.reference import prompts
from kvproto.replay.misfit import misfit, shown
from kvproto.trace.trace import Step

Argument = int | bool | str
Parameters = Mapping[str, bool | int | str]
Event = Callable[..., None]


def check_names(parameters: Parameters, known: Sequence[str]) -> None:
    """Refuse parameters that the implementation does not have, and missing ones."""
    for name in parameters:
        if name not in known:
            misfit(
                f"parameter {shown(name)} is not known",
                reason=f"the reference implementation has no such size or switch{did_you_mean(str(name)[:60], known)}",
            )
    for name in known:
        if name not in parameters:
            misfit(f"parameter {name} is missing", reason="a trace names all sizes and switches in force")


def size(name: str, value: object, most: int, *, least: int = 1) -> int:
    """A size that the implementation can bear."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        misfit(
            f"{name} is {shown(value)}",
            reason=f"the reference implementation takes a number from {least} to {most}",
            cure=f"use a scope with a smaller {name}",
        )
    return value


def switch(name: str, value: object) -> bool:
    """A switch."""
    if not isinstance(value, bool):
        misfit(f"{name} is {shown(value)}", reason="a switch is true or false", cure="write true or false")
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    """What an argument may be: `says` names it in messages, `read` gives the implementation's value or None."""

    says: str
    read: Callable[[object], Argument | None]


def request(count: int) -> Kind:
    """A request, which the implementation knows by its room."""
    labels = prompts.LABELS[:count]

    def read(value: object) -> int | None:
        fits = isinstance(value, str) and len(value) == 1 and value in labels
        return labels.index(str(value)) + 1 if fits else None

    return Kind(f"a request, {labels[0]} to {labels[-1]}", read)


def number(what: str, count: int) -> Kind:
    """A number below a count."""

    def read(value: object) -> int | None:
        return value if type(value) is int and 0 <= value < count else None

    return Kind(f"a {what} from 0 to {count - 1}", read)


def word(words: Iterable[str]) -> Kind:
    """One of a few names."""
    known = tuple(words)
    return Kind(
        f"one of {', '.join(known)}", lambda value: value if isinstance(value, str) and value in known else None
    )


FLAG = Kind("true or false", lambda value: value if isinstance(value, bool) else None)


def event(
    step: Step, actions: Mapping[str, tuple[tuple[str, ...], Event]], kinds: Mapping[str, Kind]
) -> tuple[list[Any], Event]:
    """The arguments of a step as the implementation takes them, and its event.

    `actions` has the names of the arguments of each action, `kinds` what they are: by `action.name`, or by name.
    """
    if not isinstance(step.action, str) or step.action not in actions:
        hint = did_you_mean(str(step.action)[:60], actions)
        misfit(f"action {shown(step.action)}", reason=f"the model has no such action{hint}")
    names, performed = actions[step.action]
    if set(step.args) != set(names):
        given = shown(list(step.args))
        misfit(f"action {step.action} with arguments {given}", reason=f"it takes {', '.join(names) or 'none'}")
    return [_argument(step, name, kinds.get(f"{step.action}.{name}") or kinds[name]) for name in names], performed


def _argument(step: Step, name: str, kind: Kind) -> Argument:
    value = kind.read(step.args[name])
    if value is None:
        misfit(
            f"action {step.action} with {name} = {shown(step.args[name])}",
            reason=f"{name} is {kind.says}",
        )
    return value
