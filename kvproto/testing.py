"""Properties of a model as tests: `@kvproto.property_test("sglang@0.5.23", scope="small")`.

The decorator marks a function; the pytest plugin makes a test of it for every property.  Nothing heavy is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

MARK = "__kvproto_tested__"


@dataclass(frozen=True)
class Tested:
    """What a test function checks: a target as for `kvproto check`, or a model object, in a scope with settings."""

    target: str
    model: Any = None
    preset: str | None = None
    scope: str | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    properties: tuple[str, ...] = ()


def property_test(
    model: Any,
    *,
    preset: str | None = None,
    scope: str | None = None,
    properties: tuple[str, ...] | list[str] = (),
    **sets: Any,
) -> Callable[[F], F]:
    """Make a test of every property of `model` (or of those in `properties`).

    `model` is a target (`"sglang@0.5.23"`, `"my_model.py"`) or a `Model`; further keywords are parameters and sizes.
    The decorated function may take the fixture `kvproto_finding`, which is the verdict on the property, and assert
    more about it; its body may as well be `...`.
    """
    target = model if isinstance(model, str) else f"{model.name}{f'@{preset}' if preset else ''}"

    def mark(fn: F) -> F:
        found = None if isinstance(model, str) else model
        setattr(fn, MARK, Tested(target, found, preset, scope, dict(sets), tuple(properties)))
        return fn

    return mark
