"""`kvproto list --cites`: what actions and parameters stand for, as a table, as data, and the other way round."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from cli_runs import Run, Write

MODEL = '''
class Config(Params):
    held: bool = flag(False, "pages are held", cites=("0.5.21+ srt/environ.py:HOLD_PAGES", "#36988"))
    size: int = number(1, "no source")


n = Machine("n", "the network")


@action(n, cites=("0.5.20+ srt/prefill.py:Queue.retire_aborted", "..0.5.19 srt/prefill.py:Queue.process_result"))
def retire(s):
    """It
    retires."""
    s.done = True


@action(m, cites="mooncake:src/engine.cpp:Engine::send")
def send(s):
    """It sends."""
    s.done = True


@action(n, cites="note: the router sends the same body to both sides, and gives back the answer of one of them only")
def route(s):
    s.done = True
'''

TABLE = """\
model.py   a small model
  m
    inc
      nothing
    send
      every     mooncake:src/engine.cpp:Engine::send
  n
    retire
      0.5.20+   srt/prefill.py:Queue.retire_aborted
      ..0.5.19  srt/prefill.py:Queue.process_result
    route
      every     note: the router sends the same body to both sides, and gives
                back the answer of one of them only
  parameters
    held
      0.5.21+   srt/environ.py:HOLD_PAGES
      every     #36988
