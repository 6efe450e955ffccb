"""Conditions as text for another solver, which finds the same."""

from __future__ import annotations

from pathlib import Path

import invariants
import pytest
import theories
from theories import PAGE, REQ, P, R, at, relation

from kvproto.lang.bind import choose
from kvproto.lang.load import find
from kvproto.prove.certificates.codec import Reader
from kvproto.prove.certificates.recheck import symbols_of
from kvproto.prove.certificates.recheck_file import load
from kvproto.prove.certificates.smtlib import script, shown, term, write
from kvproto.prove.logic.conditions import Condition, conditions
from kvproto.prove.logic.formula import (
    FALSE,
    INT,
    Apply,
    Choose,
    Compare,
    Formula,
    Num,
    Plus,
    Same,
    Symbol,
    Times,
    Var,
    conj,
    exists,
    forall,
    implies,
    neg,
)
from kvproto.prove.logic.theory import Clause
from kvproto.prove.lowering.system import lower

SHIPPED = sorted((Path(__file__).parents[2] / "proofs").glob("*.json"))
X = Var("x", INT)


def answers(text: str) -> list[str]:
    """What cvc5 says to a script."""
    cvc5 = pytest.importorskip("cvc5", reason="there is no cvc5")
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit", "2000000")
    solver.setOption("enum-inst", "true")  # patterns alone miss instances that are needed
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "condition")
    found = []
    while not (command := parser.nextCommand()).isNull():
        if told := command.invoke(solver, parser.getSymbolManager()).strip():
            found.append(told)
    return found


def claims(*hypotheses: Formula, goal: Formula = FALSE) -> Condition:
    named = tuple(Clause(f"h{number}", formula) for number, formula in enumerate(hypotheses, 1))
    return Condition("claim", "claim", named, goal, "claim")


@pytest.mark.parametrize("name", ["late", "timed"])
def test_cvc5_finds_every_condition_valid(name: str) -> None:
    for condition in conditions(getattr(theories, name)(), getattr(invariants, name)()):
        assert answers(script(condition)) == ["unsat"], condition.name


def test_cvc5_finds_what_is_not_valid() -> None:
    wrong = {c.name: c for c in conditions(theories.late(deferred=False), invariants.late())}["release keeps infl_own"]

    assert answers(script(wrong)) != ["unsat"]


@pytest.mark.skipif(not SHIPPED, reason="no certificates are shipped")
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_cvc5_proves_what_a_shipped_certificate_proves(path: Path) -> None:
    """From the hypotheses that the certificate names, for the clauses in it and the model as it is."""
    data = load(path)
    target = find(data["target"])
    theory = lower(target.model, choose(target.model, preset=target.preset)).theory
    reader = Reader(symbols_of(theory), {})
    clauses = [Clause(entry["name"], reader.formula(entry["formula"])) for entry in data["clauses"]]
    uses = {entry["name"]: entry["uses"] for entry in data["conditions"]}
    for condition in conditions(theory, clauses):
        assert answers(script(condition.assuming(uses[condition.name]))) == ["unsat"], condition.name


def test_names_are_quoted_where_they_have_to_be() -> None:
    odd = [relation("phase.NEW", REQ), relation("two words", REQ), relation("and", REQ), relation("let", REQ)]
    formula = conj(neg(at(symbol, R)) if n else at(symbol, R) for n, symbol in enumerate(odd))
    text = script(claims(formula, goal=neg(formula)))

    assert "(declare-fun |two words| (Req) Bool)" in text
    assert "(declare-fun |and'| (Req) Bool)" in text
    assert answers(text) == ["sat"]
    assert answers(script(claims(formula, goal=formula))) == ["unsat"]


def test_variables_do_not_hide_symbols() -> None:
    """A constant and a bound variable that share their name with a relation."""
    symbol = relation("r", REQ)
    formula = forall((R,), at(symbol, R))

    assert answers(script(claims(formula, goal=at(symbol, R)))) == ["unsat"]
    assert answers(script(claims(at(symbol, R), goal=formula))) != ["unsat"]


def test_terms() -> None:
    age = Symbol("age", (REQ,), INT)
    assert term(Plus(Times(-2, X), Num(-1))) == "(+ (* (- 2) ?x) (- 1))"
    assert term(Choose(Same(R, R), Apply(age, (R,)), X)) == "(ite (= ?r ?r) (age ?r) ?x)"
    assert shown(exists((R, P), Compare("==", X, Num(0)))) == "(exists ((?r Req) (?p Page)) (= ?x 0))"
    assert shown(implies(Compare("<", X, Num(1)), FALSE)) == "(not (< ?x 1))"


def test_a_script_a_condition(tmp_path: Path) -> None:
    found = conditions(theories.late(), invariants.late())
    files = write(tmp_path / "conditions", found)

    assert [file.read_text(encoding="utf-8") for file in files] == [script(condition) for condition in found]
    assert sorted(file.name for file in files) == [file.name for file in files]
    assert files[0].name == "01-initial-one-owner.smt2"
    assert PAGE in files[0].read_text(encoding="utf-8")
