"""No text of a model makes the front end fail in another way than by refusing it; and what it accepts, it understands.

Models are damaged at random.  Each is either refused by a KvError, or both readings of it agree along a
random run.
"""

from __future__ import annotations

from pathlib import Path

import lang_mutants
import pytest
from lang_native import imported, walked

from kvproto.diagnostics import KvError
from kvproto.lang.bind import choose
from kvproto.lang.binding import use
from kvproto.lang.frontend.build import build

TEXTS = {"kv_transfer": lang_mutants.kv_transfer, "outline": lang_mutants.outline, "messages": lang_mutants.messages}
BATCH = 25


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("first", [0, 100, 200, 300])
@pytest.mark.parametrize("name", TEXTS)
def test_mutants_are_refused_or_understood(name: str, first: int, tmp_path: Path) -> None:
    text = TEXTS[name]()
    outcomes = set()
    for seed in range(first, first + BATCH):
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / "mutant.py").write_text(lang_mutants.mutant(text, seed), encoding="utf-8")
        try:
            with imported(str(folder / "mutant.py")) as model:
                chosen = choose(model)
                system = build(model, chosen)
                with use(chosen.binding):
                    walked(model, system, steps=6, seed=seed)
            outcomes.add("understood")
        except KvError as error:
            outcomes.add(error.diagnostic.code)

    assert "understood" in outcomes
    assert len(outcomes) > 4
