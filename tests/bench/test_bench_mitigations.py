"""`kvproto bench mitigations`: structure, and that what is measured does its work.  No test says how fast it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kvproto.bench import mitigations
from kvproto.bench.mitigations import Line, Table
from kvproto.bench.mitigations_ops import COPY, OPERATIONS, READ, Bench, Case
from kvproto.cli.main import main

SMALL = ("--page-size", "4", "--tokens", "10", "--rounds", "2", "--device", "cpu")
BY_NAME = {operation.name: operation for operation in OPERATIONS}

Kv = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kv(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Kv]:
    """Run the command line; threads and memory of this process stay as they are."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    monkeypatch.setattr(mitigations, "keep_memory", lambda: False)
    monkeypatch.setattr(mitigations, "LEAST", 1e-6)

    def run(*args: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["bench", *args])
        return code, *capfd.readouterr()

    yield run
    torch.set_num_threads(threads)


def table(**samples: list[float]) -> Table:
    """A table of made-up measurements, of 4 pages of 1024 bytes."""
    names = {"copy": COPY, "zero": "zero on release", "both": "zero on allocation", "sums": "checksum on both sides"}
    lines = {names[key]: Line(BY_NAME[names[key]], values) for key, values in samples.items()}
    return Table(Case(16, 64), 1024, lines, ())


def test_what_comes_beside_the_plain_operation_is_added_to_it() -> None:
    """Ratios are taken round by round, so that a busy moment is in both of its parts."""
    made = table(copy=[1.0, 10.0, 2.0], zero=[1.0, 10.0, 1.0])

    assert 1.0 == made.extra("zero on release")
    assert 2.0 == made.ratio("zero on release")
    assert 4096.0 == made.bandwidth("zero on release")
    assert 2048.0 == made.bandwidth(COPY)


def test_what_includes_the_plain_operation_is_more_by_the_rest() -> None:
    """An extra that is lost in the noise has no bandwidth."""
    made = table(copy=[1.0, 2.0, 4.0], both=[1.5, 3.0, 4.0])

    assert 0.5 == made.extra("zero on allocation")
    assert 1.5 == made.ratio("zero on allocation")
    assert 8192.0 == made.bandwidth("zero on allocation")
    assert table(copy=[1.0], both=[0.9]).bandwidth("zero on allocation") is None


def test_two_passes_are_twice_the_bytes() -> None:
    """A sum at the source and a sum at the target."""
    assert 8192.0 == table(copy=[1.0], sums=[1.0]).bandwidth("checksum on both sides")


def test_a_sequence_takes_whole_pages() -> None:
    """The last page is not full."""
    assert [1, 1, 2] == [Case(16, tokens).pages for tokens in (1, 16, 17)]


def test_the_table_and_its_json(kv: Kv, tmp_path: Path) -> None:
    """Every operation has a row, every table says where it was measured."""
    file = tmp_path / "costs.json"
    code, out, _ = kv("mitigations", *SMALL, "--page-size", "8", "--json", str(file))

    assert 0 == code
    written = json.loads(file.read_text())
    assert "kvproto.bench.mitigations/1" == written["schema"]
    assert written["device"].startswith("cpu: ")
    assert [(4, 3), (8, 2)] == [(case["page_size"], case["pages"]) for case in written["cases"]]
    for case in written["cases"]:
        assert list(BY_NAME) == [each["name"] for each in case["operations"]]
        assert [] == case["wrong"]
        assert all(len(each["samples"]) == 2 for each in case["operations"])
        assert [COPY, READ] == [each["name"] for each in case["operations"] if each["ratio"] is None]
    assert 2 == out.count(f"on {written['device']}\n")
    assert f"Device: **{written['device']}**, threads of the CPU: 1 " in out
    assert all(out.count(f"\n| {name} |") == 2 for name in BY_NAME if not BY_NAME[name].plain)


