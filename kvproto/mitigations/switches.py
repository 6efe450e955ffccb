"""What is asked: a model, what is fixed, and the switches of which sets are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.binding import Flag
from kvproto.lang.frontend.build import build
from kvproto.lang.load import Target, find
from kvproto.lang.model import Model
from kvproto.mitigations.lattice import members

Recipe = tuple[str, str | None, str | None, dict[str, Any], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Question:
    """Switches of a model, in order of declaration; all else is fixed by `preset`, `scope` and `fixed`.

    A set of switches is a bit mask: bit i stands for `switches[i]`.
    """

    target: str
    model: Model
    preset: str | None
    scope: str | None
    fixed: Mapping[str, Any]
    switches: tuple[str, ...]

    @property
    def everything(self) -> int:
        """The set of all switches."""
        return (1 << len(self.switches)) - 1

    def recipe(self) -> Recipe:
        """All but the model, for another process, which loads the model by itself."""
        return self.target, self.preset, self.scope, dict(self.fixed), self.switches

    @staticmethod
    def made(recipe: Recipe) -> Question:
        """The question again, from a recipe."""
        target, preset, scope, fixed, switches = recipe
        return Question(target, find(target).model, preset, scope, fixed, switches)

    def choice(self, chosen: int) -> Chosen:
        """The binding with exactly these switches on."""
        flags = {name: bool(chosen >> at & 1) for at, name in enumerate(self.switches)}
        return choose(self.model, preset=self.preset, scope=self.scope, sets={**self.fixed, **flags})

    def system(self, chosen: int) -> System:
        """The model with exactly these switches on."""
        return build(self.model, self.choice(chosen))

    def names(self, chosen: int) -> tuple[str, ...]:
        """The switches of a set by name."""
        return tuple(self.switches[at] for at in members(chosen))

    def mask(self, names: Sequence[str]) -> int:
        """A set of switches from names: `-NAME` takes NAME away from all of them.  Raises KV005."""
        if not any(name.startswith("-") for name in names):
            return sum(1 << self._place(name) for name in dict.fromkeys(names))
        return self.everything & ~sum(1 << self._place(name.removeprefix("-")) for name in dict.fromkeys(names))

    def _place(self, name: str) -> int:
        if name not in self.switches:
            raise KvError(
                "KV005",
                f"{name!r} is none of the switches that are tried{did_you_mean(name, self.switches)}",
                reason=f"they are: {', '.join(self.switches)}",
                cure="give some of these, or add it with --switches",
            )
        return self.switches.index(name)


def question(
    target: Target,
    *,
    scope: str | None = None,
    sets: Mapping[str, str] | None = None,
    switches: Sequence[str] = (),
    start: str | None = None,
    drop: bool = False,
) -> Question:
    """The question that the options ask.

    By default: what has to be added to the target, so the mitigations that are off there.  With `drop`: which of those
    that are on there are needed.  With `start`, a preset: which of those that are on in the target and off in `start`.
    `switches` names the switches instead.  Raises KV005, KV006, KV026, KV041 and what `choose` raises.
    """
    model, given = target.model, dict(sets or {})
    there = choose(model, preset=target.preset, scope=scope, sets=given)
    flags = {name: p for name, p in _parameters(model).items() if isinstance(p, Flag)}
    measures = [name for name, p in flags.items() if p.kind == "mitigation"]
    fixed: dict[str, Any] = dict(given)
    if switches:
        tried = _named(model, flags, switches, given)
    elif start is not None:
        before = choose(model, preset=start, scope=there.scope or None)
        tried = [n for n in measures if there.binding.values[n] and not before.binding.values[n]]
        fixed |= {n: before.binding.values[n] for n in measures}
    else:
        tried = [n for n in measures if bool(there.binding.values[n]) == drop]
    if not tried:
        raise _nothing(target, measures, start, drop)
    fixed = {name: value for name, value in fixed.items() if name not in tried}
    return Question(target.text, model, target.preset, there.scope or None, fixed, tuple(tried))


def _parameters(model: Model) -> dict[str, Any]:
    return dict(model.params.parameters()) if model.params else {}


def _named(model: Model, flags: Mapping[str, Flag], wanted: Sequence[str], given: Mapping[str, str]) -> list[str]:
    for name in wanted:
        if name not in flags:
            number = name in _parameters(model)
            raise KvError(
                "KV006" if number else "KV005",
                f"{name!r} is no switch of {model.name}{'' if number else did_you_mean(name, flags)}",
                reason=f"sets are made of what is on or off: {', '.join(flags) or 'there is nothing'}",
                cure=f"fix it with --set {name}=VALUE" if number else "kvproto list shows parameters and their meaning",
            )
        if name in given:
            raise KvError(
                "KV026",
                f"--set and --switches both speak of {name}",
                reason="one fixes it, the other tries it on and off",
                cure="leave out one of the two",
            )
    return [name for name in flags if name in wanted]


def _nothing(target: Target, measures: Sequence[str], start: str | None, drop: bool) -> KvError:
    if not measures:
        return KvError(
            "KV041",
            f"model {target.model.name} declares no mitigation",
            reason="which of its switches somebody could turn on is for the model to say",
            cure='declare one with flag(False, "...", kind="mitigation"), or name switches: --switches a,b',
        )
    where = f"on in {target.text} and off in {start}" if start else f"{'on' if drop else 'off'} in {target.text}"
    return KvError(
        "KV041",
        f"no mitigation is {where}",
        reason=f"mitigations of {target.model.name}: {', '.join(measures)}",
        cure="ask about what is off by default, about what is on with --drop, or name some with --switches",
    )