"""


@pytest.fixture
def model(write: Write) -> Path:
    presets = "[Preset('0.5.19', 'old'), Preset('0.5.21', 'new'), Preset('other', 'no release')]"
    return write(MODEL, params="Config", presets=presets)


def test_the_table(kv: Run, model: Path) -> None:
    done = kv("list", "model.py", "--cites")

    assert (0, TABLE, "") == (done.code, done.out, done.err)


def test_a_model_may_stand_behind_the_option(kv: Run, model: Path, write: Write) -> None:
    assert TABLE == kv("list", "--cites", "model.py").out
    write("", name="xyzzy.py")
    assert kv("list", "--cites", "xyzzy").err.startswith("error KV")
    assert kv("list", "--cites", "kv_transfer").out == kv("list", "kv_transfer", "--cites").out


def test_a_release_leaves_its_own_citations(kv: Run, model: Path) -> None:
    old, new, other = (kv("list", f"model.py@{name}", "--cites").out for name in ("0.5.19", "0.5.21", "other"))

    assert "process_result" in old
    assert "retire_aborted" not in old
    assert "HOLD_PAGES" not in old
    assert "process_result" not in new
    assert "HOLD_PAGES" in new
    assert TABLE.partition("\n")[2] == other.partition("\n")[2]


def test_what_cites_a_function(kv: Run, model: Path) -> None:
    done = kv("list", "model.py", "--cites", "RETIRE_ab")

    expected = "  n\n    retire\n      It retires.\n      0.5.20+  srt/prefill.py:Queue.retire_aborted\n"
    assert (0, "model.py   a small model\n" + expected) == (done.code, done.out)
    assert "route" in kv("list", "model.py", "--cites", "router").out
    assert ["held", "retire"] == re.findall(r"^    (\w+)$", kv("list", "model.py", "--cites", "srt/").out, re.M)[::-1]


def test_a_function_is_looked_for_in_all_models(kv: Run, model: Path) -> None:
    done = kv("list", "model.py", "kv_transfer", "--cites", "retire_aborted")

    assert done.code == 0
    assert "model.py   " in done.out
    assert "kv_transfer   " not in done.out


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("model.py", "--cites", "retire_abortd"), "KV033", "did you mean 'retire_aborted'?"),
        (("model.py@0.5.19", "--cites", "HOLD_PAGES"), "KV033", "cites 'HOLD_PAGES'"),
        (("kv_transfer", "--cites", "x"), "KV033", "nothing in kv_transfer cites 'x'"),
        (("model.py", "--json", "-"), "KV026", "--json goes with --cites"),
        (("model.py", "--cites", "--actions"), "KV026", "two lists"),
        (("model.py", "--cites", "--json", "nowhere/x.json"), "KV021", "nowhere"),
        (("nothing", "--cites"), "KV001", "nothing"),
        (("model.py@nothing", "--cites"), "KV002", "nothing"),
    ],
)
def test_what_is_refused(kv: Run, model: Path, args: tuple[str, ...], code: str, words: str) -> None:
    done = kv("list", *args)

    assert (2, "") == (done.code, done.out)
    assert done.err.startswith(f"error {code}")
    assert words in done.err


def test_a_model_without_citations(kv: Run) -> None:
    assert kv("list", "kv_transfer", "--cites").out.endswith("\n  cites nothing\n")


def test_as_data(kv: Run, model: Path, here: Path) -> None:
    done = kv("list", "model.py@0.5.21", "--cites", "--json", "-")
    found = json.loads(done.out)

    assert ("kvproto.cites/1", "mine", "0.5.21") == (found["schema"], found["model"], found["preset"])
    entries = {entry["name"]: entry for entry in found["entries"]}
    assert [("action", "m"), ("action", "n"), ("parameter", None)] == sorted(
        {(entry["kind"], entry["machine"]) for entry in found["entries"]}, key=str
    )
    assert [
        {
            "text": "0.5.20+ srt/prefill.py:Queue.retire_aborted",
            "first": "0.5.20",
            "last": None,
            "kind": "code",
            "project": None,
            "path": "srt/prefill.py",
            "name": "Queue.retire_aborted",
        }
    ] == entries["retire"]["cites"]
    assert [("code", "0.5.21"), ("pull", None)] == [(c["kind"], c["first"]) for c in entries["held"]["cites"]]
    assert "mooncake" == entries["send"]["cites"][0]["project"]
    assert entries["route"]["cites"][0]["path"] is None


def test_data_in_a_file_beside_the_table(kv: Run, model: Path, here: Path) -> None:
    done = kv("list", "model.py", "kv_transfer", "--cites", "--json", "cites.json")

    assert done.out.startswith(TABLE)
    assert ["mine", "kv_transfer"] == [value["model"] for value in json.loads((here / "cites.json").read_text())]
    assert kv("list", "model.py", "--cites", "retire_ab", "--json", "-").out.count('"text"') == 1


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("f" * 51, 1),
        ("f" * 52, 2),
        ("Class." + "f" * 48 + ".g", 2),
        ("Class." + "f" * 49 + ".g", 3),
        ("Class." + "f" * 40, 1),
        ("Class." + "f" * 50, 2),
        ("Class." + "f" * 56, 3),
        ("Class" * 6 + "." + "f" * 45, 3),
        ("A.B.C.D." * 9 + "f", 3),
        ("A" * 55 + "." + "g" * 10, 3),
    ],
)
def test_lines_are_short(kv: Run, write: Write, name: str, lines: int) -> None:
    write(f"@action(m, cites='0.5.19..0.5.21 a/b.py:{name}')\ndef go(s):\n    s.done = True\n")
    out = kv("list", "model.py", "--cites").out
    shown = out.partition("0.5.19..0.5.21")[2].splitlines()

    assert max(map(len, out.splitlines())) <= 80
    assert lines == len(shown)
    assert f"a/b.py:{name}" == "".join(line.strip() for line in shown)


@pytest.mark.parametrize(
    ("folder", "name", "lines"),
    [
        ("d" * 48, "f" * 1, 1),
        ("d" * 48, "f" * 9, 2),
        ("d" * 48 + "/" + "e" * 48, "f" * 10, 2),
        ("d" * 48 + "/" + "e" * 48, "f" * 11, 3),
        ("d" * 56 + "/" + "e" * 56, "f" * 9, 3),
    ],
)
def test_long_paths(kv: Run, write: Write, folder: str, name: str, lines: int) -> None:
    """A name goes on the last line of a path that has several, if there is room for it."""
    write(f"@action(m, cites='mooncake:{folder}/b.cpp:{name}')\ndef go(s):\n    s.done = True\n")
    shown = kv("list", "model.py", "--cites").out.partition("      every  ")[2].splitlines()

    assert f"mooncake:{folder}/b.cpp:{name}" == "".join(line.strip() for line in shown)
    assert lines == len(shown)
    assert max(len(shown[0]) + 13, *map(len, shown)) <= 80


@pytest.mark.parametrize(
    ("words", "lines"), [("x" * 37 + " " + "y" * 36, 1), ("x" * 37 + " " + "y" * 37, 2), ("x" * 80, 1)]
)
def test_docstrings_are_wrapped(kv: Run, write: Write, words: str, lines: int) -> None:
    write(f"@action(m, cites='#1')\ndef go(s):\n    '{words}'\n    s.done = True\n")
    out = kv("list", "model.py", "--cites", "#1").out

    assert lines == sum("x" in line or "y" in line for line in out.splitlines()[3:-1])
    assert not any(line.isspace() for line in out.splitlines())
