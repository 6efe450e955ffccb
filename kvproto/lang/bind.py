"""From names on the command line to a binding: presets, scopes, `--set`, and their errors."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn, TypeVar

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.lang.amounts import Computed
from kvproto.lang.binding import Binding, Choice, Flag, Number, Parameter, use
from kvproto.lang.model import InitMark, Model, Preset, Scope
from kvproto.lang.native import Record, field_types
from kvproto.lang.sorts import Array, Bag, Int, Opt, Queue, Set, Sort

Named = TypeVar("Named", Preset, Scope)

MAX_SORT = 4096


@dataclass(frozen=True, slots=True)
class Chosen:
    """A binding with the names it was made from."""

    preset: str
    scope: str
    binding: Binding


def sorts_of(model: Model) -> dict[str, Sort]:
    """Every sort that the state and the parameters of actions and init functions mention, by name."""
    found: dict[str, Sort] = {}
    seen: set[int] = set()

    def visit(kind: Any) -> None:
        if id(kind) in seen:
            return
        seen.add(id(kind))
        match kind:
            case Sort():
                found.setdefault(kind.name, kind)
            case Opt():
                visit(kind.inner)
            case Set():
                visit(kind.element)
            case Bag() | Queue():
                visit(kind.element)
                visit(kind.most if isinstance(kind, Bag) else kind.size)
            case Array():
                visit(kind.index)
                visit(kind.element)
            case type() if issubclass(kind, Record):
                for inner in _fields(kind).values():
                    visit(inner)
            case Computed():
                visit(kind.left)
                visit(kind.right)
            case Int():
                visit(kind.lo)
                visit(kind.hi)

    visit(model.state)
    for module in {fn.__module__: fn.__globals__ for fn, _ in model.marked(object)}.values():
        for value in module.values():
            if isinstance(value, Sort):
                visit(value)
    return found


def _fields(record: type[Record]) -> dict[str, Any]:
    """Field types for looking up sorts; a bound that needs sizes is no obstacle and broken ones fail later."""
    try:
        return field_types(record)
    except Exception:
        return {}


def choose(
    model: Model, *, preset: str | None = None, scope: str | None = None, sets: Mapping[str, Any] | None = None
) -> Chosen:
    """The binding that a preset, a scope and explicit settings give.

    Later wins: defaults of the declarations, the scope, the preset, `sets`.  Raises KV002 to KV006, KV016.
    """
    picked = _find(model.presets, preset, "KV002", f"preset of {model.name}") if preset else None
    if picked is None and model.presets:
        picked = model.presets[0]
    wanted = scope or _default_scope(model, picked)
    sized = _find(model.scopes, wanted, "KV003", f"scope of {model.name}") if wanted else None
    layers: list[tuple[str, Mapping[str, Any]]] = [(f"scope {sized.name}", sized.values)] if sized else []
    layers += [(f"preset {p.name}", p.values) for p in _chain(model, picked)]
    layers.append(("--set", sets or {}))
    sorts = sorts_of(model)
    parameters = model.params.parameters() if model.params else {}
    sizes = {name: sort.default_size for name, sort in sorts.items() if sort.default_size is not None}
    values = {name: p.default for name, p in parameters.items()}
    for where, layer in layers:
        for name, value in layer.items():
            if name in sorts:
                sizes[name] = _size(name, value, where)
            elif name in parameters:
                values[name] = _parameter(parameters[name], value, where)
            else:
                _unknown(model, name, where, [*parameters, *sorts])
    _all_sized(model, sorts, sizes)
    return Chosen(picked.name if picked else "", sized.name if sized else "", Binding(sizes, values))


@contextmanager
def world(
    model: Model, *, preset: str | None = None, scope: str | None = None, **sets: Any
) -> Iterator[Any]:
    """A model in plain Python: sizes and parameters are in force inside the `with` block, which gets a first state.

    >>> from kvproto.lang import step
    >>> from kvproto.shipped.models import kv_transfer
    >>> with world(kv_transfer.model, preset="safe", scope="S") as s:
    ...     step(kv_transfer.reserve, s, 0).owner
    [0, 0, None, None, None, None]

    The state is the zero state, after the init function if there is exactly one and it takes no parameters; with other
    init functions call them with `step` as well.
    """
    chosen = choose(model, preset=preset, scope=scope, sets=sets)
    with use(chosen.binding):
        state: Any = model.state()
        inits = [fn for fn, _ in model.marked(InitMark)]
        if len(inits) == 1 and len(inspect.signature(inits[0]).parameters) == 1:
            inits[0](state)
        yield state


def _default_scope(model: Model, preset: Preset | None) -> str | None:
    for step in reversed(_chain(model, preset)):
        if step.scope:
            return step.scope
    return model.scopes[0].name if model.scopes else None


def _chain(model: Model, preset: Preset | None) -> list[Preset]:
    """The preset with its bases, outermost base first."""
    chain: list[Preset] = []
    while preset is not None and preset not in chain:
        chain.append(preset)
        base = preset.base
        preset = _find(model.presets, base, "KV002", f"preset of {model.name}") if base else None
    return chain[::-1]


def _find(items: Sequence[Named], name: str, code: str, what: str) -> Named:
    for item in items:
        if item.name == name:
            return item
    known = [item.name for item in items]
    raise KvError(
        code,
        f"{name!r} is no {what}{did_you_mean(name, known)}",
        reason=f"known: {', '.join(known) if known else 'none'}",
        cure="kvproto list shows what there is",
    )


def _unknown(model: Model, name: str, where: str, known: list[str]) -> NoReturn:
    raise KvError(
        "KV005",
        f"{model.name} has no parameter or sort {name!r} ({where}){did_you_mean(name, known)}",
        reason=f"known: {', '.join(known)}",
        cure="kvproto list shows parameters with their meaning",
    )


def _bad(name: str, value: object, where: str, wanted: str) -> NoReturn:
    raise KvError(
        "KV006",
        f"{name}={value} ({where}) is not {wanted}",
        reason="a parameter takes the values of its declaration only",
        cure=f"give {wanted}",
    )


def _size(name: str, value: Any, where: str) -> int:
    number = _int(value)
    if number is None or number > MAX_SORT:
        _bad(name, value, where, f"a size from 1 to {MAX_SORT}")
    if number < 1:
        raise KvError(
            "KV016",
            f"sort {name} has size {number} ({where})",
            reason="a sort without elements makes every claim over it true, which would look like success",
            cure="give it at least one element",
        )
    return number


def _int(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    text = str(value).strip()
    return int(text) if text.lstrip("-").isdecimal() and text.isascii() and len(text) < 12 else None


def _parameter(parameter: Parameter, value: Any, where: str) -> Any:
    match parameter:
        case Flag():
            words = dict.fromkeys(("true", "on", "1", "yes"), True) | dict.fromkeys(("false", "off", "0", "no"), False)
            found = value if isinstance(value, bool) else words.get(str(value).lower())
            return _bad(parameter.name, value, where, "on or off") if found is None else found
        case Number():
            number = _int(value)
            if number is None or not parameter.least <= number <= parameter.most:
                _bad(parameter.name, value, where, f"a number from {parameter.least} to {parameter.most}")
            return number
        case Choice():
            if isinstance(value, Enum):
                return value
            member = parameter.members.__members__.get(str(value))
            names = ", ".join(parameter.members.__members__)
            return member if member is not None else _bad(parameter.name, value, where, f"one of {names}")
        case _:
            raise AssertionError(parameter)


def _all_sized(model: Model, sorts: Mapping[str, Sort], sizes: Mapping[str, int]) -> None:
    for name in sorts:
        if name not in sizes:
            raise KvError(
                "KV141",
                f"sort {name} of {model.name} has no size",
                reason="a search needs finite sorts, and neither the sort nor the scope gives one",
                cure=f"write Sort({name!r}, size=2), put it into a Scope, or give --set {name}=2",
            )
