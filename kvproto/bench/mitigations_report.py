"""Costs of mitigations as Markdown and as `kvproto.bench.mitigations/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kvproto.bench.mitigations import Table
from kvproto.bench.mitigations_ops import DIM, DTYPE, HEADS


@dataclass(frozen=True, slots=True)
class Report:
    """All that one run measured.  `device` is where the pages lay, in words."""

    device: str
    threads: int
    clock: str
    machine: Mapping[str, str]
    load_before: str
    load_after: str
    tables: Sequence[Table]

    @property
    def right(self) -> bool:
        """Whether every mitigation did what it is for."""
        return not any(table.wrong for table in self.tables)


def as_json(report: Report) -> dict[str, object]:
    """Everything, single measurements included."""
    return {
        "schema": "kvproto.bench.mitigations/1",
        "device": report.device,
        "threads": report.threads,
        "clock": report.clock,
        "machine": dict(report.machine),
        "load": {"before": report.load_before, "after": report.load_after},
        "layer": {"heads": HEADS, "dim": DIM, "dtype": DTYPE},
        "cases": [_case(table) for table in report.tables],
    }


def _case(table: Table) -> dict[str, object]:
    return {
        "page_size": table.case.page_size,
        "tokens": table.case.tokens,
        "pages": table.case.pages,
        "page_bytes": table.page_bytes,
        "wrong": list(table.wrong),
        "operations": [
            {
                "name": name,
                "beside": line.operation.beside,
                "seconds": line.seconds() if line.operation.plain else table.extra(name),
                "ratio": None if line.operation.plain else table.ratio(name),
                "bytes_per_second": table.bandwidth(name),
                "samples": line.samples,
            }
            for name, line in table.lines.items()
        ],
    }


def as_markdown(report: Report) -> str:
    """Tables for people; each says on what device it was measured."""
    rounds = len(next(iter(report.tables[0].lines.values())).samples)
    machine = ", ".join(report.machine[key] for key in ("processor", "system", "python"))
    head = (
        f"Device: **{report.device}**, threads of the CPU: {report.threads} (cores: {report.machine['cores']}). "
        f"{machine}. Load {report.load_before} before, {report.load_after} after. Clock: {report.clock}.\n\n"
        f"One layer, {HEADS} key and value heads of {DIM} in {DTYPE}, one request; medians of {rounds} rounds. What is "
        "said of a mitigation\nis what it adds to the plain operation of its ratio."
    )
    return "\n\n".join([head, *(_table(report.device, table) for table in report.tables)]) + "\n"


def _table(device: str, table: Table) -> str:
    case = table.case
    rows = [
        f"### Pages of {case.page_size} tokens ({table.page_bytes / 1024:.0f} KiB), sequence of {case.tokens} "
        f"({table.bytes / 2**20:.0f} MiB), on {device}",
        "",
        "| operation | us | GiB/s | ratio to | ratio |",
        "|---|---:|---:|---|---:|",
    ]
    for name, line in table.lines.items():
        plain = line.operation.plain
        seconds = line.seconds() if plain else table.extra(name)
        speed = table.bandwidth(name)
        cells = [
            f"**{name}**" if plain else name + (" (does not work here)" if name in table.wrong else ""),
            f"{seconds * 1e6:,.0f}" if abs(seconds) >= 1e-5 else f"{seconds * 1e6:.1f}",
            "" if speed is None else f"{speed / 2**30:.1f}",
            "" if plain else line.operation.beside,
            "" if plain else f"{table.ratio(name):.2f}",
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)
