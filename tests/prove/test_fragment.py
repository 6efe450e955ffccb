"""What takes a model out of the language of proofs is named, with its place, and all of it at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_proofs import CLAIM, STATE, model_of

from kvproto.ir.digest import digest
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.prove.logic.formula import Apply, Compare, Num, Plus, Symbol
from kvproto.prove.lowering.fail import NotGeneral
from kvproto.prove.lowering.system import Lowered, lower

QUEUE = STATE + "    line: Queue(Req, 3)\n"
TIMES = STATE + "    until: Array(Req, Int(0, Config.hold))\n    last: Req\n    numbers: Array(Req, Int(0, 9))\n"


def action(body: str, head: str = "r: Req, p: Page") -> str:
    """An action with that body."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"\n@action(m)\ndef act(s, {head}):\n{lines}\n"


def init(body: str, head: str = "") -> str:
    """An init function beside an action."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"\n@init\ndef begin(s{head and ', '}{head}):\n{lines}\n" + action("s.flag = True")


REFUSED = {
    "a size": ("KV160", "len(Page)", {"action": action("require(len(Page) > 1)\ns.flag = True")}),
    "a size in a bound": ("KV160", "Int(0, Page)", {"state": STATE + "    left: Int(0, Page)\n"}),
    "a size that is computed": ("KV160", "Page - 1", {"state": STATE + "    left: Int(0, Page - 1)\n"}),
    "an element": ("KV161", "Req(0)", {"action": action("s.owner[p] = Req(0)")}),
    "a number of an element": ("KV161", "int(r)", {"action": action("require(int(r) > 0)\ns.flag = True")}),
    "a queue": ("KV162", "Queue(Req, 3)", {"state": QUEUE}),
    "a count": ("KV163", "len(s.held[r])", {"action": action("require(len(s.held[r]) > 1)\ns.flag = True")}),
    "a sum": ("KV163", "", {"action": action("require(sum(s.owner[q] is None for q in Page) > 1)\ns.flag = True")}),
    "a product": (
        "KV163",
        "s.numbers[r] * s.now",
        {"state": TIMES, "action": action("require(s.numbers[r] * s.now < 3)\ns.flag = True")},
    ),
    "a local that counts": (
        "KV164",
        "n",
        {"action": action("n = 0\nfor q in Page:\n    if s.owner[q] is None:\n        n = n + 1\ns.flag = n > 0")},
    ),
    "the last one wins": (
        "KV164",
        "s.last = q",
        {"state": TIMES, "action": action("for q in Req:\n    if s.phase[q] == Phase.NEW:\n        s.last = q")},
    ),
    "rounds that read each other": (
        "KV164",
        "",
        {"action": action("for q in Req:\n    if any(s.phase[o] == Phase.NEW for o in Req):\n"
                          "        s.phase[q] = Phase.OVER")},
    ),
    "a number that is looked up": (
        "KV165",
        "s.numbers[s.last[p]]",
        {"state": TIMES.replace("last: Req", "last: Array(Page, Req)"), "claim": '''
@invariant("a number of an element that is looked up")
def late(s):
    return all(s.numbers[s.last[p]] <= 3 for p in Page)
'''},
    ),
    "a first one in a claim": (
        "KV165",
        "next(",
        {"claim": '''
@invariant("a choice")
def first(s):
    return next((p for p in Page if s.owner[p] is None), None) is not None
'''},
    ),
    "subsets": (
        "KV166",
        "",
        {"claim": '''
@invariant("sets of sets")
def sets(s):
    return all(not (some <= s.held[r]) for some in subsets(Page) for r in Req)
'''},
    ),
    "a start that may fail": (
        "KV168",
        "s.numbers[r] = s.numbers[q] + cfg.hold",
        {"state": TIMES, "action": init("s.numbers[r] = s.numbers[q] + cfg.hold", "r: Req, q: Req")},
    ),
    "a start that stores its choice twice": (
        "KV168",
        "def begin",
        {
            "action": init(
                "for r in Req:\n    s.held[r] = some\ns.flag = any(p in some for p in Page)", "some: Set(Page)"
            )
        },
    ),
}
"""Code, what the caret stands under (empty: anything), and the parts of the model."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_outside_is_named(name: str, tmp_path: Path) -> None:
    code, under, parts = REFUSED[name]
    model = model_of(tmp_path, **parts)

    with pytest.raises(NotGeneral) as caught:
        lower(model, choose(model))

    found = [one for one in caught.value.all if one.code == code]
    assert found, [one.code for one in caught.value.all]
    assert found[0].reason and found[0].cure
    if under:
        loc = found[0].loc
        assert loc is not None and loc.file == "small.py"
        assert found[0].line[loc.col :].startswith(under) or under in found[0].line
        assert "^" in found[0].render()


