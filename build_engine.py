"""Build hook: compiles the C engine into the wheel.

With a C compiler on the machine that one is used; without one the `ziglang` wheel becomes a build requirement.  With
`KVPROTO_BUILD_NATIVE=off` the wheel carries no library; the engine is then compiled on first use where that is
possible, and the pure-Python tier runs otherwise.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENGINE = Path("kvproto") / "engine"


class EngineBuildHook(BuildHookInterface):
    """Adds the compiled engine to a wheel and makes the wheel platform-specific."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """`ziglang` where nothing else can compile C."""
        return [] if self._off() or self._compile_c().compilers() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into the wheel, or for an editable install beside the source.

        A failure leaves no library, and kvproto works without one, only slower.
        """
        if self._off():
            return
        compile_c = self._compile_c()
        engine = Path(self.root) / ENGINE
        name = f"_engine{compile_c.library_suffix()}"
        target = (engine if version == "editable" else Path(self.directory)) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            compiler = compile_c.build(engine / "engine.c", target)
        except compile_c.CompileError as problem:
            self.app.display_warning(f"the C engine was not built: {problem}")
            return
        self.app.display_info(f"C engine built with {compiler}")
        if version == "editable":
            return
        build_data["force_include"][str(target)] = str(ENGINE / name)
        build_data["pure_python"] = False
        # Any Python 3 can load the library: it is reached through ctypes and knows nothing of CPython.
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    @staticmethod
    def _off() -> bool:
        return os.environ.get("KVPROTO_BUILD_NATIVE", "").strip().lower() == "off"

    def _compile_c(self) -> ModuleType:
        """The compile module by path: the package itself need not be importable yet."""
        spec = importlib.util.spec_from_file_location("compile_c", Path(self.root) / ENGINE / "compile_c.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["compile_c"] = module
        spec.loader.exec_module(module)
        return module
