"""The graph of a model's states: what `kvproto export TARGET --to dot` writes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.ir.digest import digest
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import every_model, find
from kvproto.trace import codec
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace

MOST = 200
"""States: a larger picture is a tangle."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What a graph is asked to show."""

    trace: str | None
    most: int | None
    labels: str | None

    def given(self) -> Iterable[str]:
        """Options that are there."""
        named = {"--trace": self.trace, "--max-nodes": self.most, "--label": self.labels}
        return [option for option, value in named.items() if value]

    def of(self, trace: str) -> Picture:
        """The same for a trace that is exported itself.  Raises KV026 if there is another one."""
        if self.trace is not None:
            raise KvError(
                "KV026",
                "--trace does not go with a trace",
                reason="the graph is that of the trace's own model, with the trace in it",
                cure="name one of the two, or the model in place of the first",
            )
        return replace(self, trace=trace)


def state_graph(target: str | None, picture: Picture, system_of: Callable[[str], System]) -> tuple[str, str]:
    """The text of the graph, and what it leaves out ("" if nothing).

    Without a target the model is the shipped one that the trace names; with a trace it is bound as the trace says.
    Raises KV027 and KV028 where model and trace do not fit, KV038 where a package is missing.
    """
    from kvproto.whatif.runs import NoSuchRunError

    trace = codec.read(picture.trace) if picture.trace is not None else None
    if trace is not None:
        system = _bound(target, trace)
    else:
        assert target is not None
        system = system_of(target)
    labels = [name.strip() for name in (picture.labels or "").split(",") if name.strip()]
    try:
        from kvproto.formats.dot import dot
        from kvproto.formats.graph import drawn
    except ModuleNotFoundError as missing:
        raise _without(missing) from None
    try:
        found = drawn(system, most=picture.most or MOST, trace=trace)
    except NoSuchRunError as problem:
        assert trace is not None
        raise _other(trace, str(problem)) from None
    return dot(found, labels), found.left_out


def _without(missing: ModuleNotFoundError) -> Exception:
    package = (missing.name or "").partition(".")[0]
    if package not in ("networkx", "graphviz"):
        return missing
    return KvError(
        "KV038",
        f"a graph needs the package {package}, which is not installed",
        reason="graphs are an extra, so that everything else does without it",
        cure="pip install 'kvproto[graph]'",
    )


def _bound(target: str | None, trace: Trace) -> System:
    """The model that the trace is of, with its sizes and switches."""
    known = every_model()
    if target is None and trace.model not in known:
        raise KvError(
            "KV027",
            f"the trace is of model {_quoted(trace.model)}, which is not shipped{did_you_mean(trace.model, known)}",
            reason="a graph is made from the model, of which a trace has one run only",
            cure="name the model and the trace: kvproto export model.py --to dot --trace TRACE",
        )
    found = find(target or trace.model)
    if found.preset not in (None, trace.preset):
        raise _other(trace, f"its preset is {_quoted(trace.preset or 'none')}, and the target says {found.preset}")
    try:
        chosen = choose(found.model, preset=trace.preset or None, scope=trace.scope or None, sets=trace.parameters)
    except KvError as problem:
        raise _other(trace, problem.diagnostic.message) from None
    system = build(found.model, chosen)
    if digest(system) != trace.digest:
        raise _other(trace, "its digest is another one")
    return system


def _other(trace: Trace, why: str) -> KvError:
    return KvError(
        "KV028",
        f"the trace is not of this model: {printable(why)}",
        reason="a run can be marked only in the graph of the model that it is of",
        cure=f"record it again with kvproto check, or name its model, {_quoted(trace.model)}",
    )


def _quoted(word: str) -> str:
    return printable(shlex.quote(word))
