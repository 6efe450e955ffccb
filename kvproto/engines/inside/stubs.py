"""Stand-ins for packages that the engine imports and that need a GPU or do nothing for this purpose.

A finder at the head of `sys.meta_path` answers for the listed roots only, whether or not the package is there, so
that a run does not depend on what else is installed.
Every attribute of a stand-in is harmless: it can be called, subscripted, iterated over, used as a decorator.
Names in capitals are classes, because they are subclassed and asked for in `isinstance`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

ROOTS = {
    "triton": "kernels in a language for GPUs; the engine has a plain version of the one that is reached",
    "sgl_kernel": "compiled CUDA kernels; none is reached",
    "flashinfer": "attention kernels; the forward pass is replaced",
    "torchvision": "images; its builds do not fit a CPU build of torch",
    "IPython": "notebooks",
    "compressed_tensors": "formats of quantised weights; there are no weights",
    "gguf": "a format of weights",
    "xgrammar": "constrained output",
    "tvm_ffi": "loads compiled kernels (0.5.23)",
}
"""Packages that are stood in for, and why the real one is not needed."""


class Anything:
    """A value that bears everything and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if _special(name):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *given: Any, **named: Any) -> Any:
        """What it decorates, or another one."""
        if len(given) == 1 and not named and isinstance(given[0], types.FunctionType | type):
            return given[0]  # used as a decorator
        return Anything()

    def __getitem__(self, key: Any) -> Any:
        return Anything()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()

    def __or__(self, other: Any) -> Any:
        return self

    def __ror__(self, other: Any) -> Any:
        return self


class _Named(type):
    """The class of stand-in classes: attributes of the class itself are harmless too."""

    def __getattr__(cls, name: str) -> Any:
        if _special(name):
            raise AttributeError(name)
        return Anything()


class StandIn(types.ModuleType):
    """A module whose attributes come into being when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        if _special(name):
            raise AttributeError(name)
        value = _class(name, self.__name__) if name[:1].isupper() else Anything()
        setattr(self, name, value)
        return value


def _special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _class(name: str, module: str) -> type:
    members = {
        "__module__": module,
        "__init__": lambda self, *given, **named: None,
        "__init_subclass__": classmethod(lambda cls, **named: None),
        # pydantic asks the type of every field for its schema.
        "__get_pydantic_core_schema__": classmethod(lambda cls, source, handler: {"type": "any"}),
    }
    return _Named(name, (), members)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds stand-ins for `ROOTS`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A specification for a listed root and what lies below it."""
        if fullname.partition(".")[0] not in ROOTS:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """A stand-in."""
        module = StandIn(spec.name)
        module.__path__ = []
        setattr(module, "__version__", "99.0.0")  # noqa: B010
        if spec.name == "triton.runtime":
            # The engine asks for the active driver and takes a failure for "no GPU".
            setattr(module, "driver", object())  # noqa: B010
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def install() -> None:
    """Put the finder in place.  torch is told that there is no triton, so that it does not take the stand-in for it."""
    asked: Any = importlib.import_module("torch.utils._triton")
    asked.has_triton_package = lambda: False
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
    importlib.import_module("triton.runtime")