def test_everything_that_is_outside_is_listed(tmp_path: Path) -> None:
    counts = action("require(len(s.held[r]) > 1)\ns.flag = True")
    names = action("s.owner[p] = Req(0)").replace("def act", "def name")
    model = model_of(tmp_path, action=counts + names, claim=CLAIM)

    with pytest.raises(NotGeneral) as caught:
        lower(model, choose(model))

    assert ["KV163", "KV161"] == [one.code for one in caught.value.all]


def lowered(tmp_path: Path, **parts: str) -> Lowered:
    """The theory of a small model."""
    model = model_of(tmp_path, **parts)
    return lower(model, choose(model))


def test_numbers_are_symbols_with_their_least_value(tmp_path: Path) -> None:
    theory = lowered(tmp_path, action=action("require(s.now + 1 <= cfg.hold)\ns.now = s.now + 1")).theory

    hold = Symbol("cfg.hold", (), "Int", "hold")
    assert (hold,) == theory.rigid
    assert [Compare("<=", Num(1), Apply(hold))] == [axiom.formula for axiom in theory.axioms]
    now = Apply(next(symbol for symbol in theory.state if symbol.name == "now"))
    assert Compare("<=", Plus(now, Num(1)), Apply(hold)) == theory.transitions[0].guard
    assert ("now has no upper bound",) == theory.assumptions


def test_a_number_that_shapes_the_model_keeps_its_value(tmp_path: Path) -> None:
    theory = lowered(tmp_path, action=action("for k in range(cfg.hold):\n    s.flag = not s.flag")).theory

    assert () == theory.rigid
    assert "hold is 2" in theory.assumptions


COMPUTED = {
    "rounds of a loop": action("for k in range(cfg.hold // 5000):\n    s.flag = True"),
    "a bound": action("s.flag = d > 0", "d: Int(0, Config.hold // 100)"),
    "a product in a bound": action("s.flag = d > 0", "d: Int(0, (Config.hold - 2) * (Config.hold - 3) * 0 + 1)"),
    "a position in a table": "\nTABLE = (False,) * 5 + (True,)\n" + action("s.flag = TABLE[cfg.hold]"),
}
"""What is computed of a number before there is a tree: the values that are tried give the same one."""


@pytest.mark.parametrize("name", COMPUTED)
def test_a_number_of_which_the_text_is_computed_keeps_its_value(name: str, tmp_path: Path) -> None:
    theory = lowered(tmp_path, state=STATE.replace("Config.hold", "9"), action=COMPUTED[name]).theory

    assert () == theory.rigid
    assert "hold is 2" in theory.assumptions


SIZED = {
    "a bound": action("s.flag = d > 0", "d: Int(0, PP // 18)"),
    "rounds of a loop": action("for k in range(len(PP) // 18):\n    s.flag = True"),
    "the length of an array": action("for k in range(len(s.owner) // 18):\n    s.flag = True"),
}
"""What is computed of a size that is not called by its name."""


@pytest.mark.parametrize("name", SIZED)
def test_a_size_of_which_the_text_is_computed_is_outside(name: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, action="\nPP = Page\n" + SIZED[name])

    with pytest.raises(NotGeneral) as caught:
        lower(model, choose(model))

    assert "KV160" == caught.value.diagnostic.code
    assert "depends on the size of Page" in caught.value.diagnostic.message


