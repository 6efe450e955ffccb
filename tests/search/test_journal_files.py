"""Journals as files: cut off, damaged, locked, on a full disk, left by a process that was killed."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from array import array
from pathlib import Path

import pytest
from small_models import COUNT, Make, benchmark, figures, has_c, searched

from kvproto.diagnostics import KvError
from kvproto.engine import checkpoint
from kvproto.engine.checkpoint import HEAD, MAGIC, Journal, check_place
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.nodes import System

pytestmark = pytest.mark.skipif(not has_c(), reason="journals are part of the C engine")

END = "@invariant('x')\ndef low(s):\n    return s.n < 9\n\n\n@action(m)\ndef end(s):\n    s.done = True\n"


@pytest.fixture
def counting(make: Make) -> System:
    """18 states."""
    return make(COUNT + END)


def journal(system: System, path: Path, *states: int) -> bytes:
    """A journal of several records, one for each limit."""
    begun = {"checkpoint": path}
    for limit in states:
        assert search(system, Options(max_states=limit, **begun)).stopped == "state limit"  # type: ignore[arg-type]
        begun = {"resume": path}
    return path.read_bytes()


def outcome(system: System, path: Path, data: bytes) -> object:
    """What resuming from the data gives: figures, or the message of KV025."""
    path.write_bytes(data)
    try:
        return searched(system, resume=path)
    except KvError as error:
        found = error.diagnostic
    assert found.code == "KV025"
    assert path.read_bytes() == data, "what is refused is left alone"
    return found.message


def records(data: bytes) -> list[int]:
    """Where the records begin, and where the last one ends."""
    at, found = data.index(b"\n", data.index(b"\n") + 1) + 1, []
    while at < len(data):
        found.append(at)
        magic, _, count, width, meta, _ = HEAD.unpack_from(data, at)
        assert magic == MAGIC
        at += HEAD.size + (4 + width) * count + 8 * meta
    assert at == len(data)
    return [*found, at]


# --- damage ---------------------------------------------------------------------------------------------


def test_cut_off_anywhere(counting: System, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    data = journal(counting, path, 4, 8, 12)
    marks = records(data)
    whole = searched(counting)

    assert len(marks) == 4
    near = {mark + more for mark in marks for more in range(-3, HEAD.size + 3)}
    for length in sorted({*range(0, len(data), 7), *near} & set(range(len(data) + 1))):
        found = outcome(counting, path, data[:length])
        if length >= marks[1]:
            assert found == whole, f"cut after {length} bytes"
        else:
            assert "holds no complete record" in str(found) or length < marks[0], f"cut after {length} bytes"


def test_any_byte_damaged(counting: System, tmp_path: Path) -> None:
    """A damaged record is noticed and those before it serve; never is there another result."""
    path = tmp_path / "journal"
    data = journal(counting, path, 4, 8, 12)
    marks = records(data)
    whole = searched(counting)

    for at in sorted({*range(0, len(data), 3), *(mark + more for mark in marks[:-1] for more in range(HEAD.size))}):
        damaged = bytearray(data)
        damaged[at] ^= 1 << random.Random(at).randrange(8)
        found = outcome(counting, path, bytes(damaged))
        refused = "cannot be used" in str(found)
        if at >= marks[0]:
            assert refused == (at < marks[1]), at
        assert refused or found == whole, at


def test_garbage_after_the_last_record_is_cut_off(counting: System, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    data = journal(counting, path, 4, 8)
    path.write_bytes(data + b"\0" * 999)
    search(counting, Options(resume=path, max_states=12))

    assert path.read_bytes().startswith(data)
    assert records(path.read_bytes())
    assert searched(counting) == searched(counting, resume=path)


def test_records_that_are_not_of_this_search(counting: System, tmp_path: Path) -> None:
    """Checksums are right, contents are not: links are executed, so they are found out."""
    path = tmp_path / "journal"
    data = journal(counting, path, 4, 8)
    first, second, end = records(data)

    def rewritten(at: int, **changed: int) -> bytes:
        head = dict(zip(("magic", "first", "count", "width", "meta"), HEAD.unpack_from(data, at)[:5], strict=True))
        head |= changed
        body = data[at + HEAD.size : second if at == first else end]
        check = checkpoint._check(tuple(head.values()), [body])
        return HEAD.pack(*head.values(), check) + body

    assert "a record is missing" in str(outcome(counting, path, data[:first] + data[second:]))
    assert "a record is missing" in str(outcome(counting, path, data[:second] + rewritten(second, first=30)))
    twice = data[:second] + data[first:second]
    assert "a record is missing" in str(outcome(counting, path, twice))
    links = bytearray(data)
    struct.pack_into("<I", links, second + HEAD.size, 0)  # a state that is not found from state 0
    body = bytes(links[second + HEAD.size : end])
    head = HEAD.unpack_from(data, second)[:5]
    forged = data[:second] + HEAD.pack(*head, checkpoint._check(head, [body])) + body
    assert "does not follow from its parent" in str(outcome(counting, path, forged))


@pytest.mark.parametrize(
    ("field", "number"),
    [(0, 1 << 40), (1, 1 << 40), (4, 1 << 40), (5, 0), (5, 1 << 40), (9, 1 << 40), (10, 0), (12, 1 << 40)],
)
def test_counters_that_name_what_is_not_there(counting: System, tmp_path: Path, field: int, number: int) -> None:
    """The engine would follow them out of its arrays: states, expanded, level, deadlock, roots, a violation."""
    path = tmp_path / "journal"
    data = journal(counting, path, 4, 8)
    last, end = records(data)[-2:]
    head = HEAD.unpack_from(data, last)[:5]
    meta = array("Q", data[end - 8 * head[4] : end])
    meta[field] = number
    body = data[last + HEAD.size : end - 8 * head[4]] + meta.tobytes()
    forged = data[:last] + HEAD.pack(*head, checkpoint._check(head, [body])) + body

    assert "the counters do not fit the states" in str(outcome(counting, path, forged))


@pytest.mark.parametrize("count", [1 << 20, 1 << 40, (1 << 64) - 1])
def test_lengths_that_no_file_has(counting: System, tmp_path: Path, count: int) -> None:
    """They are damage like any other, and nobody tries to read so much."""
    path = tmp_path / "journal"
    data = journal(counting, path, 4, 8)
    second = records(data)[1]
    for field in (2, 4):
        numbers = list(HEAD.unpack_from(data, second))
        numbers[field] = count
        changed = data[:second] + HEAD.pack(*numbers) + data[second + HEAD.size :]
        assert outcome(counting, path, changed) == searched(counting)


def test_long_records_come_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the last part has the counters; without it the others do not count."""
    path = tmp_path / "journal"
    short = journal(benchmark(), path, 50)
    monkeypatch.setattr(checkpoint, "AT_ONCE", 7)
    parts = journal(benchmark(), path, 50, 99)
    marks = records(parts)
    whole = searched(benchmark())

    assert len(marks) > 12
    assert len(parts) > len(short)
    for number, mark in enumerate(marks):
        found = outcome(benchmark(), path, parts[:mark])
        assert found == whole or ("holds no complete record" in str(found) and number < 9)
    path.write_bytes(parts[: marks[-2]])
    search(benchmark(), Options(resume=path, max_states=60))
    assert searched(benchmark()) == searched(benchmark(), resume=path)


