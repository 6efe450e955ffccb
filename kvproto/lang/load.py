"""Finding the model that a target names: a shipped model, a file, or an object in a package."""

from __future__ import annotations

import codecs
import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TextIO

from kvproto import shipped
from kvproto.diagnostics import KvError, Loc, did_you_mean
from kvproto.lang.model import Model
from kvproto.lang.source import shown_name

BLOCKS, PATTERNS, PROOFS, KIT = "blocks", "patterns", "proofs", "kit"
"""Folders of `models/` with many small models, one a file, and the one with what they are made of."""

_FOLDERS: set[Path] = set()
"""Folders of the file targets loaded so far."""


@dataclass(frozen=True, slots=True)
class Target:
    """A model with the preset asked for, and the words it was asked for with."""

    text: str
    model: Model
    preset: str | None


def shipped_models() -> list[str]:
    """Names of the models that ship with kvproto, without those of one mechanism each."""
    folder = shipped.ROOT / "models"
    names = [p.stem for p in folder.glob("*.py") if p.stem != "__init__"]
    many = (BLOCKS, PATTERNS, PROOFS, KIT)
    names += [p.parent.name for p in folder.glob("*/__init__.py") if p.parent.name not in many]
    return sorted(names)


def building_blocks() -> list[str]:
    """Names of the shipped models of one mechanism each: `blocks.page_pool`."""
    return _one_a_file(BLOCKS)


def patterns() -> list[str]:
    """Names of the shipped models of public bug reports: `patterns.freed_under_write`."""
    return _one_a_file(PATTERNS)


def proofs() -> list[str]:
    """Names of the shipped models that are proved for every size: `proofs.late`."""
    return _one_a_file(PROOFS)


def every_model() -> list[str]:
    """Names of all models that ship with kvproto."""
    return [*shipped_models(), *building_blocks(), *patterns(), *proofs()]


def _one_a_file(folder: str) -> list[str]:
    files = (shipped.ROOT / "models" / folder).glob("*.py")
    return sorted(f"{folder}.{p.stem}" for p in files if p.stem != "__init__")


def find(text: str) -> Target:
    """The model for `name[@preset]`, `file.py[:object][@preset]` or `package.module:object[@preset]`.

    Raises KV001 (no such model), KV002 (nothing after the @), KV007 (the file raises), KV008 (no model in it), KV009
    (syntax error).
    """
    # The last .py ends the path: folders may have an @ or a colon in their names.
    path, suffix, rest = text.rpartition(".py")
    is_file = bool(suffix) and rest[:1] in ("", ":", "@")
    name, at, preset = (rest if is_file else text).partition("@")
    if at and not preset:
        raise KvError(
            "KV002",
            f"{_shown(text)}: no preset is named after the @",
            reason="what stands after the @ is a preset of the model",
            cure="give one, or leave the @ out; kvproto list shows the presets",
        )
    if is_file:
        attribute = name.removeprefix(":") or None
        return Target(text, _model_in(_import_file(Path(path + suffix), text), attribute, text), preset or None)
    if name in (known := every_model()):
        return Target(text, _model_in(_import(f"kvproto.shipped.models.{name}", text), None, text), preset or None)
    where, _, attribute = name.rpartition(":")
    if attribute.isidentifier() and all(part.isidentifier() for part in where.split(".")):
        return Target(text, _model_in(_import(where, text), attribute, text), preset or None)
    raise KvError(
        "KV001",
        f"there is no model '{_shown(name)}'{did_you_mean(name, known)}",
        reason=f"shipped models: {', '.join(shipped_models())}; "
        "kvproto list shows blocks.NAME, patterns.NAME and proofs.NAME too",
        cure="give one of these, a file such as model.py, or package.module:object",
    )