def test_a_number_that_is_set_keeps_its_value(tmp_path: Path) -> None:
    model = model_of(tmp_path, action=action("require(s.now + 1 <= cfg.hold)\ns.now = s.now + 1"))

    theory = lower(model, choose(model, sets={"hold": "7"}), fixed=frozenset({"hold"})).theory

    assert () == theory.rigid
    assert "hold is 7" in theory.assumptions
    assert 7 == theory.switches["hold"]


def test_bounds_of_parameters_are_sums_of_numbers(tmp_path: Path) -> None:
    ticks = action("require(s.now < d)\ns.flag = True", "d: Int(1, 2 * Config.hold + 1)")

    guard = lowered(tmp_path, action=ticks).theory.transitions[0].guard

    shown = str(guard)
    assert "factor=2" in shown and "cfg.hold" in shown and "Num(value=1)" in shown


def test_what_init_requires_of_numbers_is_an_axiom(tmp_path: Path) -> None:
    theory = lowered(tmp_path, action=init("require(cfg.hold >= 5)")).theory

    assert Compare("<=", Num(5), Apply(theory.rigid[0])) in [axiom.formula for axiom in theory.axioms]


def test_init_may_store_a_number_that_it_chooses(tmp_path: Path) -> None:
    few = lowered(tmp_path, state=TIMES, action=init("s.numbers[r] = x", "r: Req, x: Int(3, 5)")).theory

    assert all(f"Num(value={number})" in str(few.init) for number in (3, 4, 5))
    for numbers in ("Int(3, 10)", "Int(0, 60)", "Int(0, Config.hold)"):
        with pytest.raises(NotGeneral, match="KV168"):
            lowered(tmp_path, state=TIMES, action=init("s.numbers[r] = x", f"r: Req, x: {numbers}"))


def test_the_digest_does_not_depend_on_sizes(tmp_path: Path) -> None:
    model = model_of(tmp_path)

    small, large = (lower(model, choose(model, sets={"Req": size})).theory for size in (1, 3))

    assert small == large


def test_switches_change_the_digest(tmp_path: Path) -> None:
    model = model_of(tmp_path, action=action("require(cfg.safe)\ns.flag = True"))

    on, off = (lower(model, choose(model, sets={"safe": value})).theory for value in ("on", "off"))

    assert on.digest != off.digest
    assert [] == list(off.transitions)


def test_symbolic_numbers_are_no_part_of_the_ir(tmp_path: Path) -> None:
    model = model_of(tmp_path, action=action("require(s.now + 1 <= cfg.hold)\ns.now = s.now + 1"))
    before = digest(build(model, choose(model)))

    lower(model, choose(model))

    assert before == digest(build(model, choose(model)))


def test_a_model_that_needs_more_elements_than_are_tried(tmp_path: Path) -> None:
    model = model_of(tmp_path, action=action("s.owner[p] = Req(2)"))

    with pytest.raises(NotGeneral) as caught:
        lower(model, choose(model, sets={"Req": 3}))

    assert ["KV160"] == [one.code for one in caught.value.all]


def test_what_goes_wrong_before_a_guard_that_is_never_true_is_an_obligation(tmp_path: Path) -> None:
    body = "s.phase[s.owner[p]] = Phase.NEW\nrequire(cfg.safe)"
    model = model_of(tmp_path, action=action(body))

    for value in ("on", "off"):
        steps = lower(model, choose(model, sets={"safe": value})).theory.transitions
        assert any(duty.name.startswith("KV203") for step in steps for duty in step.obligations), value


def test_names_of_symbols_are_distinct(tmp_path: Path) -> None:
    state = "\nclass Cell(Record):\n    wanted: Bool\n" + STATE + "    act: Cell\n"
    model = model_of(tmp_path, state=state, action=action("s.flag = p in wanted", "p: Page, wanted: Set(Page)"))

    with pytest.raises(NotGeneral) as caught:
        lower(model, choose(model))

    assert "two relations would be called act.wanted" in caught.value.diagnostic.message
