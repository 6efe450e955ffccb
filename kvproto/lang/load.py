"""Finding the model that a target names: a shipped model, a file, or an object in a package."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from kvproto import shipped
from kvproto.diagnostics import KvError, Loc, did_you_mean
from kvproto.lang.model import Model
from kvproto.lang.source import shown_name


@dataclass(frozen=True, slots=True)
class Target:
    """A model with the preset asked for, and the words it was asked for with."""

    text: str
    model: Model
    preset: str | None


def shipped_models() -> list[str]:
    """Names of the models that ship with kvproto."""
    folder = shipped.ROOT / "models"
    names = [p.stem for p in folder.glob("*.py") if p.stem != "__init__"]
    names += [p.parent.name for p in folder.glob("*/__init__.py")]
    return sorted(names)


def find(text: str) -> Target:
    """The model for `name[@preset]`, `file.py[:object][@preset]` or `package.module:object[@preset]`.

    Raises KV001 (no such model), KV007 (the file raises), KV008 (no model in it), KV009 (syntax error).
    """
    name, _, preset = text.partition("@")
    if name in shipped_models():
        module = _import(f"kvproto.shipped.models.{name}", text)
        return Target(text, _model_in(module, None, text), preset or None)
    where, _, attribute = name.rpartition(":") if ":" in name else (name, "", "")
    if where.endswith(".py"):
        return Target(text, _model_in(_import_file(Path(where), text), attribute or None, text), preset or None)
    if attribute:
        return Target(text, _model_in(_import(where, text), attribute, text), preset or None)
    raise KvError(
        "KV001",
        f"there is no model {name!r}{did_you_mean(name, shipped_models())}",
        reason=f"shipped models: {', '.join(shipped_models())}",
        cure="give one of these, a file such as model.py, or package.module:object",
    )


def _import_file(path: Path, text: str) -> ModuleType:
    if not path.is_file():
        raise KvError(
            "KV001",
            f"there is no file {str(path)!r}",
            reason="the target is read as a path because it ends in .py",
            cure="correct the path; kvproto list shows the shipped models",
        )
    full = path.resolve()
    name = f"_kvproto_target_{abs(hash(full)):x}"
    spec = importlib.util.spec_from_file_location(name, full)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(full.parent) not in sys.path:
        sys.path.insert(0, str(full.parent))
    with _Importing(text, full):
        spec.loader.exec_module(module)
    return module


def _import(name: str, text: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    with _Importing(text, None):
        return importlib.import_module(name)


class _Importing:
    """Turns whatever a model's module raises while it is imported into an error with a place."""

    def __init__(self, text: str, path: Path | None) -> None:
        self.text = text
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if problem is None or isinstance(problem, KeyboardInterrupt | MemoryError):
            return
        if isinstance(problem, KvError):
            d = problem.diagnostic
            loc, line = self._place(problem) if d.loc is None else (d.loc, d.line)
            raise KvError(d.code, d.message, reason=d.reason, cure=d.cure, loc=loc, line=line) from None
        if isinstance(problem, SyntaxError):
            raise _syntax_error(problem) from None
        if isinstance(problem, UnicodeDecodeError):
            raise KvError(
                "KV009",
                f"{self.text} is not text: {problem.reason}",
                reason="model files are Python source in UTF-8",
                cure="check that the target is the file you mean",
            ) from None
        loc, line = self._place(problem)
        raise KvError(
            "KV007",
            f"{self.text} cannot be imported: {type(problem).__name__}: {problem}",
            reason="a model is ordinary Python at module level, and this raised an exception",
            cure="run the file with python to see the whole traceback",
            loc=loc,
            line=line,
        ) from problem

    def _place(self, problem: BaseException) -> tuple[Loc | None, str]:
        """Where in the file itself an exception was raised."""
        inside = [f for f in traceback.extract_tb(problem.__traceback__) if Path(f.filename) == self.path]
        if not inside or self.path is None or inside[-1].lineno is None:
            return None, ""
        last, rows = inside[-1], self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        number = last.lineno or 1
        line = rows[number - 1] if number <= len(rows) else ""
        end = last.end_colno if last.end_lineno == number and last.end_colno else len(line)
        return Loc(shown_name(self.path), number, last.colno or 0, end), line


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
