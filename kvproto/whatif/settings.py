"""What could be set otherwise in a model: one switch, one choice, or all measures of a preset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kvproto.lang.bind import Chosen, choose
from kvproto.lang.binding import Binding, Choice, Flag, Parameter
from kvproto.lang.model import Model, Preset
from kvproto.trace.analysis import GuardKind


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters that get other values: `name` is that of the one parameter, or of the preset that they come from.

    `release` is the first later preset of the model that has all of them so.
    """

    name: str
    kind: GuardKind
    value: bool | int | str
    changes: Mapping[str, Any]
    about: str
    release: str = ""

    def chosen(self, before: Chosen) -> Chosen:
        """The binding with these values."""
        binding = before.binding
        return Chosen(before.preset, before.scope, Binding(binding.sizes, {**binding.values, **self.changes}))


def settings(model: Model, chosen: Chosen) -> list[Setting]:
    """Everything that could be tried instead of `chosen`.

    Measures that are off; for parameters of no kind, and choices, every other value that a preset of the model gives
    them; the environment with one freedom less; and every preset with other measures, in the world of `chosen`: its
    sizes and its environment.
    """
    parameters = dict(model.params.parameters()) if model.params else {}
    own = [*_measures(model, chosen, parameters), *_values(model, chosen, parameters)]
    return [*own, *_environment(chosen, parameters), *_presets(model, chosen, parameters)]


def _measures(model: Model, chosen: Chosen, parameters: Mapping[str, Parameter]) -> Iterator[Setting]:
    for name, parameter in parameters.items():
        off = isinstance(parameter, Flag) and parameter.kind == "mitigation" and not chosen.binding.values[name]
        if off:
            yield Setting(name, "switch", True, {name: True}, parameter.doc, _release(model, chosen, {name: True}))


def _values(model: Model, chosen: Chosen, parameters: Mapping[str, Parameter]) -> Iterator[Setting]:
    """Other values of what is neither a measure nor the environment, nor the size of a scope."""
    sizes = _sizes(model)
    for name, parameter in parameters.items():
        if (isinstance(parameter, Flag) and parameter.kind) or name in sizes:
            continue
        now = chosen.binding.values[name]
        others = [parameter.default, *(choose(model, preset=p.name).binding.values[name] for p in model.presets)]
        if isinstance(parameter, Choice):
            others += list(parameter.members)
        elif isinstance(parameter, Flag):
            others += [not now]
        for value in dict.fromkeys(others):
            if value != now:
                release = _release(model, chosen, {name: value})
                yield Setting(name, "switch", shown(value), {name: value}, parameter.doc, release)


def _sizes(model: Model) -> set[str]:
    """Parameters that belong to the size of the world: scopes set them, and presets do not."""
    presets = {name for preset in model.presets for name in preset.values}
    return {name for scope in model.scopes for name in scope.values} - presets


def _environment(chosen: Chosen, parameters: Mapping[str, Parameter]) -> Iterator[Setting]:
    """The world with one freedom less, or as it usually is."""
    for name, parameter in parameters.items():
        if isinstance(parameter, Flag) and parameter.kind == "environment":
            now = chosen.binding.values[name]
            if now or now != parameter.default:
                yield Setting(name, "environment", not now, {name: not now}, parameter.doc)


def _presets(model: Model, chosen: Chosen, parameters: Mapping[str, Parameter]) -> Iterator[Setting]:
    sizes = _sizes(model)
    seen: list[Mapping[str, Any]] = []
    for preset in model.presets:
        values = choose(model, preset=preset.name).binding.values
        changes = {
            name: values[name]
            for name, parameter in parameters.items()
            if not (isinstance(parameter, Flag) and parameter.kind == "environment") and name not in sizes
            if values[name] != chosen.binding.values[name]
        }
        if changes and changes not in seen and not _fewer(parameters, changes):
            seen.append(changes)
            yield Setting(preset.name, "preset", True, changes, preset.doc, preset.name)


def _fewer(parameters: Mapping[str, Parameter], changes: Mapping[str, Any]) -> bool:
    """Whether some measure is taken away: such a preset is no cure."""
    measures = {name for name, p in parameters.items() if isinstance(p, Flag) and p.kind == "mitigation"}
    return any(name in measures and value is False for name, value in changes.items())


def _release(model: Model, chosen: Chosen, changes: Mapping[str, Any]) -> str:
    """The first later preset that sets the parameters so, by itself or by what it is based on."""
    presets = {preset.name: preset for preset in model.presets}
    for name in _later(model, chosen.preset):
        said: set[str] = set()
        for part in _bases(presets, name):
            said |= presets[part].values.keys()
        values = choose(model, preset=name).binding.values
        if said >= changes.keys() and all(values[key] == value for key, value in changes.items()):
            return name
    return ""


def _bases(presets: Mapping[str, Preset], name: str) -> list[str]:
    """The preset and those that it is based on."""
    found: list[str] = []
    while name in presets and name not in found:
        found.append(name)
        name = presets[name].base or ""
    return found


def _later(model: Model, own: str) -> list[str]:
    """Presets after the trace's own, or after what that is based on: a variant of a release is as old as that."""
    presets = {preset.name: preset for preset in model.presets}
    names, bases = list(presets), _bases(presets, own)
    after = names.index(bases[-1]) + 1 if bases else 0
    return [name for name in names[after:] if name not in bases]


def shown(value: Any) -> bool | int | str:
    """The value of a parameter as traces write it."""
    return value if isinstance(value, bool | int | str) else str(value.name)
