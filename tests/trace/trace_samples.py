"""Traces made by stepping the shipped models in plain Python under a wrapper that records what is touched."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from kvproto.shipped.models import kv_transfer, outline
from kvproto.shipped.models.outline import decode, network, prefill, router

from kvproto.explain import why
from kvproto.lang import Array, Opt, Record, Set, Sort
from kvproto.lang.binding import Binding, use
from kvproto.lang.model import MARK, ActionMark
from kvproto.lang.native import Cells, Members, domain, field_types
from kvproto.trace import codec
from kvproto.trace.trace import FlightView, PoolView, Step, Trace, Vocabulary
from kvproto.view.terminal import render_trace

A, B, C = 0, 1, 2
Call = tuple[Any, ...]


def label(kind: Any, value: Any) -> Any:
    """A native value as it stands in a trace."""
    match kind:
        case Opt():
            return None if value is None else label(kind.inner, value)
        case Set():
            return [label(kind.element, v) for v in domain(kind.element) if v in value]
        case Sort():
            return kind.label(value) if kind.labels else value
        case _:
            return value.name if isinstance(value, Enum) else value


def flatten(kind: Any, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every variable below `value` by path."""
    if isinstance(value, Record):
        for name, inner in field_types(type(value)).items():
            yield from flatten(inner, getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, Cells):
        for key in domain(kind.index):
            yield from flatten(kind.element, value[key], f"{path}[{label(kind.index, key)}]")
    else:
        yield path, label(kind, value)


