"""Fairness groups: which action instances have to be fair together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kvproto.engine.evaluate import Args, choices
from kvproto.ir.nodes import Action, Fairness, System
from kvproto.ir.types import label

Instance = tuple[Action, Args]
"""An action with its arguments fixed."""


@dataclass(frozen=True, slots=True)
class Group:
    """Instances that are fair as one: `members` are their places in a list of instances, `key` their `per` values."""

    fairness: Fairness
    key: Args
    members: tuple[int, ...]
    name: str

    @property
    def strong(self) -> bool:
        """Strongly fair, else weakly."""
        return self.fairness.kind == "strong"


def all_instances(system: System) -> list[Instance]:
    """Every instance of every action, in order."""
    return [(action, args) for action in system.actions for args in choices(action.params)]


def groups(system: System, instances: Iterable[Instance]) -> tuple[Group, ...]:
    """The groups that have an instance, in the order of `System.fairness` and then of their instances."""
    numbered = list(enumerate(instances))
    return tuple(group for fairness in system.fairness for group in _groups_of(fairness, numbered))


def _groups_of(fairness: Fairness, instances: list[tuple[int, Instance]]) -> Iterator[Group]:
    found: dict[Args, list[int]] = {}
    shown: dict[Args, str] = {}
    for number, (action, args) in instances:
        if action.name in fairness.actions:
            # A record or an array is several parameters here, and `per` names each of those that are meant.
            at = [i for name in fairness.per for i, param in enumerate(action.params) if param.name == name]
            key = tuple(args[i] for i in at)
            found.setdefault(key, []).append(number)
            shown[key] = ", ".join(f"{action.params[i].name}={label(args[i], action.params[i].type)}" for i in at)
    for key, members in found.items():
        what = " or ".join(fairness.actions)
        yield Group(fairness, key, tuple(members), f"{what} ({shown[key]})" if shown[key] else what)
