"""The formulas of random models take the steps that the evaluator takes, from reachable states and from any others."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from lowering_agreement import agree, random_states
from random_theories import model_texts

from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.prove.lowering.fail import NotGeneral
from kvproto.prove.lowering.system import lower
from kvproto.prove.worlds.instances import reachable

EXAMPLES = 60
seen: Counter[str] = Counter()


def imported(text: str, path: Path) -> ModuleType:
    """The text as a module, in a file of its own, as the front end reads files."""
    name = f"random_theory_{len(list(path.iterdir()))}"
    file = path / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)
@given(text=model_texts())
def test_formulas_take_the_steps_of_the_model(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    model = imported(text, tmp_path_factory.mktemp("models", numbered=True)).model
    chosen = choose(model)
    try:
        lowered = lower(model, chosen)
    except NotGeneral as problem:
        seen[problem.diagnostic.code] += 1
        return

    system = build(model, chosen)
    compared = agree(lowered, system, [*reachable(system, 4), *random_states(system, 7, 6)])

    seen["models"] += 1
    seen["successors"] += compared.successors
    seen["faults"] += compared.faults


def test_most_random_models_are_compared() -> None:
    if not seen:
        pytest.skip("the random models were not run")

    assert seen["models"] > EXAMPLES // 2
    assert seen["successors"] > 1000
