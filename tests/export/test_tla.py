"""TLA+ modules: what they look like, that they are whole, and what TLC says where there is one."""

from __future__ import annotations

import random
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from export_models import FAILING, JUDGEMENTS, MODELS, STUCK, text_of
from export_runs import every_state, model_in, needs_tlc, shipped, tlc, without_claims
from random_models import write
from tla_reader import Broken, Module

from kvproto.diagnostics import KvError
from kvproto.export.tla.module import export
from kvproto.export.tla.types import RESERVED
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

GOLDEN = Path(__file__).parent / "golden"

SHIPPED = [
    ("kv_transfer@safe", "S"),
    ("kv_transfer@vulnerable", "S"),
    ("outline@0.5.19", "small"),
    ("outline@0.5.20", "small"),
    ("outline@0.5.21", "small"),
    ("outline@patched", "small"),
    ("outline@incident", "incident"),
]


@pytest.mark.parametrize("kind", ["tla", "cfg"])
def test_kv_transfer(kind: str) -> None:
    """As `kvproto export kv_transfer@safe --scope S --to tla --properties -o kv_transfer.tla` writes them."""
    module = export(shipped("kv_transfer@safe", "S"), name="kv_transfer", properties=True)
    text = (GOLDEN / f"kv_transfer.{kind}").read_text(encoding="utf-8")

    assert text == (module.text if kind == "tla" else module.config)


LIVE = '''
from kvproto.lang import *

R = Sort("R", labels="AB", size=2)
m = Machine("m", "")

class State(Record):
    served: Array(R, Bool)
    turn: R

@action(m)
def serve(s, r: R):
    """Serves {r}."""
    require(s.turn == r)
    s.served[r] = True

@action(m, fair="strong")
def turn(s, r: R, to: R):
    require(s.turn == r and s.served[r])
    s.turn = to

@eventually("both are served")
def all_served(s):
    return all(s.served[r] for r in R)

@leads_to("who has the turn is served")
def soon(s, r: R):
    return s.turn == r, s.served[r]

@always_eventually("the turn comes back")
def back(s, r: R):
    return s.turn == r

@sometimes("one is served before the other")
def unfair(s):
    return s.served[0] != s.served[1]

def within(s):
    return True

model = Model(
    "live", "", state=State, parts=[__name__], fairness=[weak(serve, per="r"), weak(serve, turn)], constraint=within
)
'''


def test_claims_about_runs(tmp_path: Path) -> None:
    module = export(model_in(LIVE, tmp_path), name="live", properties=True)

    assert "soon ==\n    \\A r \\in R : (turn = r) ~> (served[r])" in module.text
    assert "back ==\n    \\A r \\in R : []<>(turn = r)" in module.text
    assert "\\A r \\in R : WF_vars(serve(r))" in module.text
    assert "WF_vars((\\E r \\in R : serve(r)) \\/ (\\E r \\in R, to \\in R : turn_2(r, to)))" in module.text
    assert "\\A r \\in R, to \\in R : SF_vars(turn_2(r, to))" in re.sub(r" : \\A ", ", ", module.text)
    assert "PROPERTY all_served\n" in module.config
    assert "INVARIANT unfair\n" in module.config
    assert "CONSTRAINT Within\n" in module.config


# --- whole modules ---------------------------------------------------------------------------------------


def check_structure(text: str) -> None:
    """Brackets match, every name is defined before it is used, and none twice at the top."""
    plain = re.sub(r"\(\*.*?\*\)", "", text)
    plain = re.sub(r'"[^"]*"', '""', plain)
    depth: list[str] = []
    for char in plain:
        if char in "([{":
            depth.append(char)
        elif char in ")]}":
            assert depth.pop() + char in ("()", "[]", "{}")
    assert not depth
    lines = plain.splitlines()
    assert re.fullmatch(r"-{4,} MODULE \w+ -{4,}", lines[0])
    assert re.fullmatch(r"={4,}", lines[-1])
    known = {word for word in RESERVED if word.isupper()} | {"Cardinality", "Assert", "Integers", "FiniteSets", "TLC"}
    tops: list[str] = []
    for line in lines[1:-1]:
        if found := re.match(r"(\w+)(?:\(([^)]*)\))? ==", line):
            tops.append(found[1])
        known |= set(re.findall(r"(\w+)(?:\([^)]*\)|\[[^]]*\])? ==", line))
        known |= set(re.findall(r"(\w+) \\in", line)) | set(re.findall(r"(\w+) \|->", line))
        known |= set(re.findall(r"(\w+):", line))
        if found := re.match(r"\w+\(([^)]*)\) ==", line):
            known |= {name.strip() for name in found[1].split(",")}
        if line.startswith(("VARIABLES ", "CONSTANT ")):
            known |= {name.strip() for name in line.partition(" ")[2].split(",")}
        if line.startswith(("EXTENDS", "VARIABLES", "CONSTANT")):
            continue
        used = set(re.findall(r"(?<![\w.\\\]])(?!WF_|SF_)[A-Za-z_]\w*", line))
        assert used <= known | set(re.findall(r"\\[EA] (\w+), (\w+)", line)), (line, used - known)
    assert len(tops) == len(set(tops))


