"""`kvproto bench`: structure, and that everybody counts the same.  No test says how fast anything is."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from kvproto.bench.measure import Cost, measure
from kvproto.bench.plan import SIZES, SPIN, Way, kvproto_ways
from kvproto.bench.report import Report, as_json, as_markdown
from kvproto.bench.rounds import Line, ratio
from kvproto.bench.runs import Sample
from kvproto.cli.main import main
from kvproto.export import spin

SMALL = SIZES["S"]


def sample(cpu: float, states: int = SMALL.states) -> Sample:
    return Sample(Cost(cpu + 0.5, cpu, 50 << 20, 0, ""), states, 108_459, cpu, 33.0)


def line(way: Way, *cpu: float, start: float | None = None) -> Line:
    starts = [] if start is None else [start] * len(cpu)
    return Line(way, SMALL, [sample(c) for c in cpu], starts)


def test_a_command_with_its_children(tmp_path: Path) -> None:
    """CPU time of a grandchild counts, and so does its exit code; the environment is the one given."""
    burn = "x = 0\nfor i in range(3000000): x += i\n"
    script = (
        "import os, subprocess, sys; print(os.environ['WHO']); "
        f"sys.exit(subprocess.call([sys.executable, '-c', {burn!r}]) + 7)"
    )
    cost = measure([sys.executable, "-c", script], tmp_path, {"WHO": "me", "PATH": os.environ["PATH"]})

    assert ("me", 7) == (cost.output.strip(), cost.code)
    assert cost.cpu > 0.02
    assert cost.peak > 1 << 20


def test_ratios() -> None:
    base, *_ = SPIN
    ours, *_, symmetric = kvproto_ways(2)
    lines = [line(base, 4.0, 6.0, 5.0), line(ours, 2.0, 2.0, 2.0, start=1.0), line(symmetric, 1.0, 1.0, 1.0)]

    assert 2.5 == ratio(lines[1], lines, whole=True)
    assert 5.0 == ratio(lines[1], lines, whole=False)
    assert ratio(lines[2], lines, whole=True) is None
    assert ratio(lines[1], lines[1:], whole=True) is None
    assert ratio(line(ours, 2.0, 2.0, 2.0, start=1.9), lines, whole=False) is None


def test_wrong_counts_are_shown() -> None:
    wrong = Line(SPIN[0], SMALL, [sample(1.0, states=25_501)])
    report = Report({}, "0", "0", "", [wrong], [], [])

    assert not report.right
    assert "25,501 (should be 25,502)" in as_markdown(report)


def test_missing_spin_is_named() -> None:
    report = Report({}, "0", "0", f"spin not found; {spin.INSTALL}", [line(kvproto_ways(2)[0], 1.0)], [], [])

    assert "apt-get install -y spin" in as_markdown(report)
    assert "spin not found" in str(as_json(report)["missing"])


def test_sizes_are_those_of_the_model() -> None:
    from kvproto.lang.load import find

    scopes = {scope.name: scope.values for scope in find("kv_transfer").model.scopes}
    for size in SIZES.values():
        values = scopes[size.name]
        assert (size.requests, size.pages, size.each) == (values["Req"], values["Page"], values["pages_per_request"])


@pytest.mark.slow
def test_a_real_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every way at S; SPIN where it is installed."""
    file = tmp_path / "bench.json"

    assert main(["bench", "--size", "S", "--rounds", "1", "--json", str(file)]) == 0
    text = capfd.readouterr().out
    result = json.loads(file.read_text(encoding="utf-8"))
    searches = {row["way"]: row for row in result["searches"]}
    expected = {way.key for way in (*(() if spin.missing() else SPIN), *kvproto_ways(2))}

    assert "kvproto.bench/1" == result["schema"]
    assert expected == set(searches)
    for way, row in searches.items():
        assert row["right"] is True
        assert row["states"] == (SMALL.classes if way == "symmetry" else SMALL.states)
        assert 1 == row["rounds"] == len(row["samples"])
        assert row["cpu"] > 0
        assert row["peak_bytes"] > 0
        if way != "symmetry":
            assert 108_459 == row["transitions"]
            assert (row["ratio"] is None) == bool(spin.missing())
    lengths = {row["what"]: row["steps"] for row in result["starts"] if "counterexample" in row["what"]}
    assert {6} == set(lengths.values())
    assert [] == result["heavy_modules_imported"]
    assert "### S: 3 requests, 6 pages, 2 each" in text
    for secret in (str(Path.home()), str(Path.cwd()), socket.gethostname()):
        assert secret not in text + file.read_text(encoding="utf-8")


def test_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--way", "warp"]) == 2
    assert "there is no way to search called 'warp'" in capfd.readouterr().err
    assert main(["bench", "--size", "XXL"]) == 2
