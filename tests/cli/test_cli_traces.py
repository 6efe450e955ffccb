"""The folder of traces: names that tell searches apart, and runs that are no longer possible."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli_runs import Run, Write

FOLDER = Path(".kvproto/traces")

CONFIG = """from kvproto.lang import flag, number, Params


class Config(Params):
    far: Int = number(2, "how far is too far", least=0, most=9)
    fixed: Bool = flag(False, "it stops in time")


cfg = Config()


@action(m)
def twice(s, r: Req):
    \"\"\"It counts for a request.\"\"\"
    require(s.n < 3)
    s.n += 1


@invariant('it does not go far')
def near(s):
    return cfg.fixed or s.n < cfg.far


"""

SCOPES = '[Scope("small", "two", Req=2), Scope("medium", "three", Req=3), Scope("far", "late", far=3)]'
PRESETS = '[Preset("base", "as it is"), Preset("wide", "with three", scope="medium")]'


def model(write: Write, name: str = "model.py", text: str = CONFIG) -> Path:
    return write(text, name=name, params="Config", scopes=SCOPES, presets=PRESETS)


def names() -> list[str]:
    return sorted(p.name.removesuffix(".trace.json") for p in FOLDER.iterdir())


@pytest.mark.parametrize(
    ("args", "name"),
    [
        (("model.py",), "mine-base-near"),
        (("model.py", "--scope", "small"), "mine-base-near"),
        (("model.py", "--scope", "medium"), "mine-base-medium-near"),
        (("model.py@wide",), "mine-wide-near"),
        (("model.py@wide", "--scope", "small"), "mine-wide-small-near"),
        (("model.py", "--set", "Req=2", "--set", "far=2"), "mine-base-near"),
        (("model.py", "--set", "far=1"), "mine-base-far=1-near"),
        (("model.py", "--set", "fixed=off", "--set", "Req=1"), "mine-base-Req=1-near"),
        (("model.py", "--scope", "far", "--set", "far=2"), "mine-base-far-far=2-near"),
    ],
)
def test_a_name_holds_what_is_not_the_presets(kv: Run, write: Write, args: tuple[str, ...], name: str) -> None:
    model(write)

    assert kv("check", *args).code == 1
    assert [name] == names()


def test_a_scope_keeps_the_traces_of_another(kv: Run, write: Write) -> None:
    model(write)
    kv("check", "model.py")
    before = (FOLDER / "mine-base-near.trace.json").read_bytes()
    kv("check", "model.py", "--scope", "medium")

    assert ["mine-base-medium-near", "mine-base-near"] == names()
    assert before == (FOLDER / "mine-base-near.trace.json").read_bytes()
    assert "scope small" in kv("show", str(FOLDER / "mine-base-near.trace.json")).out


def test_a_file_keeps_the_traces_of_another(kv: Run, write: Write) -> None:
    """Variants of a model in files of their own, checked one after the other or at once."""
    for name in ("old.py", "new.py", "mine.py", "folder/model.py"):
        model(write, name=name)
        kv("check", name)

    assert ["mine-base-near", "mine-base-new-near", "mine-base-old-near"] == names()
    both = kv("check", "old.py", "new.py", "--scope", "medium")
    assert 1 == both.code
    assert ["mine-base-new-medium-near", "mine-base-old-medium-near"] == [name for name in names() if "medium" in name]


def test_a_run_that_a_fix_makes_impossible_leaves_no_trace(kv: Run, write: Write) -> None:
    model(write)
    kv("check", "model.py")
    model(write, text=CONFIG.replace("s.n < cfg.far", "s.n < 9"))
    fixed = kv("check", "model.py")

    assert (0, []) == (fixed.code, names())
    assert f"removed {FOLDER}/mine-base-near.trace.json: the run that it tells of is no longer possible" in fixed.err
    assert kv("check", "model.py").err == ""


def test_a_witness_that_is_gone(kv: Run, write: Write) -> None:
    sometimes = "@sometimes('it gets there')\ndef there(s):\n    return s.n == {}\n"
    write(sometimes.format(3))
    assert kv("check", "model.py").code == 0
    write(sometimes.format(4))

    assert kv("check", "model.py").code == 1
    assert [] == names()


def test_a_search_that_proves_nothing_removes_nothing(kv: Run, write: Write) -> None:
    model(write)
    kv("check", "model.py")

    assert kv("check", "model.py", "--max-depth", "1").code == 3
    assert ["mine-base-near"] == names()


@pytest.mark.parametrize("change", ["another file", "no trace", "another property", "another scope"])
def test_what_is_not_of_this_search_is_kept(kv: Run, write: Write, change: str) -> None:
    model(write)
    kv("check", "model.py")
    file = FOLDER / "mine-base-near.trace.json"
    if change == "no trace":
        file.write_text("notes")
    if change == "another property":
        file.write_text(file.read_text().replace('"property": "near"', '"property": "nearer"'))
    model(
        write,
        name="other/same.py" if change == "another file" else "model.py",
        text=CONFIG.replace("s.n < cfg", "s.n < 9 + cfg"),
    )
    target = "other/same.py" if change == "another file" else "model.py"
    more = ("--scope", "medium") if change == "another scope" else ()
    before = file.read_bytes()

    assert kv("check", target, *more).code == 0
    assert before == file.read_bytes()
