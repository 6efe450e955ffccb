"""Properties of a model, and traces that were kept, as tests: `@kvproto.property_test("sglang@0.5.23", scope="small")`.

The decorators mark functions; the pytest plugin makes tests of them.  Nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

RUNNING: ContextVar[bool] = ContextVar("kvproto_plugin_runs_this_test", default=False)
"""Set by the plugin while it runs a test that it has judged."""

MARK = "__kvproto_tested__"
KEPT = "__kvproto_kept__"


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
        return _marked(fn, MARK, Tested(target, found, preset, scope, dict(sets), tuple(properties)))

    return mark


def _marked(fn: F, name: str, value: object) -> F:
    """The function with a mark; run without the plugin it fails, since nothing would have been checked."""

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not RUNNING.get():
            raise AssertionError("nothing was checked: the pytest plugin of kvproto is not loaded (-p _kvproto_pytest)")
        return fn(*args, **kwargs)

    setattr(run, name, value)
    return cast("F", run)


@dataclass(frozen=True)
class Kept:
    """What a test function takes again: traces that fit `pattern`, on the model of `target` or its own one."""

    pattern: str
    target: str | None
    still: str


def trace_test(
    pattern: str, *, model: str | None = None, still: Literal["violated", "refused", "holds"] = "violated"
) -> Callable[[F], F]:
    """Make a test of every trace file that fits `pattern` (a path with `*`, from the root of the test session).

    The steps are taken again by name on the model as it is now: the shipped one that the trace names, or the target
    `model`.  They must end as `still` says: "violated", a known bug is still there; "refused", the fix that the target
    is still stops them; "holds", they happen and do no harm.
    """
    if still not in ("violated", "refused", "holds"):
        raise TypeError(f'still is "violated", "refused" or "holds", not {still!r}')

    def mark(fn: F) -> F:
        return _marked(fn, KEPT, Kept(pattern, model, still))

    return mark