class Spy:
    """Stands for a record, an array or a set of the state and notes what is touched."""

    def __init__(
        self, target: Any, kind: Any, path: str, log: tuple[dict[str, None], dict[str, None]]
    ) -> None:
        self.__dict__.update(_target=target, _kind=kind, _path=path, _log=log)

    def _down(self, kind: Any, value: Any, path: str) -> Any:
        if isinstance(value, (Record, Cells, Members)):
            return Spy(value, kind, path, self._log)
        self._log[0][path] = None
        return value

    def _write(self, kind: Any, path: str) -> None:
        assert not isinstance(kind, Array)
        self._log[1][path] = None

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}.{name}" if self._path else name
        return self._down(field_types(type(self._target))[name], getattr(self._target, name), path)

    def __setattr__(self, name: str, value: Any) -> None:
        self._write(field_types(type(self._target))[name], f"{self._path}.{name}" if self._path else name)
        setattr(self._target, name, value)

    def _key(self, key: Any) -> str:
        return f"{self._path}[{label(self._kind.index, key)}]"

    def __getitem__(self, key: Any) -> Any:
        return self._down(self._kind.element, self._target[key], self._key(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._write(self._kind.element, self._key(key))
        self._target[key] = value

    def _read_set(self) -> Any:
        self._log[0][self._path] = None
        return self._target

    def __contains__(self, item: Any) -> bool:
        return item in self._read_set()

    def __len__(self) -> int:
        return len(self._read_set())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read_set())

    def discard(self, item: Any) -> None:
        self._read_set().discard(item)
        self._log[1][self._path] = None


def record(fn: Callable[..., None], state: Record, args: Sequence[Any]) -> tuple[Record, Step]:
    """The state after an action that must be enabled, and the step."""
    after = copy.deepcopy(state)
    log: tuple[dict[str, None], dict[str, None]] = ({}, {})
    fn(Spy(after, type(after), "", log), *args)
    mark: ActionMark = getattr(fn, MARK)
    names = fn.__code__.co_varnames[1 : fn.__code__.co_argcount]
    labels = {n: label(fn_types(fn)[n], v) for n, v in zip(names, args, strict=True)}
    before = dict(flatten(type(state), state, ""))
    delta = {p: (before[p], v) for p, v in flatten(type(after), after, "") if v != before[p]}
    assert set(delta) <= set(log[1])
    text = " ".join((fn.__doc__ or "").split()).format(**labels)
    module = fn.__module__.removeprefix("kvproto.shipped.models.").replace(".", "/")
    loc = f"{module}.py:{fn.__code__.co_firstlineno}"
    return after, Step(fn.__name__, labels, mark.machine.name, loc, text, tuple(log[0]), tuple(log[1]), delta)


def fn_types(fn: Callable[..., None]) -> dict[str, Any]:
    """Types of an action's parameters."""
    return {name: eval(text, fn.__globals__) for name, text in fn.__annotations__.items()}


def vocabulary(model: Any) -> Vocabulary:
    """The views of a model under the binding in force."""
    lanes = dict.fromkeys(mark.machine.name for _, mark in model.marked(ActionMark))
    pools = tuple(
        PoolView(p.name, tuple(str(label(p.page, x)) for x in p.page), p.owner, p.content)
        for p in model.pools
    )
    flights = tuple(
        FlightView(
            tuple(outline.Req.label(r) for r in outline.Req),
            _template(f.field),
            _template(f.target) + "[{k}]" if f.target else "",
            _template(f.source) + "[{k}]" if f.source else "",
        )
        for f in model.flights
    )
    return Vocabulary(tuple(lanes), pools, flights)


def _template(dotted: str) -> str:
    head, _, rest = dotted.partition(".")
    return f"{head}[{{r}}]" + (f".{rest}" if rest else "")


WORLDS = {
    "small": {"Req": 2, "Slot": 2, "PPage": 2, "DPage": 3, "short_prompt": 1, "prefill_pool": 1},
    "medium": {"Req": 3, "Slot": 2, "PPage": 3, "DPage": 3, "short_prompt": 1, "prefill_pool": 1},
}


def build(
    model: Any,
    preset: str,
    scope: str,
    calls: Sequence[Call],
    *,
    property: str,  # noqa: A002 - named as in traces
    claim: str,
    blame: Sequence[str],
    **switches: Any,
) -> Trace:
    """The trace of these calls, every one of which must be enabled."""
    # Small worlds of their own: the samples do not move when the model's scopes do.
    world = WORLDS.get(scope) or next(s.values for s in model.scopes if s.name == scope)
    values: Mapping[str, Any] = {**world, **switches}
    sizes = {k: v for k, v in values.items() if k[0].isupper()}
    defaults = {k: p.default for k, p in model.params.parameters().items()}
    with use(Binding(sizes, values)):
        state = model.state()
        init = dict(flatten(model.state, state, ""))
        steps = []
        for fn, *args in calls:
            state, step = record(fn, state, args)
            steps.append(step)
        return Trace(
            model.name,
            preset,
            scope,
            {**sizes, **defaults, **{k: v for k, v in values.items() if k in defaults}},
            property,
            claim,
            "violated",
            "0123456789abcdef",
            init,
            tuple(steps),
            blame=tuple(blame),
            vocabulary=vocabulary(model),
        )


def full_run(r: int, lands: int, *, long: bool) -> list[Call]:
    """A request from its submission to decode's read, all its writes landing in order."""
    return [
        (router.submit, r, long),
        (decode.prealloc, r),
        (prefill.admit, r),
        (prefill.forward, r),
        (prefill.post, r),
        *((network.land, r, k) for k in range(lands)),
        (prefill.complete, r),
        (decode.commit, r),
        (decode.attend, r),
    ]


FOREIGN = "no request reads what another request wrote"
OWN = "no page is read before its own request has written it"


def incident(**switches: Any) -> Trace:
    """The incident in its own proportions: prefill rejects B, decode never hears, and reads A's pages."""
    return build(
        outline.model,
        "incident",
        "incident",
        [*full_run(A, 3, long=False), (decode.finish, A), *full_run(B, 1, long=True)],
        property="reads_no_foreign_data",
        claim=FOREIGN,
        blame=["req[B].saw_foreign"],
        **switches,
    )


def incident_rejected() -> Trace:
    """The same run, one step on: the client of a rejected request gets HTTP 200."""
    return build(
        outline.model,
        "incident",
        "incident",
        [*full_run(A, 3, long=False), (decode.finish, A), *full_run(B, 1, long=True), (decode.finish, B)],
        property="rejected_never_succeeds",
        claim="a request that prefill rejected is never answered with success",
        blame=["req[B].placeholder", "req[B].client"],
    )


def aborted(r: int, *, long: bool) -> list[Call]:
    """A request whose client leaves while its writes are in flight, and whose pages decode frees."""
    return [*full_run(r, 0, long=long)[:5], (router.disconnect, r), (decode.abort_on_decode, r)]


def late_write() -> Trace:
    """Two requests, small scope: A's posted write lands in a page that B has got."""
    return build(
        outline.model,
        "0.5.19",
        "small",
        [*aborted(A, long=False), (router.submit, B, False), (decode.prealloc, B), (network.land, A, 0)],
        property="writes_land_in_own_pages",
        claim="no write lands in a page that its request does not own",
        blame=["stray"],
    )


def late_read() -> Trace:
    """Three requests: A's late write replaces B's KV in decode page 0, and B reads it; C is under way."""
    return build(
        outline.model,
        "0.5.19",
        "medium",
        [
            *aborted(A, long=False),
            (router.submit, C, True),
            (router.submit, B, False),
            (decode.prealloc, B),
            (prefill.admit, B),
            (prefill.forward, B),
            (prefill.post, B),
            (network.land, B, 0),
            (network.land, A, 0),
            (prefill.complete, B),
            (decode.commit, B),
            (decode.prealloc, C),
            (decode.attend, B),
        ],
        property="reads_no_foreign_data",
        claim=FOREIGN,
        blame=["req[B].saw_foreign"],
        prefill_pool=2,
    )


def reused_source() -> Trace:
    """A's own write carries B's bytes: prefill gave A's source page to B while the write was under way."""
    return build(
        outline.model,
        "0.5.19",
        "small",
        [
            *full_run(A, 0, long=False)[:5],
            (router.submit, B, False),
            (decode.prealloc, B),
            (prefill.admit, B),
            (router.disconnect, A),
            (prefill.abort_on_prefill, A),
            (prefill.forward, B),
            (network.land, A, 0),
            (prefill.drain, A),
            (decode.commit, A),
            (decode.attend, A),
        ],
        property="reads_no_foreign_data",
        claim=FOREIGN,
        blame=["req[A].saw_foreign"],
    )


def freed_under_write() -> Trace:
    """Decode frees a page while a write toward it is under way; nothing has landed yet."""
    return build(
        outline.model,
        "0.5.19",
        "small",
        aborted(A, long=True),
        property="no_free_under_write",
        claim="no page is free while a write may land in it",
        blame=["d_owner[0]", "req[A].flying", "req[A].target[0]", "d_owner[1]", "req[A].target[1]"],
        prefill_pool=2,
    )


def benchmark_stale() -> Trace:
    """The benchmark model: B decodes from pages into which A's late write has landed."""
    k = kv_transfer
    return build(
        k.model,
        "vulnerable",
        "S",
        [
            (k.reserve, A),
            (k.start, A),
            (k.post, A),
            (k.abort, A),
            (k.reserve, B),
            (k.start, B),
            (k.post, B),
            (k.land, B, 0),
            (k.land, B, 1),
            (k.complete, B),
            (k.attend, B),
            (k.land, A, 1),
        ],
        property="own_data",
        claim="a decoding request owns only pages that it wrote last",
        blame=["phase[B]", "owner[1]", "mark[1]"],
        deferred_release=False,
    )


def plain() -> Trace:
    """A model without pools and flights: two processes and a lock that the second one ignores."""
    init: dict[str, Any] = {"lock": None, "at[A]": "OUT", "at[B]": "OUT"}
    take = Step(
        "take",
        {"p": "A"},
        "A",
        "mutex.py:10",
        "Process A takes the lock.",
        ("lock",),
        ("lock", "at[A]"),
        {"lock": (None, "A"), "at[A]": ("OUT", "IN")},
    )
    barge = Step(
        "barge",
        {"p": "B"},
        "B",
        "mutex.py:20",
        "Process B enters without looking.",
        ("at[B]",),
        ("at[B]",),
        {"at[B]": ("OUT", "IN")},
    )
    return Trace(
        "mutex",
        "broken",
        "2",
        {"Proc": 2},
        "exclusive",
        "at most one process is inside",
        "violated",
        "feed",
        init,
        (take, barge),
        blame=("at[A]", "at[B]"),
        vocabulary=Vocabulary(lanes=("A", "B")),
    )


SAMPLES: dict[str, Callable[[], Trace]] = {
    "incident": incident,
    "incident_rejected": incident_rejected,
    "late_write": late_write,
    "late_read": late_read,
    "reused_source": reused_source,
    "freed_under_write": freed_under_write,
    "benchmark_stale": benchmark_stale,
    "plain": plain,
}

HERE = Path(__file__).parent
STORED = HERE / "data"


def stored(name: str) -> Trace:
    """A sample as it lies in the repository, so that golden texts do not depend on today's models."""
    return codec.loads((STORED / f"{name}.trace.json").read_text("utf-8"), name=name)


def golden(name: str, kind: str) -> Path:
    """The file with the expected text of a stored sample."""
    return HERE.parent / ("explain" if kind == "why" else "view") / "golden" / f"{name}.{kind}.txt"


def expected_texts(trace: Trace) -> dict[str, str]:
    """What is compared with golden files, by kind."""
    return {"why": "\n".join(why(trace)) + "\n", "terminal": render_trace(trace)}


def refresh() -> None:
    """Write the stored samples and the golden texts anew: `python tests/trace/trace_samples.py`."""
    for name, make in SAMPLES.items():
        trace = make()
        STORED.mkdir(exist_ok=True)
        (STORED / f"{name}.trace.json").write_text(codec.dumps(trace), "utf-8")
        for kind, text in expected_texts(trace).items():
            golden(name, kind).parent.mkdir(exist_ok=True)
            golden(name, kind).write_text(text, "utf-8")


if __name__ == "__main__":
    refresh()