def test_tables_into_a_file(kv: Kv, tmp_path: Path) -> None:
    """Then nothing goes to standard output but the JSON that is asked for there."""
    file = tmp_path / "costs.md"
    code, out, _ = kv("mitigations", *SMALL, "--output", str(file), "--json", "-")

    assert (0, "kvproto.bench.mitigations/1") == (code, json.loads(out)["schema"])
    assert file.read_text().startswith("Device: **cpu: ")


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ("zero", "zero on release"),
        ("plant_canary", "canary planted and looked at"),
        ("write_tags", "tags checked by the read"),
    ],
)
def test_an_operation_that_does_nothing_is_no_finding(
    kv: Kv, monkeypatch: pytest.MonkeyPatch, operation: str, name: str
) -> None:
    """It would be fast.  The table says so, and the exit code."""
    monkeypatch.setattr(f"kvproto.reference.paged.operations.{operation}", lambda *_: None)
    code, out, _ = kv("mitigations", *SMALL)

    assert 1 == code
    assert f"| {name} (does not work here) |" in out


def test_a_sum_that_does_not_look_is_no_finding(kv: Kv, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sum for other pages."""
    monkeypatch.setattr("kvproto.reference.paged.operations.checksum", lambda *_: 5)
    code, out, _ = kv("mitigations", *SMALL)

    assert 1 == code
    assert "| checksum on both sides (does not work here) |" in out


@pytest.mark.parametrize(
    ("args", "refused", "by"),
    [
        (("mitigations", "--size", "S"), "--size", "bench mitigations"),
        (("mitigations", "--no-spin"), "--spin", "bench mitigations"),
        (("--tokens", "5"), "--tokens", "bench searches"),
        (("searches", "--device", "cpu"), "--device", "bench searches"),
    ],
)
def test_options_of_the_other_benchmark_are_refused(kv: Kv, args: tuple[str, ...], refused: str, by: str) -> None:
    """They would change nothing."""
    code, out, err = kv(*args)

    assert (2, "") == (code, out)
    assert err.startswith(f"error KV026  {refused} says nothing to kvproto {by}\n")


def test_a_card_that_is_not_there(kv: Kv, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to do."""
    monkeypatch.setattr("kvproto.reference.paged.libraries.has_cuda", lambda: False)
    code, _, err = kv("mitigations", *SMALL[:-1], "cuda")

    assert 2 == code
    assert err.startswith("error KV050  there is no CUDA device here\n")


def test_pytorch_that_is_not_there(tmp_path: Path) -> None:
    """The error names the extra."""
    (tmp_path / "torch.py").write_text("raise ImportError('no torch')\n", encoding="utf-8")
    command = [sys.executable, "-m", "kvproto", "bench", "mitigations"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env={"PYTHONPATH": str(tmp_path), "PATH": ""}
    )

    assert 2 == done.returncode
    assert done.stderr.startswith("error KV050  ")
    assert "kvproto[replay]" in done.stderr


def test_memory_is_kept_where_the_library_can_be_told() -> None:
    """In a process of its own: it stays told."""
    code = "from kvproto.bench.mitigations import keep_memory; print(keep_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout in ("True\n", "False\n")
    assert "True\n" == done.stdout or "linux" != sys.platform


def test_tables_are_taken_in_turn() -> None:
    """So what an operation touched is not what the next one finds in a cache."""
    pytest.importorskip("torch")
    bench = Bench(Case(4, 10), "cpu")

    assert [1, 2, 3, 0, 1] == [bench._next() for _ in range(5)]
    assert 12 == len({int(page) for table in bench._tables for page in table})


@pytest.mark.gpu
def test_the_costs_on_a_card(kv: Kv) -> None:
    """Skipped where there is none."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    code, out, _ = kv("mitigations", *SMALL[:-1], "cuda")

    assert 0 == code
    assert "Device: **cuda (" in out


def test_the_page_about_costs_names_what_is_measured() -> None:
    """Every measure has a row in its first table of figures, every operation one in the second."""
    text = (Path(__file__).parents[2] / "docs" / "cost.md").read_text(encoding="utf-8")
    ratios, _, times = text.partition("## What it costs")[2].partition("In time and bandwidth")

    def rows(part: str) -> list[str]:
        cells = [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("| ")]
        return cells[1:]

    assert [name for name in BY_NAME if not BY_NAME[name].plain] == rows(ratios)
    assert list(BY_NAME) == rows(times)


def test_two_results_do_not_go_into_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "costs")

    assert main(["bench", "mitigations", "--output", file, "--json", file]) == 2
    assert capsys.readouterr().err.startswith("error KV026  ")
