"""Single measurements: a search by kvproto, a search by SPIN."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from kvproto.bench.measure import Cost, measure
from kvproto.bench.plan import SAFE, Size, Way
from kvproto.export import spin
from kvproto.export.promela.model import Promela, export
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.shipped import ROOT


@dataclass(frozen=True, slots=True)
class Sample:
    """One search.  `seconds` is the search by the tool's own clock, `own_bytes` what it says a state takes."""

    cost: Cost
    states: int
    transitions: int
    seconds: float
    own_bytes: float


class Failed(Exception):
    """A command that is measured did not do what it is measured for."""


@dataclass(slots=True)
class Workshop:
    """A folder in which everything runs; nothing outside of it is read or written but programs."""

    folder: Path
    built: dict[tuple[str, str], Path] = field(default_factory=dict)

    def environment(self, cache: str = "warm") -> dict[str, str]:
        """The environment of a command, with a cache of that name and a home of its own."""
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
        return {**kept, "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / f"cache-{cache}"), "LC_ALL": "C"}

    def forget(self, cache: str) -> None:
        """Empty a cache."""
        shutil.rmtree(self.folder / f"cache-{cache}", ignore_errors=True)

    # --- kvproto --------------------------------------------------------------------------------------

    def check(self, target: str, *options: str, cache: str = "warm") -> tuple[Cost, dict[str, object]]:
        """`kvproto check`, and the result that it wrote."""
        result = self.folder / "result.json"
        result.unlink(missing_ok=True)
        command = [sys.executable, "-m", "kvproto", "check", target, "--quiet", "--json", str(result), *options]
        cost = measure([*command, "--trace-dir", str(self.folder / "traces")], self.folder, self.environment(cache))
        if not result.exists():
            raise Failed(f"kvproto check {target} {' '.join(options)} exits with {cost.code}:\n{cost.output}")
        return cost, json.loads(result.read_text(encoding="utf-8"))

    def search(self, way: Way, size: Size) -> Sample:
        """A whole search of the safe variant."""
        if way.tool == "spin":
            return self._spin(way, size)
        cost, result = self.check(SAFE, "--scope", size.name, *way.options)
        return Sample(
            cost,
            int(str(result["states"])),
            int(str(result["transitions"])),
            float(str(result["seconds"])),
            float(str(result["bytes_per_state"])),
        )

    def start(self, size: Size, *options: str, cache: str = "warm") -> Cost:
        """`kvproto check` up to the first state."""
        cost, _ = self.check(SAFE, "--scope", size.name, "--max-states", "1", *options, cache=cache)
        return cost

    # --- SPIN -----------------------------------------------------------------------------------------

    def _spin(self, way: Way, size: Size) -> Sample:
        pan = self.pan(way, size)
        cost = measure([str(pan), "-m10000", f"-w{size.table}", "-n"], pan.parent, self.environment())
        found = spin.read(cost.output)
        if not found.complete or found.errors:
            raise Failed(f"SPIN did not finish {size.name}:\n{cost.output}")
        extra = self._extra(way, size)
        memory = spin.memory(cost.output)
        return Sample(cost, found.states - extra, found.transitions - 1 - extra, cost.cpu, memory / found.states)

    def pan(self, way: Way, size: Size, *more: str) -> Path:
        """SPIN's program, compiled before anything is measured."""
        key = (f"{way.model}{''.join(more)}", size.name)
        if key not in self.built:
            folder = self.folder / f"pan-{'-'.join(key)}".replace("=", "")
            folder.mkdir(parents=True, exist_ok=True)
            model = self.model(way, size, folder)
            self.built[key] = spin.build(model, folder, way.options, [*size.defines, *more])
        return self.built[key]

    def model(self, way: Way, size: Size, folder: Path) -> Path:
        """The Promela text."""
        if way.model == "tuned":
            return tuned_model()
        path = folder / "exported.pml"
        path.write_text(self._exported(size).text, encoding="utf-8")
        return path

    def _exported(self, size: Size) -> Promela:
        target = find(SAFE)
        return export(build(target.model, choose(target.model, preset=target.preset, scope=size.name)))

    def _extra(self, way: Way, size: Size) -> int:
        return self._exported(size).extra if way.model == "exported" else 0


def tuned_model() -> Path:
    """The Promela model that is tuned by hand."""
    return Path(ROOT) / "benchmarks" / "kv_transfer.pml"
