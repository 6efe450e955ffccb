"""The checker refuses whatever does not prove the model that there is: mutations of certificates, one at a time."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import invariants
import pytest
import theories
from hypothesis import given, settings
from hypothesis import strategies as st
from shipped_certificates import FOLDER, targets
from theories import INFL, OWN, P, R, at

from kvproto.diagnostics import KvError
from kvproto.prove.certificates.certificate import certificate, write
from kvproto.prove.certificates.codec import formula_to_json
from kvproto.prove.certificates.ground import Ground, Refused
from kvproto.prove.certificates.ground_steps import grounded
from kvproto.prove.certificates.recheck import Propagation, check, contradiction, header
from kvproto.prove.certificates.recheck_file import recheck
from kvproto.prove.logic.conditions import Condition, conditions
from kvproto.prove.logic.formula import ForAll, conj, forall, implies, neg
from kvproto.prove.logic.readable import reading
from kvproto.prove.logic.theory import Clause
from kvproto.prove.solver import Solver

pytest.importorskip("z3")

SHIPPED = sorted(FOLDER.glob("*.json"))
Json = Any


@pytest.fixture(scope="module")
def late() -> Json:
    return certificate(theories.late(), invariants.late())


@pytest.fixture(scope="module")
def timed() -> Json:
    return certificate(theories.timed(), invariants.timed())


def refused(data: Json, theory: theories.Theory | None = None) -> str:
    """Why it is refused."""
    with pytest.raises(Refused) as caught:
        check(data, theory or theories.late())
    return str(caught.value)


def changed(data: Json, change: Callable[[Json], object]) -> Json:
    other = copy.deepcopy(data)
    change(other)
    return other


# ------------------------------------------------------------------------------------------------ what it is for


@pytest.mark.parametrize("field", ["model", "preset", "digest", "sorts", "switches", "symbols", "assumptions"])
def test_another_model_is_refused(late: Json, field: str) -> None:
    def change(data: Json) -> None:
        data[field] = {"deferred": False} if field == "switches" else "another"

    assert refused(changed(late, change)).startswith(f"its {field}: ")


def test_the_model_has_changed(late: Json) -> None:
    """The same file, and a model in which pages are freed at once: the header is that of the model."""
    careless = replace(theories.late(deferred=False), preset=theories.late().preset)

    assert ": " in refused(late, careless)


def test_a_model_with_more_claims_is_refused(late: Json) -> None:
    theory = theories.late()
    more = replace(theory, claims=(*theory.claims, Clause("quiet", forall((R, P), neg(at(INFL, R, P))))))

    assert refused(late, more).startswith("its claims: ")


def test_a_claim_that_reads_otherwise_is_refused(late: Json) -> None:
    assert refused(changed(late, lambda data: data["claims"][0].update(text="all is well"))).startswith("its claims: ")


def test_nothing_is_no_claim(late: Json) -> None:
    nothing = changed(late, lambda data: data.update(claims=[]))

    assert refused(nothing, replace(theories.late(), claims=())) == "it claims nothing"


def test_a_weaker_invariant_does_not_do(late: Json) -> None:
    """A clause less, and everything that is about it."""

    def weaken(data: Json) -> None:
        data["clauses"] = [clause for clause in data["clauses"] if clause["name"] != "infl_own"]
        data["conditions"] = [entry for entry in data["conditions"] if not entry["name"].endswith("infl_own")]

    assert "there is no hypothesis infl_own" in refused(changed(late, weaken))


def test_a_stronger_invariant_has_to_be_proved(late: Json) -> None:
    """A clause is replaced by one that is false: what is about it does not follow any more."""
    flying = at(INFL, R, P)
    stronger = forall((R, P), conj((neg(flying), implies(flying, at(OWN, R, P)))))
    tree = {"text": reading(stronger), "formula": formula_to_json(stronger)}

    assert "infl_own: " in refused(changed(late, lambda data: data["clauses"][1].update(tree)))


def test_a_clause_says_nothing_of_what_steps_choose(late: Json) -> None:
    """The pages that a step picks are picked anew by the next one."""
    chosen = forall((P,), implies(at(theories.SET, P), at(theories.SET, P)))
    entry = {"name": "chosen", "text": reading(chosen), "formula": formula_to_json(chosen)}

    assert "there is no symbol 'set'" in refused(changed(late, lambda data: data["clauses"].append(entry)))


def test_axioms_speak_of_nothing_that_changes(late: Json) -> None:
    """Whatever is assumed of a state is assumed of every state."""
    theory = theories.late()
    quiet = Clause("quiet", forall((R, P), neg(at(INFL, R, P))))
    reason = "an axiom of the model speaks of what changes"

    assert refused(late, replace(theory, axioms=(quiet,))) == reason
    fixed = replace(theory, axioms=(quiet,), state=tuple(s for s in theory.state if s != INFL), rigid=(INFL,))
    assert refused({**late, "symbols": header(fixed)["symbols"]}, fixed) == reason


def test_a_clause_reads_as_its_formula_does(late: Json) -> None:
    shown = refused(changed(late, lambda data: data["clauses"][1].update(text="own(r, p)")))

    assert shown == "clause infl_own does not read as its formula does"


# ------------------------------------------------------------------------------------------------ steps


def entries(data: Json) -> Iterator[tuple[int, Json]]:
    return ((at, entry) for at, entry in enumerate(data["conditions"]))


def test_no_instance_and_no_witness_can_be_left_out(late: Json) -> None:
    tried = 0
    for place, entry in entries(late):
        for number, step in enumerate(entry["steps"]):
            if step[0] in ("instance", "open"):
                refused(changed(late, lambda data, p=place, n=number: data["conditions"][p]["steps"].pop(n)))
                tried += 1

    assert tried > len(late["conditions"])


def test_no_contradiction_without_its_inequalities(timed: Json) -> None:
    tried = 0
    for place, entry in entries(timed):
        for number, step in enumerate(entry["steps"]):
            for part in range(1, len(step)) if step[0] == "contradiction" else ():
                refused(
                    changed(timed, lambda data, p=place, n=number, k=part: data["conditions"][p]["steps"][n].pop(k)),
                    theories.timed(),
                )
                tried += 1

    assert tried > 10


def test_weights_have_to_be_positive_and_to_add_up(timed: Json) -> None:
    for place, entry in entries(timed):
        for number, step in enumerate(entry["steps"]):
            if step[0] == "contradiction":
                for weight in (0, -1, 7, True, 1.0):
                    other = copy.deepcopy(timed)
                    other["conditions"][place]["steps"][number][1][1] = weight
                    refused(other, theories.timed())
                return
    raise AssertionError("there is no sum of inequalities")


def test_every_clause_list_ends_in_the_empty_one(late: Json) -> None:
    for place, _ in entries(late):
        refused(changed(late, lambda data, p=place: data["conditions"][p]["clauses"].pop()))


def test_hypotheses_cannot_be_left_out_or_made_up(late: Json) -> None:
    for place, entry in entries(late):
        for name in entry["uses"]:
            refused(changed(late, lambda data, p=place, n=name: data["conditions"][p]["uses"].remove(n)))
        refused(changed(late, lambda data, p=place: data["conditions"][p]["uses"].append("luck")))


def test_conditions_are_all_there_and_no_others(late: Json) -> None:
    for place, _ in entries(late):
        assert "differ" in refused(changed(late, lambda data, p=place: data["conditions"].pop(p)))
    odd = changed(late, lambda data: data["conditions"].append({**data["conditions"][0], "name": "initial luck"}))
    assert refused(odd) == "conditions of the clauses and of the certificate differ: initial luck"


def test_a_refutation_of_one_condition_is_none_of_another(late: Json) -> None:
    names = [entry["name"] for entry in late["conditions"]]

    def swap(data: Json) -> None:
        for entry, name in zip(data["conditions"], names[1:] + names[:1], strict=True):
            entry["name"] = name

    refused(changed(late, swap))


@pytest.mark.parametrize(
    "step",
    [
        ["element", "r", "Req"],
        ["open", 1, "r#9"],
        ["open", 999, "r#9"],
        ["instance", 1, "r"],
        ["instance", -2, "r"],
        ["transitive", "nobody", "nobody", "nobody"],
        ["congruent", 1, 1],
        ["equal", "own", ["r"], ["r"]],
        ["contradiction"],
        ["contradiction", [1, 1]],
        ["trust", "me"],
        [],
        "open",
        7,
        None,
    ],
)
def test_steps_that_are_none(late: Json, step: Json) -> None:
    refused(changed(late, lambda data: data["conditions"][0]["steps"].insert(0, step)))


@pytest.mark.parametrize("clause", [[0], [True], ["1"], None, 3, [[1]]])
def test_clauses_that_are_none(late: Json, clause: Json) -> None:
    refused(changed(late, lambda data: data["conditions"][0]["clauses"].insert(0, clause)))


@pytest.mark.parametrize(
    "tree",
    [
        ["is", "own", "r"],
        ["is", "nothing"],
        ["all", [["r", "Req"]], ["is", "own", "r", "r"]],
        ["all", [["r", "Req"], ["p", "Page"]], ["same", "r", "p"]],
        ["all", [["n", "Int"]], ["same", "n", "n"]],
        ["all", [["r", "Req"]], ["<=", "r", 1]],
        ["is", "own", "r", "p"],
        ["maybe"],
        None,
        {},
        1,
    ],
)
def test_formulas_that_are_none(late: Json, tree: Json) -> None:
    refused(changed(late, lambda data: data["clauses"][0].update(formula=tree)))


# ------------------------------------------------------------------------------------------------ by chance


def places(data: Json, path: tuple[Json, ...] = ()) -> Iterator[tuple[Json, ...]]:
    """Every place in a JSON value."""
    if path:
        yield path
    items = enumerate(data) if isinstance(data, list) else data.items() if isinstance(data, dict) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def mutated(data: Json, path: tuple[Json, ...], what: str, luck: random.Random) -> Json:
    other = copy.deepcopy(data)
    inner = other
    for key in path[:-1]:
        inner = inner[key]
    key = path[-1]
    if what == "drop":
        del inner[key]
    elif what == "double" and isinstance(inner, list):
        inner.insert(key, copy.deepcopy(inner[key]))
    elif what == "shuffle" and isinstance(inner[key], list):
        luck.shuffle(inner[key])
    elif isinstance(inner[key], int):
        inner[key] += luck.choice([-2, -1, 1, 2])
    else:
        inner[key] = luck.choice([None, 1, -1, [], "r", "own", True, inner[key]])
    return other


@pytest.mark.parametrize("name", ["late", "timed"])
@settings(max_examples=70, deadline=None)
@given(seed=st.integers(0, 2**32), what=st.sampled_from(["drop", "double", "shuffle", "replace"]))
def test_a_mutation_is_refused_or_proves_what_it_says(
    request: pytest.FixtureRequest, name: str, seed: int, what: str
) -> None:
    """Whatever is accepted has conditions that Z3 finds valid, for the clauses that the mutated file names."""
    data, theory = request.getfixturevalue(name), getattr(theories, name)()
    luck = random.Random(seed)
    everywhere = list(places({key: data[key] for key in ("clauses", "conditions", "claims", "digest", "sorts")}))
    other = mutated(data, luck.choice(everywhere), what, luck)
    try:
        found = check(other, theory)
    except Refused:
        return
    solver = Solver(theory)
    if found.clauses != check(data, theory).clauses:
        assert all(solver.valid(condition) for condition in conditions(theory, found.clauses))


def invalid() -> Condition:
    """With pages freed at once, a step does not keep that writes are to owned pages."""
    theory = theories.late(deferred=False)
    wrong = {c.name: c for c in conditions(theory, invariants.late())}["release keeps infl_own"]
    assert not Solver(theory).valid(wrong)
    return wrong


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_no_steps_at_all_refute_what_is_not_valid(luck: random.Random) -> None:
    """Instances, witnesses and facts in any order leave clauses that can all be true."""
    import z3

    condition = invalid()
    ground = grounded(condition, [hypothesis.name for hypothesis in condition.hypotheses])
    for number in range(25):
        try:
            _any_step(ground, luck, number)
        except Refused:
            continue
    solver = z3.Solver()
    for clause in ground.clauses:
        solver.add(z3.Or([z3.Bool(f"{n}") if n > 0 else z3.Not(z3.Bool(f"{-n}")) for n in clause]))

    assert solver.check() == z3.sat


def _any_step(ground: Ground, luck: random.Random, number: int) -> None:
    constants = list(ground.constants.values())
    atom = luck.randrange(1, len(ground.atoms) + 1)
    match luck.choice(["instance", "instance", "instance", "open", "element", "congruent", "transitive"]):
        case "instance":
            found = ground.atom(atom)
            bound = found.vars if isinstance(found, ForAll) else ()
            fitting = [[c for c in constants if c.sort == v.sort] for v in bound]
            if all(fitting):
                ground.instantiate(atom, [luck.choice(some) for some in fitting])
        case "open":
            ground.open(atom, [f"new#{number}.{n}" for n in range(len(getattr(ground.atom(atom), "vars", ())))])
        case "element":
            ground.element(f"some#{number}", luck.choice(["Req", "Page"]))
        case "congruent":
            ground.congruent(atom, luck.randrange(1, len(ground.atoms) + 1))
        case "transitive":
            ground.transitive(*(luck.choice(constants) for _ in range(3)))


LITERALS = st.sampled_from([number for n in range(1, 5) for number in (n, -n)])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(1, 4).flatmap(lambda n: st.sampled_from([n, -n])), max_size=3).map(tuple), max_size=8
    ),
    st.lists(
        st.lists(st.integers(1, 4).flatmap(lambda n: st.sampled_from([n, -n])), max_size=2).map(tuple), max_size=3
    ),
)
def test_learned_clauses_follow(given_: list[tuple[int, ...]], learned: list[tuple[int, ...]]) -> None:
    """By trying all assignments: whoever satisfies the given clauses satisfies each that was accepted."""
    try:
        contradiction("x", given_, [*learned, ()])
    except Refused:
        return
    for bits in range(16):
        true = {n if bits >> (n - 1) & 1 else -n for n in range(1, 5)}
        assert not all(true & set(clause) for clause in given_)


def test_unit_propagation_is_what_it_says() -> None:
    known = Propagation()
    for clause in [(1, 2), (-1, 3), (-2, 3), (-3, 4, 5)]:
        known.add(clause)

    assert known.refutes([-3])
    assert not known.refutes([3])
    assert known.refutes([3, -4, -5])
    assert not known.refutes([])


# ------------------------------------------------------------------------------------------------ files


def test_files_that_are_no_certificates(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    for text in ("", "[]", "{}", '{"schema": "kvproto.trace/1"}', "[" * 100_000):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(KvError) as caught:
            recheck(file)
        assert caught.value.diagnostic.code == "KV306"
    with pytest.raises(KvError, match="KV306"):
        recheck(tmp_path / "missing.json")


def test_nothing_is_said_twice(late: Json, tmp_path: Path) -> None:
    """Who reads the file could see what is not checked."""
    text = json.dumps(late)
    file = tmp_path / "x.json"
    file.write_text(text.replace('"clauses"', '"clauses": [], "clauses"', 1), encoding="utf-8")

    with pytest.raises(KvError, match=r"KV306.*it says twice what clauses is"):
        recheck(file)
    twice = changed(late, lambda data: data["conditions"].append(data["conditions"][0]))
    assert "it has two entries for one condition" == refused(twice)


@pytest.mark.skipif(not SHIPPED, reason="no certificates are shipped")
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_certificates_prove_the_shipped_models(path: Path) -> None:
    found = recheck(path)

    assert found.refused == "", "python tests/prove/shipped_certificates.py makes certificates again"
    assert path.stem == found.target
    assert found.checked is not None
    assert not found.left_out
    assert found.witnesses


def test_every_preset_that_holds_has_a_certificate() -> None:
    assert {path.stem for path in SHIPPED} == set(targets())


@pytest.mark.skipif(not SHIPPED, reason="no certificates are shipped")
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_certificates_need_their_longest_refutation(path: Path, tmp_path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    longest = max(data["conditions"], key=lambda entry: len(entry["steps"]))
    longest["steps"].remove([step for step in longest["steps"] if step[0] in ("instance", "open")][-1])
    write(tmp_path / "x.json", data)

    assert recheck(tmp_path / "x.json").refused.startswith(f"{longest['name']}: ")


def test_the_checker_needs_no_solver() -> None:
    """Where neither Z3 nor cvc5 can be imported."""
    script = (
        "import sys; sys.modules['z3'] = sys.modules['cvc5'] = None\n"
        "from kvproto.prove.certificates.recheck_file import place, recheck\n"
        "found = recheck(place('proofs.late@deferred'))\n"
        "print(found.refused or found.checked.claims)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "('reads_own', 'no_late_write')\n"


@pytest.fixture(scope="module")
def shipped() -> Json:
    path = FOLDER / "proofs.late@deferred.json"
    if not path.exists():
        pytest.skip("proofs.late has no certificate yet")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data.update(target="proofs.late@at-once"), "its preset"),
        (lambda data: data.update(settings={"waits_for_copies": False}), "its switches"),
        (lambda data: data["switches"].update(deferred_release=False), "its switches"),
        (lambda data: data.update(digest="0123456789abcdef"), "its digest"),
        (lambda data: data.update(fixed=5), "malformed"),
        (lambda data: data["claims"].pop(), "leaves out no_late_write, and does not say so"),
        (lambda data: data["witnesses"].pop(), "the claims may be about nothing"),
        (lambda data: data["witnesses"][0]["steps"].pop(), "does not get there"),
        (lambda data: data["witnesses"][0]["steps"].pop(0), "cannot happen"),
        (lambda data: data["witnesses"][0].update(start={"phase[A]": "OVER"}), "does not begin in an initial state"),
        (lambda data: data["witnesses"][0].update(claim="reads_own"), "there is no `sometimes` reads_own"),
        (lambda data: data["witnesses"][0]["steps"][0].append("A"), "takes 2 arguments"),
        (lambda data: data["witnesses"][0]["steps"][0].__setitem__(1, "Z"), "cannot be 'Z'"),
        (lambda data: data["witnesses"][0]["steps"][0].__setitem__(0, "steal"), "there is no action steal"),
    ],
)
def test_a_shipped_certificate_with_a_change_is_refused(
    shipped: Json, tmp_path: Path, change: Callable[[Json], object], reason: str
) -> None:
    write(tmp_path / "x.json", changed(shipped, change))
    found = recheck(tmp_path / "x.json")

    assert found.checked is None
    assert reason in found.refused


def test_weaker_claims_have_to_be_called_so(shipped: Json, tmp_path: Path) -> None:
    """One claim, the other left out, and a condition less: that is a proof of what it says."""

    def less(data: Json) -> None:
        gone = data["claims"].pop()["name"]
        data["left_out"] = [gone]
        data["conditions"] = [entry for entry in data["conditions"] if entry["name"] != f"claim {gone}"]

    write(tmp_path / "x.json", changed(shipped, less))
    found = recheck(tmp_path / "x.json")

    assert found.checked is not None
    assert (found.checked.claims, found.left_out) == (("reads_own",), ("no_late_write",))