@pytest.mark.parametrize(("target", "scope"), SHIPPED)
def test_shipped_models_are_whole(target: str, scope: str) -> None:
    check_structure(export(shipped(target, scope), name="model", properties=True).text)


@pytest.mark.parametrize("title", MODELS)
def test_small_models_are_whole(title: str, tmp_path: Path) -> None:
    check_structure(export(model_in(text_of(title), tmp_path), name="model", properties=True).text)


# --- read and searched here ------------------------------------------------------------------------------

SMALL = [title for title in MODELS if "itself" not in title]
"""Models for those that are slow."""


def check_by_reader(system: System) -> None:
    """A search of the module finds as many states, at the same depth."""
    ours, module = every_state(system), export(system, name="model")

    # Where the constraint excludes even the initial states, there is no level to speak of.
    assert (ours.states, ours.depth if ours.states else 0) == Module(module.text).search(module.config)


@pytest.mark.slow
@pytest.mark.parametrize("title", SMALL)
def test_small_models(title: str, tmp_path: Path) -> None:
    check_by_reader(without_claims(model_in(text_of(title), tmp_path)))


@pytest.mark.parametrize(("preset", "pages"), [("safe", 4), ("vulnerable", 3)])
def test_kv_transfer_by_reader(preset: str, pages: int) -> None:
    model = find("kv_transfer").model
    sets = {"Req": 2, "Page": pages, "pages_per_request": 2}
    check_by_reader(build(model, choose(model, preset=preset, scope="S", sets=sets)))


@pytest.mark.slow
def test_outline() -> None:
    check_by_reader(shipped("outline@incident", "incident"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_random_models(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    try:
        system = without_claims(model_in(write(dice.randint), tmp_path))
        ours = every_state(system)
    except KvError as problem:
        pytest.skip(f"nothing to compare: {problem.diagnostic.code}")
    if ours.states > 700:
        pytest.skip("too many states for a slow search")
    check_by_reader(system)


def deadlocked(system: System) -> bool:
    """Whether a state has no way on, in the module; it must be the verdict of the search."""
    only = replace(system, claims=tuple(c for c in system.claims if c.kind == "deadlock"))
    module = export(only, name="model", properties=True)
    check_structure(module.text)
    expected = every_state(only).findings[0].verdict == "violated"
    with pytest.raises(Broken, match=r"^deadlock: ") if expected else nullcontext():
        Module(module.text).search(module.config)
    return expected


@pytest.mark.parametrize(("more", "expected"), [("terminal=over", False), ("deadlock=True", True)])
def test_a_step_that_fails_is_no_deadlock(more: str, expected: bool, tmp_path: Path) -> None:
    system = model_in(f'{STUCK}\nmodel = Model("stuck", "", state=State, parts=[__name__], {more})\n', tmp_path)

    assert expected == deadlocked(system)


@pytest.mark.parametrize("what", JUDGEMENTS)
def test_where_an_assertion_fails(what: str, tmp_path: Path) -> None:
    """A `require` that comes first decides, whatever the shape of the body."""
    text = FAILING.replace("{body}", JUDGEMENTS[what])
    system = model_in(f'{text}\nmodel = Model("failing", "", state=State, parts=[__name__], deadlock=True)\n', tmp_path)

    assert what.startswith("is not enabled") == deadlocked(system)


# --- with TLC --------------------------------------------------------------------------------------------


def check_counts(command: list[str], system: System, folder: Path) -> None:
    """TLC finds as many states, at the same depth."""
    ours, found = every_state(system), tlc(command, system, folder)

    assert ((), ours.states, ours.depth) == (found.problems, found.states, found.depth), found.output


@pytest.mark.slow
@pytest.mark.parametrize(("target", "scope"), SHIPPED)
def test_shipped_models_in_tlc(target: str, scope: str, tmp_path: Path) -> None:
    check_counts(needs_tlc(), shipped(target, scope), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("title", SMALL)
def test_small_models_in_tlc(title: str, tmp_path: Path) -> None:
    check_counts(needs_tlc(), without_claims(model_in(text_of(title), tmp_path)), tmp_path)


@pytest.mark.slow
def test_claims_in_tlc(tmp_path: Path) -> None:
    """Claims about states and about runs, with fairness, get the same verdicts."""
    command = needs_tlc()
    for system in (model_in(LIVE, tmp_path), shipped("kv_transfer@vulnerable", "S")):
        for finding in every_state(system).findings:
            found = tlc(command, replace(system, claims=(finding.claim,)), tmp_path, properties=True)
            # What is found sometimes is exported as its opposite.
            expected = (finding.verdict == "holds") == (finding.claim.kind == "sometimes")
            assert expected == bool(found.problems), (finding.claim.name, found.output)
