"""`kvproto check --minimise` writes smaller runs, says what became smaller, and leaves verdicts as they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from kvproto.cli.check import check
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.shipped import ROOT
from kvproto.trace import codec
from kvproto.trace.analysis import NoReturn
from kvproto.trace.trace import Trace
from kvproto.whatif.noreturn import point_of_no_return

ARGS = ["outline@0.5.19", "--property", "reads_own_writes", "--property", "pages_conserved"]


def run(*options: str, folder: Path) -> tuple[int, str]:
    """The exit code and what is printed."""
    result = CliRunner().invoke(check, [*ARGS, "--trace-dir", str(folder), *options], standalone_mode=False)
    assert result.exception is None, result.output
    return result.return_value, result.output


def trace_in(folder: Path) -> Trace:
    """The trace that was written."""
    return codec.read(folder / f"outline-0.5.19-reads_own_writes{codec.SUFFIX}")


def test_the_trace_is_of_the_smaller_world(tmp_path: Path) -> None:
    """Its parameters say which; it can be analysed like any other."""
    run(folder=tmp_path / "plain")
    run("--minimise", folder=tmp_path / "small")
    plain, small = trace_in(tmp_path / "plain"), trace_in(tmp_path / "small")

    assert (plain.parameters["Req"], small.parameters["Req"]) == (2, 1)
    assert len(small.steps) == len(plain.steps)
    assert small.shortest and small.why
    assert small.analysis is not None and "Req 2 -> 1" in small.analysis.minimised[0]
    model = find("outline").model
    system = build(model, choose(model, preset=small.preset, scope=small.scope, sets=small.parameters))
    assert isinstance(point_of_no_return(system, replace(small, analysis=None)), NoReturn)


def test_it_is_told_and_the_verdicts_stay(tmp_path: Path) -> None:
    """Words of 80 columns at most, after the table of verdicts."""
    plain, _ = run(folder=tmp_path)
    code, output = run("--minimise", folder=tmp_path)

    assert plain == code == 1
    told = output[output.index("minimised  reads_own_writes") :].splitlines()
    assert any("Req 2 -> 1" in line for line in told)
    assert all(len(line) <= 80 for line in told)
    assert "holds     pages_conserved" in output


def test_the_documentation_shows_what_is_printed(tmp_path: Path) -> None:
    """The example of docs/explanation.md, word for word."""
    _, output = run("--minimise", folder=tmp_path)
    text = (ROOT / "docs" / "explanation.md").read_text(encoding="utf-8")

    shown = text.partition("reads_own_writes --minimise\n...\n")[2].partition("```")[0]

    assert len(shown.splitlines()) == 7
    assert shown in output


def test_json_goes_without_words(tmp_path: Path) -> None:
    """Standard output is one JSON value, and the length is that of the trace."""
    _, output = run("--minimise", "--json", "-", folder=tmp_path)

    found = {item["name"]: item for item in json.loads(output)["properties"]}
    assert found["reads_own_writes"]["length"] == len(trace_in(tmp_path).steps)


def test_the_bytes_do_not_depend_on_workers_or_tier(tmp_path: Path) -> None:
    """The same inputs give the same trace."""
    run("--minimise", folder=tmp_path / "a")
    run("--minimise", "--workers", "2", "--tier", "bytecode", folder=tmp_path / "b")

    name = f"outline-0.5.19-reads_own_writes{codec.SUFFIX}"
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
