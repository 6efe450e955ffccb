"""The folder of traces: what the file of a run is called, and which files tell of runs that are no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Counterexample, Finding, Result
from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.load import Target
from kvproto.lang.model import Model

if TYPE_CHECKING:
    # A search that finds nothing does without.
    from kvproto.trace.trace import Trace

UNTELLING = ("model", "__init__")
"""Files that may hold any model."""


def variant(target: Target, chosen: Chosen) -> str:
    """What a search has of its own beside model and preset, for the names of its traces; "" if it has nothing.

    `fixed-medium-Req=3`: a file whose name is not the model's, a scope that is not the preset's, then every setting
    that is not the scope's.
    """
    usual = choose(target.model, preset=target.preset)
    scoped = choose(target.model, preset=target.preset, scope=chosen.scope or None)
    parts = [_file(target.model)]
    parts += [chosen.scope] if chosen.scope != usual.scope else []
    for mine, theirs in (
        (chosen.binding.sizes, scoped.binding.sizes),
        (chosen.binding.values, scoped.binding.values),
    ):
        parts += [f"{name}={_shown(value)}" for name, value in mine.items() if value != _known(theirs, name)]
    return "-".join(part for part in parts if part)


def _file(model: Model) -> str:
    """The name of the model's file where it tells models of one name apart: `old.py` and `new.py`."""
    stem = Path(model.source).stem
    return "" if stem in (model.name.rpartition(".")[2], *UNTELLING) else stem


def _known(values: Mapping[str, Any], name: str) -> Any:
    return values.get(name, _known)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return value.name if isinstance(value, Enum) else str(value)


def trace_of(system: System, result: Result, finding: Finding, found: Counterexample) -> Trace:
    """The trace of a run that a search has found, told, and with what the search knows about it.

    No run is shorter, unless the search left some out, or there was none for it, or the run goes on for ever.
    """
    shortest = found.loop is None and not (result.por or result.lossy or finding.kept)
    return replace(told(system, found), strength=finding.strength, shortest=shortest)


def told(system: System, found: Counterexample) -> Trace:
    """The trace of a run with its explanation, before anybody has said how it was found."""
    from kvproto.explain.why import with_why
    from kvproto.trace.build import build_trace

    return with_why(system, found, build_trace(system, found))


@dataclass
class TraceFolder:
    """The traces of one system under one binding."""

    folder: Path
    system: System
    variant: str
    written: dict[str, str] = field(default_factory=dict)
    """Property -> file, of all that were written."""

    def path(self, name: str) -> Path:
        """Where the trace of a property lies, if there is one."""
        from kvproto.trace import codec

        return self.folder / codec.name_of(self.system.model, self.system.preset, self.variant, name)

    def keep(self, result: Result) -> list[Path]:
        """Write a trace for each run that was found.  Gives the traces it removed, whose runs are no more."""
        stale = []
        for finding in result.findings:
            found = finding.counterexample or finding.witness
            if found is not None:
                self.written[finding.claim.name] = str(self._write(result, finding, found))
            elif _certain(finding):
                stale += list(self._forget(finding.claim.name))
        return stale

    def _write(self, result: Result, finding: Finding, found: Counterexample) -> Path:
        # Imported where it is wanted: a search that finds nothing does without.
        from kvproto.trace import codec

        return codec.write(trace_of(self.system, result, finding, found), self.folder, variant=self.variant)

    def _forget(self, name: str) -> Iterator[Path]:
        """Remove the trace that an earlier search has left, if it is one of this system."""
        from kvproto.trace import codec

        path = self.path(name)
        if not path.is_file():
            return
        try:
            trace = codec.read(path)
        except KvError:
            return  # no trace, so not ours to remove
        told = {step.loc.rpartition(":")[0] for step in trace.steps}
        ours = {action.loc.file for action in self.system.actions}
        same = (trace.model, trace.preset, trace.property) == (self.system.model, self.system.preset, name)
        # A model of the same name in another file keeps its traces.
        if same and (told & ours or not told):
            path.unlink(missing_ok=True)
            yield path


def _certain(finding: Finding) -> bool:
    """Whether the search has shown that there is no run, and did not just miss it."""
    return finding.verdict == "holds" or (finding.verdict == "violated" and finding.claim.kind == "sometimes")
