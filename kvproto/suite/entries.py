"""Entries of the suite: a preset of a model with what has to be found in it, and what people ask for them by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.lang.bind import choose
from kvproto.lang.load import building_blocks, find, patterns, shipped_models
from kvproto.lang.model import Model, Preset
from kvproto.lang.properties import ClaimMark
from kvproto.lang.reports import Report


@dataclass(frozen=True, slots=True)
class Entry:
    """A preset with its expectation: properties that break, with the length of the shortest run; all others hold.

    A length of None is one that is not fixed: that of a run without end.
    """

    model: str
    preset: str
    doc: str
    scope: str
    expected: Mapping[str, int | None]
    properties: tuple[str, ...]
    reports: tuple[Report, ...]

    @property
    def target(self) -> str:
        """What `kvproto check` calls it."""
        return f"{self.model}@{self.preset}"

    @property
    def words(self) -> str:
        """Everything that it can be asked for by, in small letters."""
        reported = [text for r in self.reports for text in (r.where, r.engine, r.mechanism.name, r.mechanism.value)]
        kind = "bug" if self.expected else "fixed"
        return " ".join([self.model, self.preset, kind, *self.expected, *self.properties, *reported]).lower()


def entries(models: Iterable[str] = ()) -> Iterator[Entry]:
    """Entries of the targets, by default of all models that ship; a target with a preset means that one.

    Models that are there to be proved are searched only where they are named: `kvproto prove` says more of them.  A
    model that expects nothing has no entries, and who names it is told so.  Raises KV047 for that, and for an
    expectation of a property that the model does not have; and what `find` raises.
    """
    for name in models or (*shipped_models(), *building_blocks(), *patterns()):
        target = find(name)
        model, at = target.model, name.removesuffix(f"@{target.preset}") if target.preset else name
        if target.preset is not None:
            choose(model, preset=target.preset)  # a misspelt one is refused, not passed over
        some = [p for p in model.presets if p.expect is not None and target.preset in (None, p.name)]
        if models and not some:
            raise KvError(
                "KV047",
                f"{name} does not say what has to be found in it",
                reason="the suite compares searches with what presets expect",
                cure='write it into a preset: Preset("fixed", "...", expect={})',
            )
        yield from (_entry(at, model, preset, preset.expect or {}) for preset in some)


def _entry(name: str, model: Model, preset: Preset, expected: Mapping[str, int | None]) -> Entry:
    claims = [fn.__name__ for fn, _ in model.marked(ClaimMark)]
    claims += ["no_deadlock"] if model.terminal is not None or model.deadlock else []
    for broken, length in expected.items():
        if broken not in claims:
            raise KvError(
                "KV047",
                f"preset {preset.name} of {model.name} expects {broken!r} to break, which is no property of it"
                f"{did_you_mean(broken, claims)}",
                reason=f"its properties are: {', '.join(claims) or 'none'}",
                cure="correct the name in expect={...}",
            )
        if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 0):
            raise KvError(
                "KV047",
                f"preset {preset.name} of {model.name} expects a run of {length!r} steps against {broken}",
                reason="a length is a number of steps, or None for a run without end",
                cure=f"write expect={{{broken!r}: 9}}",
            )
    scope = choose(model, preset=preset.name).scope
    return Entry(name, preset.name, preset.doc, scope, expected, tuple(claims), tuple(model.reports))
