"""Journals of long searches: what it takes to go on after the process is gone.

A journal is a file to which only is added.  After a header that says which search it belongs to, each record holds
the links (parent, action) of the states found since the record before, and all counters.  States themselves are not
kept: they are made again from the initial states, which also proves that the journal fits the program.  Every
record has a checksum, so a journal that was cut off in the middle of a record (power, SIGKILL, a full disk) is
good up to the record before.  One search at a time writes a journal: it holds a lock on the file.

    kvproto.checkpoint/1\\n
    {"identity": ..., "target": ...}\\n
    record ...

A record is six u64 (magic, first state, number of states, action width, length of the counters, CRC-32 of all
the rest), the parents as u32, the actions as u16 or u32, and the counters as u64, all in little-endian order.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import sys
import tempfile
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Protocol

from kvproto.diagnostics import KvError
from kvproto.engine.bytecode import pack
from kvproto.engine.lower import Lowered

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where nothing is locked
    fcntl = None

SCHEMA = b"kvproto.checkpoint/1\n"
HEAD = struct.Struct("<6Q")
MAGIC = 0x6B76_7072_6F74_6F31

AT_ONCE = 1 << 20
"""States in one record at most: bounds the memory that writing takes."""


class Resumable(Protocol):
    """What an explorer needs to be saved and made again."""

    def states(self) -> int:
        """Distinct states so far."""

    def save(self, first: int, last: int) -> tuple[array[int], array[int]]:
        """Parents and actions of states."""

    def load(self, parents: array[int], actions: array[int]) -> bool:
        """Make states again; False when memory was refused, `ValueError` if they do not fit."""

    def save_meta(self) -> array[int]:
        """All counters."""

    def load_meta(self, numbers: array[int]) -> None:
        """The reverse; `ValueError` if they do not fit."""


@dataclass(frozen=True, slots=True)
class Record:
    """Links of states from number `first` on, and the counters of that moment."""

    first: int
    parents: array[int]
    actions: array[int]
    meta: array[int]


@dataclass(frozen=True, slots=True)
class Resumed:
    """A journal that an explorer has been brought to: its states, and the length of what is good in the file."""

    states: int
    length: int


def identity(lowered: Lowered, starts: Sequence[int], *extra: object) -> str:
    """What two searches must have in common for one to go on where the other stopped.

    Program, layout, initial states (packed) and options.
    """
    code = pack(lowered.program)
    parts = (code.code, code.leaf_table, code.guard_table, code.entries, lowered.layout.paths, starts, extra)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


class Journal:
    """Writes a journal; `saved` states are in it.

    The file appears with the first record, so a search that begins anew destroys what another one has left only when it
    has something itself.  One that `replaces` nothing takes the first free name beside `path`.
    """

    def __init__(self, path: Path, target: str, *, replaces: bool = True) -> None:
        self.path = path
        self.saved = 0
        self.started = False
        self._target = target
        self._replaces = replaces
        self._file: BinaryIO | None = None

    def go_on(self, resumed: Resumed) -> None:
        """Add to the journal that was read, cut after its last good record."""
        with _Writing(self.path):
            self._file = self._locked(self.path.open("r+b", buffering=0))
            self._file.truncate(resumed.length)
        self.saved, self.started = resumed.states, True

    def add(self, explorer: Resumable, who: str) -> None:
        """Add what has been found since the last record.  A record that cannot be written whole leaves no trace."""
        with _Writing(self.path):
            if self._file is None:
                self._begin(explorer, who)
            else:
                self._append(self._file, explorer)
        self.saved, self.started = explorer.states(), True

    def remove(self) -> None:
        """Give up the file: there is nothing left to go on with."""
        if self._file is not None:
            self.close()
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others write the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self, explorer: Resumable, who: str) -> None:
        """Write the first record beside the place, and put it there once it is whole."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._replaces:
            self._put_first(explorer, who)
            return
        wanted, self.path = self.path, claim(self.path)
        try:
            self._put_first(explorer, who)
        except BaseException:
            self.path.unlink(missing_ok=True)
            self.path = wanted
            raise

    def _put_first(self, explorer: Resumable, who: str) -> None:
        fresh = self.path.with_name(f".{self.path.name}.new")
        file = self._locked(fresh.open("a+b", buffering=0))
        try:
            file.truncate(0)
            _put(file, SCHEMA + json.dumps({"identity": who, "target": self._target}).encode() + b"\n")
            self._append(file, explorer)
            if self.path.exists():
                self._locked(self.path.open("r+b", buffering=0)).close()
            if fcntl is None:  # Windows moves no file that is open
                file.close()
            fresh.replace(self.path)
        except BaseException:
            file.close()
            fresh.unlink(missing_ok=True)
            raise
        self._file = self.path.open("r+b", buffering=0) if file.closed else file

    def _locked(self, file: BinaryIO) -> BinaryIO:
        """The file, which nobody else writes as long as it is open."""
        try:
            lock(file)
        except OSError:
            file.close()
            raise
        return file

    def _append(self, file: BinaryIO, explorer: Resumable) -> None:
        before = file.seek(0, os.SEEK_END)
        try:
            for record in self._records(explorer):
                _write(file, record)
            os.fsync(file.fileno())
        except OSError:
            file.truncate(before)
            raise

    def _records(self, explorer: Resumable) -> Iterator[Record]:
        """Long ones in parts; only the last part has the counters, and counts."""
        last, meta = explorer.states(), explorer.save_meta()
        for first in range(self.saved, max(last, self.saved + 1), AT_ONCE):
            end = min(last, first + AT_ONCE)
            yield Record(first, *explorer.save(first, end), meta if end == last else array("Q"))


