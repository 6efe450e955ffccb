"""Properties that hold in every preset are broken by a model that does the wrong thing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sglang_mutations import MUTATED

from kvproto import shipped
from kvproto.engine.search import Options, search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find


@pytest.mark.parametrize("name", MUTATED)
def test_a_wrong_model_violates(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, text, wrong, preset, scope = MUTATED[name]
    package = f"wrong_{name}"
    for folder in ("models", "properties"):
        shutil.copytree(shipped.ROOT / folder, tmp_path / package / folder)
    (tmp_path / package / "__init__.py").touch()
    path = tmp_path / package / "models" / "sglang" / file
    source = path.read_text(encoding="utf-8")
    assert source.count(text) == 1
    path.write_text(source.replace(text, wrong), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    model = find(f"{package}.models.sglang:model").model
    sets = {"retraction": True}

    result = search(build(model, choose(model, preset=preset, scope=scope, sets=sets)), Options(properties=(name,)))

    assert result.findings[0].counterexample
