"""Functions of a model, opened for translation: the state, then parameters over finite types."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.ir.nodes import Param, Place
from kvproto.ir.types import RecordT, leaves
from kvproto.lang.frontend.statements import Statements
from kvproto.lang.frontend.typing import MAX_INDEX, parameter_type
from kvproto.lang.frontend.values import Alias, Frame, leaf_name
from kvproto.lang.source import SourceFile, function_source


class Functions:
    """Opens functions that are written for one state type, and remembers their source text."""

    def __init__(self, state: RecordT) -> None:
        self.state = state
        self.sources: dict[str, str] = {}

    def open(self, fn: Callable[..., Any], *, pure: bool) -> tuple[Statements, ast.FunctionDef, SourceFile]:
        """A translator with the function's state parameter bound, and the definition."""
        source, definition = function_source(fn)
        tr = Statements(self.state, self.on_assert)
        tr.sources = self.sources
        tr.sources[source.shown] = source.text
        tr.frame = Frame(fn, source, fn.__globals__, {}, None, pure)
        spec = definition.args
        if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.posonlyargs or spec.defaults or not spec.args:
            source.fail(
                "KV119",
                definition,
                f"{fn.__name__} must take the state and then plain parameters",
                "every parameter ranges over a finite type, so defaults and stars have no meaning",
                f"write def {fn.__name__}(s, r: Req):",
            )
        tr.frame.names[spec.args[0].arg] = Alias(Place(self.state, (), source.loc(spec.args[0])))
        return tr, definition, source

    def on_assert(self, stmt: ast.Assert, message: str) -> str:
        """Called for every assertion that is translated; gives its name."""
        raise AssertionError(f"assertion {message!r} at line {stmt.lineno} of a function without effects")

    def params(
        self, tr: Statements, fn: Callable[..., Any], definition: ast.FunctionDef, most: int = MAX_INDEX
    ) -> tuple[Param, ...]:
        """The parameters after the state, bound in the translator's frame; each has at most `most` values.

        One of a record or array type becomes a parameter for each of its leaves.
        """
        annotations = self._annotations(tr, fn, definition)
        params: list[Param] = []
        for arg in definition.args.args[1:]:
            if arg.arg not in annotations:
                tr.fail(
                    "KV118",
                    arg,
                    f"parameter {arg.arg!r} of {fn.__name__} has no type",
                    "an action happens for every choice of its parameters, so their types must be finite and known",
                    f"write {arg.arg}: Req",
                )

            def fail(message: str, reason: str, cure: str, arg: ast.arg = arg) -> KvError:
                loc = tr.loc(arg.annotation or arg)
                line = tr.frame.source.lines[loc.line - 1]
                return KvError("KV117", message, reason=reason, cure=cure, loc=loc, line=line)

            kind = parameter_type(annotations[arg.arg], most, fail)
            tr.frame.names[arg.arg] = tr.parameter(arg.arg, kind)
            params += [Param(leaf_name(arg.arg, kind, path), leaf) for path, leaf in leaves(kind)]
        return tuple(params)

    @staticmethod
    def _annotations(tr: Statements, fn: Callable[..., Any], definition: ast.FunctionDef) -> dict[str, Any]:
        try:
            return inspect.get_annotations(fn, eval_str=True)
        except KvError:
            raise
        except Exception as problem:
            written = [a.annotation for a in definition.args.args if a.annotation is not None]
            bad = next((a for a in written if not _evaluates(a, fn)), None)
            tr.fail(
                "KV117",
                bad or definition,
                f"an annotation of {fn.__name__} cannot be evaluated: {problem}",
                "annotations are ordinary Python, evaluated when the model is read",
                "check the names",
            )


def _evaluates(annotation: ast.expr, fn: Callable[..., Any]) -> bool:
    try:
        eval(ast.unparse(annotation), dict(fn.__globals__))
    except Exception:
        return False
    return True