def claim(path: Path) -> Path:
    """Make an empty file of a name that no other file has: `path`, or with a number.

    Two searches that look at the same time get two names, as the system makes each file once.
    """
    names = (path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(1))
    for name in names:
        try:
            name.touch(exist_ok=False)
        except FileExistsError:
            continue
        return name
    raise AssertionError("there is always a larger number")


def lock(file: BinaryIO) -> None:
    """Claim a file as long as it is open.  `OSError` if another search has it; some file systems know no locks."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EBUSY, "another search is writing it") from None
    except OSError:
        return


def check_place(path: Path) -> None:
    """Refuse (KV024) a place where no journal can be written, before a search that would find that out late."""
    with _Writing(path):
        if "\0" in str(path):
            raise OSError(errno.EINVAL, "a file name has no null character")
        if path.exists():
            _check_replaceable(path)
        above = next(folder for folder in path.absolute().parents if folder.exists())
        if not above.is_dir():
            raise OSError(errno.ENOTDIR, f"{above} is no folder")
        with tempfile.TemporaryFile(dir=above):
            pass


def _check_replaceable(path: Path) -> None:
    """A journal may take the place of another one that nobody writes, and of nothing else."""
    if not path.is_file():
        raise OSError(errno.EISDIR, _no_file(path))
    with path.open("r+b", buffering=0) as file:
        start = file.read(len(SCHEMA))
        if start and start != SCHEMA:
            raise OSError(errno.EEXIST, "it is there and is something else than a checkpoint")
        lock(file)


class _Writing:
    """Turns what the system says about a place into KV024."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, OSError):
            raise KvError(
                "KV024",
                f"the checkpoint {_shown(self.path)} cannot be written: {_why(problem)}",
                reason="without it an interrupted search would have to begin again",
                cure="make room, or name another place:  --checkpoint FILE",
            ) from None


def _no_file(path: Path) -> str:
    return "it is a folder" if path.is_dir() else "it is no ordinary file"


def _shown(text: object) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def _why(problem: OSError) -> str:
    text = problem.strerror or str(problem)
    return _shown(text[:1].lower() + text[1:])


def _little(numbers: array[int]) -> bytes:
    if sys.byteorder != "little":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _native(kind: str, data: bytes) -> array[int]:
    numbers = array(kind)
    numbers.frombytes(data)
    if sys.byteorder != "little":
        numbers.byteswap()
    return numbers