# --- places -----------------------------------------------------------------------------------------------


def refused(path: Path, *, resuming: bool = False) -> str:
    with pytest.raises(KvError) as error:
        search(benchmark(), Options(resume=path) if resuming else Options(checkpoint=path))
    return error.value.diagnostic.message


def test_places_where_no_journal_can_be(tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text("# precious\n")

    assert "it is a folder" in refused(tmp_path)
    assert "it is there and is something else than a checkpoint" in refused(model)
    assert f"{model} is no folder" in refused(model / "journal")
    assert "a file name has no null character" in refused(Path("a\0b"))
    assert "it is no ordinary file" in refused(Path("/dev/null"))
    assert model.read_text() == "# precious\n"
    assert sorted(tmp_path.iterdir()) == [model]
    (tmp_path / "\x1b[2J").mkdir()
    assert "\\x1b[2J cannot be written" in refused(tmp_path / "\x1b[2J")


def test_places_where_there_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    os.mkfifo(tmp_path / "pipe")
    path.write_bytes(b"")

    assert "it is no kvproto.checkpoint/1 file" in refused(path, resuming=True)
    assert "it is a folder" in refused(tmp_path, resuming=True)
    assert "it is not there" in refused(tmp_path / "nothing", resuming=True)
    assert "it is no ordinary file" in refused(tmp_path / "pipe", resuming=True)
    assert "a\\x00b cannot be used: it is not there" in refused(Path("a\0b"), resuming=True)


def test_a_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "some" / "where" / "journal"
    assert search(benchmark(), Options(checkpoint=path, max_states=99)).checkpoint == path
    assert searched(benchmark()) == searched(benchmark(), resume=path)


def test_an_old_journal_stays_until_there_is_a_new_one(tmp_path: Path, counting: System) -> None:
    path = tmp_path / "journal"
    data = journal(counting, path, 8)
    assert search(benchmark(), Options(checkpoint=path)).complete is False  # decided, before anything was written
    assert path.read_bytes() == data

    search(benchmark(), Options(checkpoint=path, max_states=99))
    assert searched(benchmark()) == searched(benchmark(), resume=path)


def test_two_searches_do_not_share_a_journal(tmp_path: Path, counting: System) -> None:
    path = tmp_path / "journal"
    journal(counting, path, 4)
    with path.open("rb") as other:
        checkpoint.lock(other)
        assert "another search is writing it" in refused(path)
        with pytest.raises(KvError, match="another search is writing it"):
            search(counting, Options(resume=path))
    assert searched(counting) == searched(counting, resume=path)


def test_a_journal_that_appears_meanwhile_is_not_replaced(tmp_path: Path, counting: System) -> None:
    path = tmp_path / "journal"
    check_place(path)
    data = journal(counting, path, 4)
    late = Journal(path, "late")
    with path.open("rb") as other:
        checkpoint.lock(other)
        with pytest.raises(KvError, match="another search is writing it"):
            late.add(Nothing(), "x")
    assert path.read_bytes() == data
    assert list(tmp_path.glob(".*")) == []


class Nothing:
    """An explorer with one state."""

    def states(self) -> int:
        return 1

    def save(self, first: int, last: int) -> tuple[object, object]:
        from array import array

        return array("I", [0] * (last - first)), array("I", [0] * (last - first))

    def save_meta(self) -> object:
        from array import array

        return array("Q", [1])


# --- a full disk ------------------------------------------------------------------------------------------------


def test_a_disk_that_fills_up_ends_no_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, room = tmp_path / "journal", 2000
    put = checkpoint._put

    def short(file: object, data: bytes) -> None:
        nonlocal room
        put(file, bytes(data)[:room])  # type: ignore[arg-type]
        room -= len(data)
        if room < 0:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_put", short)
    every = {"checkpoint": path, "checkpoint_interval": 1e-9, "symmetry": False}
    whole = search(benchmark(), Options(**every, keep_going=True))  # type: ignore[arg-type]
    assert figures(whole) == searched(benchmark(), keep_going=True, symmetry=False)
    assert whole.checkpoint_problem == ""

    room = 2000
    stopped = search(benchmark(), Options(**every, max_states=3000))  # type: ignore[arg-type]
    assert stopped.stopped == "state limit"
    assert stopped.checkpoint == path
    assert stopped.checkpoint_problem == f"the checkpoint {path} cannot be written: no space left on device"
    monkeypatch.undo()
    assert records(path.read_bytes()), "nothing is left of the record that was not whole"
    assert searched(benchmark(), symmetry=False) == searched(benchmark(), symmetry=False, resume=path)


def test_no_room_from_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: object, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_put", full)
    result = search(benchmark(), Options(checkpoint=tmp_path / "journal", max_states=300))

    assert (result.stopped, result.checkpoint) == ("state limit", None)
    assert "no space left on device" in result.checkpoint_problem
    assert list(tmp_path.iterdir()) == []


# --- a process that is killed --------------------------------------------------------------------------------------


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "kvproto", "check", *args, "--json", "-", "--no-symmetry"]