def _shown(text: str) -> str:
    """Text from outside on one line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _import_file(path: Path, text: str) -> ModuleType:
    if not _is(path.is_file):
        shown = f"'{_shown(str(path))}'"
        raise KvError(
            "KV001",
            f"{shown} is a folder, not a file" if _is(path.is_dir) else f"there is no file {shown}",
            reason="the target is read as a path because it ends in .py",
            cure="correct the path; kvproto list shows the shipped models",
        )
    full = path.resolve()
    _refuse_encoding(full, text)
    name = "_kvproto_target_" + hashlib.sha256(os.fsencode(full)).hexdigest()[:16]
    _refuse_namesakes(full.parent, text)
    spec = importlib.util.spec_from_file_location(name, full)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(full.parent) not in sys.path:
        sys.path.insert(0, str(full.parent))
    with _Importing(text, full):
        spec.loader.exec_module(module)
    _FOLDERS.add(full.parent)
    return module


def _refuse_encoding(path: Path, text: str) -> None:
    """Places in a model are counted in UTF-8, whatever else Python could read."""
    try:
        data = path.read_bytes()
        why = "it begins with a byte order mark" if data.startswith(codecs.BOM_UTF8) else ""
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        why = f"byte {problem.start} is not UTF-8"
    except OSError as problem:
        why = (problem.strerror or "it cannot be read").lower()
    if why:
        raise KvError(
            "KV009",
            f"{_shown(text)} is no Python source in UTF-8: {why}",
            reason="model files are UTF-8 without a byte order mark",
            cure="check that the target is the file you mean, or save it as plain UTF-8",
        )


def _is(question: Callable[[], bool]) -> bool:
    """The answer; no for a path that cannot exist."""
    try:
        return question()
    except ValueError:  # a null character
        return False


def _refuse_namesakes(folder: Path, text: str) -> None:
    """Refuse a folder whose modules have names that modules of another target took: Python would mix them up."""
    for path in folder.glob("*.py"):
        loaded = getattr(sys.modules.get(path.stem), "__file__", None)
        if loaded and Path(loaded).parent in _FOLDERS - {folder}:
            raise KvError(
                "KV007",
                f"{_shown(text)} cannot be imported: {path.stem} has been loaded from {_shown(loaded)}",
                reason="modules of the same name stand beside two targets, and Python keeps one of them only",
                cure="check the two targets in two runs",
            )


def _import(name: str, text: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    with _Importing(text, None):
        return importlib.import_module(name)


class _Importing(redirect_stdout[TextIO]):
    """Turns whatever a model's module raises while it is imported into an error with a place.

    What the module prints goes to standard error: standard output is for results.
    """

    def __init__(self, text: str, path: Path | None) -> None:
        super().__init__(sys.stderr)
        self.text = _shown(text)
        self.path = path

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore standard output; raises KvError for an exception of the module."""
        super().__exit__(kind, problem, trace)
        if problem is None or isinstance(problem, KeyboardInterrupt | MemoryError):
            return
        if isinstance(problem, KvError):
            d = problem.diagnostic
            loc, line = self._place(problem) if d.loc is None else (d.loc, d.line)
            raise KvError(d.code, d.message, reason=d.reason, cure=d.cure, loc=loc, line=line) from None
        if isinstance(problem, SyntaxError) and problem.lineno and problem.text:
            raise _syntax_error(problem) from None
        if isinstance(problem, SyntaxError):
            raise KvError(
                "KV009",
                f"{self.text} is no Python source: {_shown(problem.msg)}",
                reason="model files are Python source in UTF-8",
                cure="check that the target is the file you mean",
            ) from None
        loc, line = self._place(problem)
        raise KvError(
            "KV007",
            f"{self.text} cannot be imported: {type(problem).__name__}: {_shown(' '.join(str(problem).split()))}",
            reason="a model is ordinary Python at module level, and this raised an exception",
            cure="run the file with python to see the whole traceback",
            loc=loc,
            line=line,
        ) from problem

    def _place(self, problem: BaseException) -> tuple[Loc | None, str]:
        """The last line of the model itself that the exception passed through."""
        frames = traceback.extract_tb(problem.__traceback__)
        inside = [f for f in frames if self.path is not None and Path(f.filename) == self.path]
        if not inside or self.path is None:
            return None, ""
        last = inside[-1]
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        number = last.lineno or 1
        if number > len(lines):
            return None, ""
        line = lines[number - 1].rstrip()
        bytes_before, bytes_to = last.colno or 0, last.end_colno if last.end_lineno == number else None
        start, end = (len(line.encode()[:at].decode(errors="ignore")) for at in (bytes_before, bytes_to))
        return Loc(shown_name(self.path), number, start, max(end, start + 1)), line


def _syntax_error(problem: SyntaxError) -> KvError:
    col = max((problem.offset or 1) - 1, 0)
    end = problem.end_offset - 1 if problem.end_offset and problem.end_lineno == problem.lineno else col + 1
    name = shown_name(Path(problem.filename)) if problem.filename else "<text>"
    return KvError(
        "KV009",
        f"syntax error: {problem.msg}",
        reason="a model is Python source, and this does not parse",
        cure="correct the line (Python's own message is above)",
        loc=Loc(name, problem.lineno or 1, col, max(end, col + 1)),
        line=(problem.text or "").rstrip("\n"),
    )


def _model_in(module: ModuleType, attribute: str | None, text: str) -> Model:
    models = {k: v for k, v in vars(module).items() if isinstance(v, Model)}
    if attribute is not None:
        if attribute in models:
            return models[attribute]
        raise KvError(
            "KV008",
            f"{text}: there is no model {attribute!r}{did_you_mean(attribute, models)}",
            reason=f"models there: {', '.join(models) or 'none'}",
            cure="name a global of the module that is a Model(...)",
        )
    if "model" in models or len(models) == 1:
        return models.get("model") or next(iter(models.values()))
    raise KvError(
        "KV008",
        f"{text}: {'several models' if models else 'no model'} in the module",
        reason=f"found: {', '.join(models) or 'no global that is a Model(...)'}",
        cure="write file.py:object, or assign model = Model(...)",
    )
