"""The file format of traces: `kvproto.trace/1`, one JSON object, one line a step.

The same trace gives the same bytes, and a file that is not a trace is refused with a place and a cure.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from kvproto.diagnostics import KvError, Loc
from kvproto.trace.analysis import Analysis, Guard
from kvproto.trace.field import Repeated
from kvproto.trace.printable import printable
from kvproto.trace.shape import EXTRA_FLIGHT_KEYS, EXTRA_POOL_KEYS, trace_of
from kvproto.trace.trace import SCHEMA, FlightView, PoolView, Step, Trace

SUFFIX = ".trace.json"
"""How the name of a trace file ends."""

MAX_BYTES = 64 << 20
"""Larger files are refused: no trace that a person could look at comes near."""

_NAME_LENGTH = 160


def dumps(trace: Trace) -> str:
    """The text of a trace file; ASCII, ends in a newline."""
    fields = [
        ("schema", _json(SCHEMA)),
        ("model", _json(trace.model)),
        ("preset", _json(trace.preset)),
        ("scope", _json(trace.scope)),
        ("parameters", _json(dict(trace.parameters))),
        ("property", _json(trace.property)),
        ("claim", _json(trace.claim)),
        ("verdict", _json(trace.verdict)),
        ("digest", _json(trace.digest)),
        ("why", _rows("[]", map(_json, trace.why))),
        ("vocabulary", _vocabulary(trace)),
        ("init", _rows("{}", (f"{_json(path)}: {_json(value)}" for path, value in trace.init.items()))),
        ("steps", _rows("[]", map(_step, trace.steps))),
        ("blame", _json(trace.blame)),
        *([("grounds", _rows("[]", (_json(asdict(ground)) for ground in trace.grounds)))] if trace.grounds else []),
        ("loop", _json(trace.loop)),
        *([("strength", _json(trace.strength))] if trace.strength else []),
        *([("shortest", _json(trace.shortest))] if trace.shortest is not None else []),
        *([("analysis", _analysis(trace.analysis))] if trace.analysis is not None else []),
        ("replay", _json(trace.replay, sort=True)),
    ]
    return _rows("{}", (f"{_json(key)}: {text}" for key, text in fields), indent="") + "\n"


def _json(value: object, *, sort: bool = False) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=sort)


def _rows(brackets: str, rows: Iterable[str], indent: str = "  ") -> str:
    """An array or object with one item a line."""
    body = ",\n".join(f"{indent}{row}" for row in rows)
    return f"{brackets[0]}\n{body}\n{brackets[1]}" if body else brackets


def _step(step: Step) -> str:
    return _json(
        {
            "action": step.action,
            "args": dict(step.args),
            "lane": step.lane,
            "loc": step.loc,
            "text": step.text,
            "reads": step.reads,
            "writes": step.writes,
            "delta": {path: list(change) for path, change in step.delta.items()},
        }
    )


def _analysis(found: Analysis) -> str:
    rows = [
        f'"guards": {_rows("[]", (_json(_guard(guard)) for guard in found.guards))}',
        f'"dots": {_rows("[]", (_json(asdict(dot)) for dot in found.dots))}',
        f'"no_return": {_json(None if found.no_return is None else asdict(found.no_return))}',
        f'"minimised": {_json(found.minimised)}',
    ]
    return _rows("{}", rows)


def _guard(guard: Guard) -> dict[str, object]:
    """The fields of a guard; the one that came later only where it says something."""
    return {key: value for key, value in asdict(guard).items() if value or key != "breaks"}


def _vocabulary(trace: Trace) -> str:
    views = trace.vocabulary
    rows = [
        f'"lanes": {_json(views.lanes)}',
        f'"pools": {_json([_view(pool) for pool in views.pools])}',
        f'"flights": {_json([_view(flight) for flight in views.flights])}',
    ]
    if views.containers:
        rows.append(f'"containers": {_json([asdict(container) for container in views.containers])}')
    return _rows("{}", rows)


def _view(view: PoolView | FlightView) -> dict[str, object]:
    """A view without the keys that came later where they say nothing: old files stay as they are."""
    later = EXTRA_POOL_KEYS if isinstance(view, PoolView) else EXTRA_FLIGHT_KEYS
    return {key: value for key, value in asdict(view).items() if value or key not in later}


def loads(text: str, *, name: str) -> Trace:
    """The trace in `text`; `name` is what messages call the file."""
    try:
        root = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        _not_json(text, name, error)
    except RecursionError:
        _refuse_json(name, "it is nested too deeply")
    except ValueError:  # an integer with more digits than Python converts
        _refuse_json(name, "it holds a number with thousands of digits")
    return trace_of(root, name)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object; one with a repeated key is marked, as only the checker knows its place in the file."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    marked = Repeated(found)
    marked.key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return marked


def _not_json(text: str, name: str, error: json.JSONDecodeError) -> NoReturn:
    """KV011 with the offending line; of a long line only the neighbourhood of the place."""
    cut_off = _cut_off(text, error)
    what = "ends too early" if cut_off else "is not JSON"
    line = text[error.pos - error.colno + 1 :].partition("\n")[0]
    start = max(0, error.colno - 1 - 40)
    before = printable(line[start : error.colno - 1])
    excerpt = before + printable(line[error.colno - 1 : error.colno + 20])
    raise KvError(
        "KV011",
        f"{printable(name)} {what}: {error.msg[:1].lower()}{error.msg[1:].removesuffix(' at')}"
        f" at line {error.lineno}, column {error.colno}",
        reason="a trace file is one JSON object" + (", and this one was cut off" if cut_off else ""),
        cure="write the trace again with  kvproto check",
        loc=Loc(printable(name), error.lineno, len(before), len(before) + 1),
        line=excerpt,
    )


def _cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text is the beginning of a trace rather than something else."""
    rest = text[error.pos :].rstrip()
    if not text.lstrip().startswith("{"):
        return not text.strip()
    # Up to six characters: what can be left of `false` or of `\uXXXX`.
    return not rest or error.msg.startswith("Unterminated string") or (len(rest) < 6 and rest[-1] != "}")