def _put(file: BinaryIO, data: bytes) -> None:
    """Write all of it: a system that has room for a part takes the part."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _check(head: tuple[int, ...], parts: Sequence[bytes]) -> int:
    check = zlib.crc32(struct.pack("<5Q", *head))
    for part in parts:
        check = zlib.crc32(part, check)
    return check


def _write(file: BinaryIO, record: Record) -> None:
    narrow = max(record.actions, default=0) < 1 << 16
    actions = array("H", record.actions) if narrow else record.actions
    parts = [_little(record.parents), _little(actions), _little(record.meta)]
    head = (MAGIC, record.first, len(record.parents), 2 if narrow else 4, len(record.meta))
    _put(file, HEAD.pack(*head, _check(head, parts)))
    for part in parts:
        _put(file, part)


# ------------------------------------------------------------------------------------------------ reading


def resume(path: Path, who: str, explorer: Resumable, roots: int) -> Resumed:
    """Bring an explorer, which has its `roots` initial states, to the last complete record of a journal.

    Raises KvError KV025 where the file is no journal of this search, or holds nothing.
    """
    try:
        if "\0" in str(path):
            raise FileNotFoundError
        if path.exists() and not path.is_file():
            raise _unfit(path, _no_file(path), "nothing can be resumed from it")
        with path.open("rb") as file:
            _check_header(path, file, who)
            usable = _usable(file)
            if not usable:
                raise _unfit(path, "it holds no complete record", "the search was stopped before its first checkpoint")
            return _replay(path, file, usable, explorer, roots)
    except FileNotFoundError:
        raise _unfit(path, "it is not there", "a search that has come to its end removes its checkpoint") from None
    except OSError as problem:
        raise _unfit(path, f"it cannot be read: {_why(problem)}", "nothing can be resumed from it") from None


def _check_header(path: Path, file: BinaryIO, who: str) -> None:
    if file.readline(len(SCHEMA)) != SCHEMA:
        raise _unfit(path, "it is no kvproto.checkpoint/1 file", "it has another format")
    try:
        header = json.loads(file.readline(1 << 16))
        found, target = header["identity"], header["target"]
    except (ValueError, KeyError, TypeError):
        raise _unfit(path, "its header is damaged", "it was cut off, or changed") from None
    if found != who:
        raise _unfit(
            path,
            f"it belongs to another search (of {target})",
            "the model, its scope or parameters, the properties, the reductions or kvproto itself differ",
        )


def _unfit(path: Path, what: str, reason: str) -> KvError:
    return KvError(
        "KV025",
        f"checkpoint {_shown(path)} cannot be used: {_shown(what)}",
        reason=reason,
        cure="give the target and options of the interrupted search, or begin anew without --resume",
    )


def _usable(file: BinaryIO) -> list[int]:
    """Where the records begin that end in a record with counters, and where the last of them ends."""
    marks, good = [file.tell()], 1
    while (record := _read(file)) is not None:
        marks.append(file.tell())
        if record.meta:
            good = len(marks)
    return marks[:good] if good > 1 else []


def _read(file: BinaryIO) -> Record | None:
    """The next record, None at the end or where the file is damaged."""
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    *numbers, check = HEAD.unpack(head)
    magic, first, count, width, meta = numbers
    lengths = (4 * count, width * count, 8 * meta)
    # Lengths may be damaged too: nothing is read that the file cannot hold.
    if magic != MAGIC or width not in (2, 4) or sum(lengths) > os.fstat(file.fileno()).st_size:
        return None
    parts = [file.read(length) for length in lengths]
    if [len(part) for part in parts] != list(lengths) or _check(tuple(numbers), parts) != check:
        return None
    actions = _native("H" if width == 2 else "I", parts[1])
    return Record(first, _native("I", parts[0]), array("I", actions), _native("Q", parts[2]))


def _replay(path: Path, file: BinaryIO, marks: list[int], explorer: Resumable, roots: int) -> Resumed:
    meta: array[int] = array("Q")
    try:
        for mark in marks[:-1]:
            file.seek(mark)
            record = _read(file)
            skip = 0 if record is None else explorer.states() - record.first
            if record is None or skip < 0 or (skip > 0 and explorer.states() > roots):
                raise ValueError("a record is missing")
            if not explorer.load(record.parents[skip:], record.actions[skip:]):
                raise KvError(
                    "KV006",
                    f"the memory limit leaves no room for the states of {path}",
                    reason="the interrupted search had more memory",
                    cure="raise --memory-limit",
                )
            meta = record.meta or meta
        explorer.load_meta(meta)
    except ValueError as problem:
        raise _unfit(path, str(problem), "it was changed, or written by another version") from None
    return Resumed(explorer.states(), marks[-1])
