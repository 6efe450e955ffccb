"""Pages made as a user makes them: trace files, then `kvproto view`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kvproto.cli.main import main
from kvproto.trace import codec
from kvproto.trace.trace import Trace


def written(traces: Sequence[Trace], folder: Path) -> Path:
    """The page of some traces, in the folder with their files."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"{number:03}.trace.json" for number in range(1, len(traces) + 1)]
    for file, trace in zip(files, traces, strict=True):
        file.write_text(codec.dumps(trace), "utf-8")
    page = folder / "page.html"
    assert main(["view", *map(str, files), "-o", str(page)]) == 0
    return page