def _refuse_json(name: str, what: str) -> NoReturn:
    raise KvError(
        "KV011",
        f"{printable(name)} is not a trace: {what}",
        reason="a trace file is one flat JSON object with small numbers",
        cure="write the trace again with  kvproto check",
    )


def read(path: str | os.PathLike[str]) -> Trace:
    """The trace in a file."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            # Bounded, because the path may name a device or a pipe that never ends.
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        _refuse_file(name, _reason(error))
    if len(raw) > MAX_BYTES:
        _refuse_file(name, f"it is larger than {MAX_BYTES >> 20} MiB")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse_file(name, f"it is not text (byte {error.start} is not UTF-8)")
    return loads(text, name=name)


def _refuse_file(name: str, why: str) -> NoReturn:
    raise KvError(
        "KV010",
        f"cannot read {printable(name)}: {why}",
        reason=f"a trace is a text file of at most {MAX_BYTES >> 20} MiB",
        cure=f"give the path of a *{SUFFIX} file, as  kvproto check  prints it",
    )


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return printable(text[:1].lower() + text[1:])


def file_name(trace: Trace, variant: str = "") -> str:
    """What the file of this trace is called (`name_of`)."""
    return name_of(trace.model, trace.preset, variant, trace.property)


def name_of(model: str, preset: str, variant: str, claim: str) -> str:
    """`MODEL-PRESET-VARIANT-PROPERTY.trace.json`, in harmless characters; `variant` tells scopes and settings apart.

    Two traces whose names differ only in other characters get different files, hence the digest.
    """
    wanted = "-".join(part for part in (model, preset, variant, claim) if part)
    safe = re.sub(r"[^A-Za-z0-9._=-]", "_", wanted).lstrip(".-")[:_NAME_LENGTH]
    if safe != wanted or not safe:
        digest = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        safe = f"{safe or 'trace'}-{digest}"
    return safe + SUFFIX


def write(trace: Trace, directory: str | os.PathLike[str], *, variant: str = "") -> Path:
    """Write the file of a trace into `directory` (made if absent) and return its path.

    A reader sees the old file or the whole new one, never a part.
    """
    return save(trace, prepare(directory) / file_name(trace, variant))


def save(trace: Trace, path: Path) -> Path:
    """Write the file of a trace at `path`, whole or not at all, and return the path."""
    try:
        _replace(path, dumps(trace).encode("ascii"))
    except (OSError, ValueError) as error:
        raise _unwritable(path.parent, error) from None
    return path


def prepare(directory: str | os.PathLike[str]) -> Path:
    """Make the folder for traces if need be, and find out whether it can be written to (KV014) before a long search."""
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".kvproto-{secrets.token_hex(8)}.tmp"
        probe.touch(exist_ok=False)
        probe.unlink()
    except (OSError, ValueError) as error:
        raise _unwritable(folder, error) from None
    return folder


def _unwritable(folder: Path, error: OSError | ValueError) -> KvError:
    return KvError(
        "KV014",
        f"cannot write a trace into {printable(os.fspath(folder))}: {_reason(error)}",
        reason="a counterexample is worth nothing if it cannot be kept",
        cure="give a folder that can be written to, with room in it:  --trace-dir DIR",
    )


def _replace(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one move."""
    temporary = path.with_name(f".kvproto-{secrets.token_hex(8)}.tmp")
    # Not `tempfile`: its files are private to the user, and a trace is there to be shared.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