def answer(*args: str, cwd: Path) -> dict[str, object]:
    done = subprocess.run(command(*args), cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    found: dict[str, object] = json.loads(done.stdout)
    varying = ("seconds", "cpu_seconds", "bytes_per_state", "compiled")
    return {key: value for key, value in found.items() if key not in varying}


def killed(path: Path, delay: float, *args: str) -> bool:
    """Kill a search some time after its journal appeared; whether it was still running."""
    journal = ("--checkpoint", path.name, "--checkpoint-interval", "0.05")
    child = subprocess.Popen(command(*args, *journal), cwd=path.parent, stdout=subprocess.DEVNULL)
    try:
        while not path.exists() and child.poll() is None:
            time.sleep(0.005)
        time.sleep(delay)
    finally:
        child.send_signal(signal.SIGKILL)
    return child.wait(timeout=60) == -signal.SIGKILL


def test_after_sigkill(tmp_path: Path) -> None:
    args = ("outline@0.5.19", "--tier", "bytecode")
    if not killed(tmp_path / "journal", 0.0, *args):
        pytest.skip("the search was over before it could be killed")

    assert answer(*args, cwd=tmp_path) == answer(*args, "--resume", "journal", cwd=tmp_path)
    assert not (tmp_path / "journal").exists()


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.3, 0.7])
def test_after_sigkill_at_some_moment(tmp_path: Path, delay: float) -> None:
    """Twice: a journal that was gone on with is killed as well."""
    args = ("kv_transfer@safe", "--scope", "L")
    whole = answer(*args, cwd=tmp_path)
    if not killed(tmp_path / "journal", delay, *args):
        pytest.skip("the search was over before it could be killed")
    size = (tmp_path / "journal").stat().st_size
    child = subprocess.Popen(
        command(*args, "--resume", "journal", "--checkpoint-interval", "0.05"), cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    while child.poll() is None and (tmp_path / "journal").exists() and (tmp_path / "journal").stat().st_size <= size:
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    if child.wait(timeout=60) == -signal.SIGKILL:
        assert answer(*args, "--resume", "journal", "--workers", "2", cwd=tmp_path) == {**whole, "workers": 2}
