"""What an exported file looks like, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from export_models import text_of
from export_runs import model_in, shipped

from kvproto.diagnostics import KvError
from kvproto.export.promela.model import export
from kvproto.export.promela.text import FALSE, TRUE, Text, choose, conj, decide, disj, infix, literal, neg

GOLDEN = Path(__file__).parent / "golden"


def test_kv_transfer() -> None:
    """As `kvproto export kv_transfer@safe --scope S --to promela` writes it."""
    assert (GOLDEN / "kv_transfer.pml").read_text(encoding="utf-8") == export(shipped("kv_transfer@safe", "S")).text


def test_zero_states_cost_nothing_and_starts_cost_one(tmp_path: Path) -> None:
    assert export(model_in(text_of("a guard after an effect"), tmp_path)).extra == 1
    assert export(model_in(text_of("records, rows and copies"), tmp_path)).extra == 0
    assert "SPIN stores one state more" in export(model_in(text_of("initial states with guards"), tmp_path)).text


def test_large_states_are_announced(tmp_path: Path) -> None:
    text = text_of("records, rows and copies").replace('Sort("A", size=3)', 'Sort("A", size=250)')
    exported = export(model_in(text, tmp_path))

    assert exported.vector > 1000
    assert exported.flags[0] in exported.text


REFUSED = {
    "    s.n = 3 - s.n\n": ("    s.n = (s.n + 5000000000) % 4\n", "the number is 5000000000"),
    "def give(s, a: A):": ("def give(s, a: A, x: Int(0, 99), y: Int(0, 99)):", "there are 30006 action instances"),
}


@pytest.mark.parametrize(("old", "new", "message"), [(old, *new) for old, new in REFUSED.items()])
def test_refused_with_its_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = text_of("a guard after an effect")
    assert old in text
    with pytest.raises(KvError) as caught:
        export(model_in(text.replace(old, new), tmp_path))
    found = caught.value.diagnostic

    assert found.code == "KV031"
    assert found.message.startswith(message)
    assert found.loc is not None
    assert found.line.strip() in text.replace(old, new)


def test_large_numbers_in_the_state(tmp_path: Path) -> None:
    text = text_of("a guard after an effect").replace("n: Int(0, 3)", "n: Int(0, 2147483648)")
    with pytest.raises(KvError, match="n has 2147483649 values"):
        export(model_in(text, tmp_path))


A, B = Text("a"), Text("b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (conj([TRUE, A, A, TRUE]), "a"),
        (conj([A, FALSE, B]), "false"),
        (disj([conj([A, B]), FALSE]), "a && b"),
        (disj([conj([A, B]), B]), "(a && b) || b"),
        (neg(conj([A, B])), "!(a && b)"),
        (neg(neg(conj([A, B]))), "(a && b)"),
        (neg(infix("==", infix("+", A, literal(1)), B)), "a + 1 != b"),
        (neg(infix("<", A, B)), "!(a < b)"),
        (choose(A, literal(1), literal(0)), "(a -> 1 : 0)"),
        (decide(A, TRUE, B), "a || b"),
        (infix("&", infix(">>", A, B), literal(1)), "(a >> b) & 1"),
        (infix("|", infix("|", A, B), A), "a | b | a"),
        (infix("-", A, infix("-", B, literal(-1))), "a - (b - (-1))"),
        (infix("*", infix("+", A, B), B), "(a + b) * b"),
        (infix("<=", literal(-2), literal(3)), "true"),
    ],
)
def test_expressions(text: Text, expected: str) -> None:
    assert expected == str(text)
