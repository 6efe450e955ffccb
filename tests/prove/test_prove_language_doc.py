"""The examples of docs/prove-language.md fit, or are refused, as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_proofs import CLAIM, STATE, model_of

from kvproto.diagnostics import CATALOGUE
from kvproto.lang.bind import choose
from kvproto.prove.lowering.fail import NotGeneral
from kvproto.prove.lowering.system import lower

TEXT = (Path(__file__).parents[2] / "docs" / "prove-language.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n# (\w+)\n(.*?)```", TEXT, re.DOTALL)
MORE = '''
@action(m)
def more(s):
    s.flag = True

'''


@pytest.mark.parametrize(("verdict", "text"), EXAMPLES, ids=[re.findall(r"def (\w+)", text)[0] for _, text in EXAMPLES])
def test_an_example_is_what_the_page_says(verdict: str, text: str, tmp_path: Path) -> None:
    state = STATE + "    until: Array(Req, Int(0, 9))\n"
    model = model_of(tmp_path, state=state, action=MORE + text, claim=CLAIM)

    if verdict == "fits":
        assert lower(model, choose(model)).theory.transitions
        return
    with pytest.raises(NotGeneral) as caught:
        lower(model, choose(model))
    assert verdict in {one.code for one in caught.value.all}


def test_the_page_names_every_code_of_the_language() -> None:
    named = set(re.findall(r"KV[0-9]{3}", TEXT))

    assert named <= set(CATALOGUE)
    assert {f"KV{number}" for number in range(160, 169)} <= named
