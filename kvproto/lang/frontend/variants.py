"""One model under many bindings: a function whose translation has asked nothing that differs is not translated again.

A switch is asked for by few functions, so the systems of all single switches cost little more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import Action, Claim, Expr, Fairness, Init, System
from kvproto.ir.types import RecordT
from kvproto.lang.bind import Chosen
from kvproto.lang.binding import Binding, use
from kvproto.lang.frontend.build import Builder
from kvproto.lang.model import ActionMark, Model
from kvproto.lang.properties import ClaimMark

T = TypeVar("T")
Function = Callable[..., Any]


class _Asked(Mapping[str, Any]):
    """Values of parameters that note who was asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values_ = values
        self.names: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.names[name] = None
        return self.values_[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


@dataclass(frozen=True, slots=True)
class _Made:
    """A translation, what it asked of the binding and was told, and the assertions in it."""

    told: Mapping[str, Any]
    sizes: Mapping[str, int]
    state: RecordT
    found: Any
    asserts: Mapping[str, Claim]

    def fits(self, binding: Binding, state: RecordT) -> bool:
        """Whether the translation would be the same under this binding."""
        same = all(binding.values.get(name) == value for name, value in self.told.items())
        return same and self.sizes == binding.sizes and self.state == state


class Variants:
    """Systems of one model; actions, init functions and claims that are the same are the same objects."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.made: dict[tuple[Function, str], list[_Made]] = {}
        self.sources: dict[str, str] = {}
        """The text of every file that some function was read from."""

    def system(self, chosen: Chosen, only: Collection[str] | None = None) -> System:
        """What `build` gives; with `only` a system that has no other actions than these, and no fairness."""
        asked = _Asked(chosen.binding.values)
        watched = Chosen(chosen.preset, chosen.scope, Binding(chosen.binding.sizes, asked))
        with use(watched.binding):
            return _Builder(self, watched, asked, only).system()


class _Builder(Builder):
    """Looks up what was translated before."""

    def __init__(self, variants: Variants, chosen: Chosen, asked: _Asked, only: Collection[str] | None) -> None:
        super().__init__(variants.model, chosen)
        self.variants = variants
        self.only = only
        self.asked = asked
        self.sources = variants.sources

    def wanted(self) -> list[tuple[Function, ActionMark]]:
        """The actions to translate."""
        return [(fn, mark) for fn, mark in super().wanted() if self.only is None or fn.__name__ in self.only]

    def fairness(self, actions: Sequence[Action]) -> tuple[Fairness, ...]:
        """Fairness may speak of any action, so it needs all of them."""
        return super().fairness(actions) if self.only is None else ()

    def action(self, fn: Function, mark: ActionMark) -> Action:
        """An action."""
        return self._known(fn, "action", lambda: super(_Builder, self).action(fn, mark))

    def init(self, fn: Function) -> Init:
        """An init function."""
        return self._known(fn, "init", lambda: super(_Builder, self).init(fn))

    def claim(self, fn: Function, mark: ClaimMark) -> Claim:
        """A property."""
        return self._known(fn, "claim", lambda: super(_Builder, self).claim(fn, mark))

    def condition(self, fn: Function) -> tuple[Expr, Loc]:
        """A predicate of states."""
        return self._known(fn, "condition", lambda: super(_Builder, self).condition(fn))

    def _known(self, fn: Function, what: str, make: Callable[[], T]) -> T:
        known = self.variants.made.setdefault((fn, what), [])
        before = dict(self.asked.names)
        for made in known:
            if made.fits(self.chosen.binding, self.state):
                self.asserts |= made.asserts
                self.asked.names = before | dict.fromkeys(made.told)
                return made.found  # type: ignore[no-any-return]
        self.asked.names, asserted = {}, set(self.asserts)
        found = make()
        told = {name: self.asked.values_.get(name) for name in self.asked.names}
        # What encloses this (a claim with its condition) has asked for it as well.
        self.asked.names = before | self.asked.names
        asserts = {name: claim for name, claim in self.asserts.items() if name not in asserted}
        known.append(_Made(told, self.chosen.binding.sizes, self.state, found, asserts))
        return found
