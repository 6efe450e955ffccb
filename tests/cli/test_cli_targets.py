"""What a target can be, and what is said about one that cannot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvproto.lang.load import find

if TYPE_CHECKING:
    from cli_runs import Run, Write

SMALL = "@invariant('small')\ndef small(s):\n    return s.n < 4\n"


# --- no target ------------------------------------------------------------------------------------------


def test_no_target_gives_the_preset_table(kv: Run) -> None:
    done = kv("check", "--property", "rejected_never_succeeds")
    rows = [line for line in done.out.splitlines() if line.startswith("sglang@")]

    assert done.code == 1
    verdicts = {preset.name: "holds" for preset in find("sglang").model.presets}
    verdicts |= {"0.5.19": "VIOLATED", "incident": "VIOLATED"}
    assert [row.split()[:2] for row in rows] == [[f"sglang@{name}", verdict] for name, verdict in verdicts.items()]
    assert "rejected_never_succeeds (18)" in rows[0]
    assert done.out.splitlines()[-1].startswith("next: kvproto show .kvproto/traces/")


def test_the_table_warns_only_where_the_verdict_rests_on_it(kv: Run) -> None:
    assert "KV301" not in kv("check", "--property", "rejected_never_succeeds").out
    doubtful = kv("check", "--property", "no_deadlock")

    assert doubtful.code == 3
    assert doubtful.out.count("KV301") == doubtful.out.count("INCONCL.") >= 1
    assert "sglang@incident          INCONCL." in doubtful.out


def test_the_table_when_quiet(kv: Run) -> None:
    out = kv("check", "--quiet", "--property", "rejected_never_succeeds").out

    assert "sglang@0.5.19" in out
    assert "patched" not in out


# --- [tool.kvproto] ---------------------------------------------------------------------------------------


def test_a_project_names_targets(kv: Run, write: Write, here: Path) -> None:
    write(SMALL)
    (here / "pyproject.toml").write_text('[tool.kvproto]\ntargets = ["model.py", "outline@patched"]\n')
    done = kv("check")

    assert done.code == 0
    assert done.out.startswith("model.py  engine")
    assert "outline@patched  scope small" in done.out


def test_targets_of_a_project_are_relative_to_it(
    kv: Run, write: Write, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(SMALL)
    write(SMALL, name="pkg_of_project/thing.py")
    (here / "pyproject.toml").write_text('[tool.kvproto]\ntargets = ["model.py", "pkg_of_project.thing:model"]\n')
    (here / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(here / "deep" / "er")

    assert kv("check").code == 0


def test_a_project_without_a_say(kv: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvproto.cli.check.default_targets", lambda: ["kv_transfer@safe"])
    for text in ("", "[project]\nname = 'x'\n", "tool = 3\n", "[tool.kvproto]\n"):
        (here / "pyproject.toml").write_text(text)
        assert kv("check", "--max-depth", "2").out.startswith("kv_transfer@safe  INCONCL.")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.kvproto]\ntarget = ['x']\n", "unknown key 'target'; did you mean 'targets'?"),
        ("[tool.kvproto]\ntargets = 'x'\n", "targets is no list"),
        ("[tool.kvproto]\ntargets = [1]\n", "targets is no list"),
        ("[tool.kvproto]\ntargets = []\n", "at least one"),
        ("[tool]\nkvproto = 1\n", "no table"),
        ("[tool.kvproto\n", "cannot be read"),
        ("\xff\xfe", "cannot be read"),
    ],
)
def test_a_broken_project(kv: Run, here: Path, text: str, words: str) -> None:
    (here / "pyproject.toml").write_bytes(text.encode("latin-1"))
    done = kv("check")

    assert done.code == 2
    assert done.err.startswith("error KV023")
    assert words in done.err


def test_a_target_on_the_command_line_ignores_the_project(kv: Run, here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.kvproto\n")

    assert kv("check", "outline@patched").code == 0


# --- files and modules ------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["model.py", "./model.py", "model.py:model", "model.py@one", "model.py:model@two"])
def test_a_file(kv: Run, write: Write, target: str) -> None:
    write(SMALL, presets='[Preset("one", "1"), Preset("two", "2")]')
    done = kv("check", target)

    assert done.code == 0
    assert done.out.startswith(f"{target}  engine")


def test_a_file_in_a_folder_with_a_strange_name(kv: Run, write: Write) -> None:
    write(SMALL, name="a@b:c.pyd/my model.py", presets='[Preset("one", "1")]')

    assert kv("check", "a@b:c.pyd/my model.py").code == 0
    assert kv("check", "a@b:c.pyd/my model.py:model@one").code == 0


def test_an_object_of_a_package(kv: Run, write: Write, here: Path) -> None:
    write(SMALL, name="pkg_with_model/inner.py")

    assert kv("check", "pkg_with_model.inner:model").code == 0
    wrong = kv("check", "pkg_with_model.inner:modle")
    assert wrong.err.startswith("error KV008")
    assert "did you mean 'model'?" in wrong.err


def test_several_models_in_a_file(kv: Run, write: Write) -> None:
    path = write(SMALL)
    path.write_text(path.read_text().replace("model = Model", "first = Model") + "second = first\n")

    assert kv("check", "model.py").err.startswith("error KV008")
    assert kv("check", "model.py:first").code == 0


def test_siblings_of_the_same_name_are_not_mixed_up(kv: Run, here: Path, write: Write) -> None:
    for folder in ("one", "two"):
        write("from namesake import LIMIT\n" + SMALL, name=f"{folder}/model.py")
        (here / folder / "namesake.py").write_text("LIMIT = 1\n")
    done = kv("check", "one/model.py", "two/model.py")

    assert done.code == 2
    assert "namesake has been loaded from" in done.err
    assert kv("check", "one/model.py").code == 0


def test_traces_of_two_models_do_not_replace_each_other(kv: Run, write: Write) -> None:
    write(SMALL, name="one/model.py")
    write(SMALL.replace("4", "2"), name="two/model.py")
    done = kv("check", "one/model.py", "two/model.py")

    assert done.code == 2
    assert "two/model.py and one/model.py would write traces of the same names" in done.err
    assert kv("check", "one/model.py", "one/model.py").code == 0


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"x = (\n", "KV009", "model.py:1   x = ("),
        (b"import no_such_module\n", "KV007", "No module named 'no_such_module'"),
        (b"\n\n1 / 0\n", "KV007", "model.py:3   1 / 0"),
        ("x = 'éé'; y = 1 / 0\n".encode(), "KV007", "\n" + " " * 29 + "^^^^^\n"),
        (b"import sys\nsys.exit(0)\n", "KV007", "SystemExit"),
        (b"raise ValueError('two\\nlines \\x1b[2J')\n", "KV007", "ValueError: two lines \\x1b[2J"),
        (b"class E(BaseException): pass\nraise E\n", "KV007", "E:"),
        (b"", "KV008", "no model in the module"),
        (b"model = 3\n", "KV008", "no model in the module"),
        (bytes(range(256)), "KV009", "not UTF-8"),
        ("model = 1\n".encode("utf-16"), "KV009", "not UTF-8"),
        (b"x = '\0'\n", "KV009", "null bytes"),
        (b"\xef\xbb\xbfx = 1\n", "KV009", "byte order mark"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "KV009", "not UTF-8"),
        (b"# -*- coding: klingon -*-\n", "KV009", "klingon"),
    ],
)
def test_a_file_that_is_no_model(kv: Run, here: Path, content: bytes, code: str, words: str) -> None:
    (here / "model.py").write_bytes(content)
    done = kv("check", "model.py")

    assert done.code == 2
    assert done.err.startswith(f"error {code}  ")
    assert words in done.err
    assert "Traceback" not in done.err
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    "target",
    ["", "@", ":", ":x", "x:", "..:x", ".a:b", "a..b:c", "no.py", "no/such/dir.py", "a\0.py", "a\nb", "sglang:", "é"],
)
def test_a_target_that_is_nothing(kv: Run, target: str) -> None:
    done = kv("check", target)

    assert done.code == 2
    assert done.err.startswith(("error KV001  ", "error KV002  "))
    assert len(done.err.splitlines()) == 3


def test_a_folder(kv: Run, here: Path) -> None:
    (here / "model.py").mkdir()

    assert "is a folder" in kv("check", "model.py").err


def test_hints(kv: Run) -> None:
    assert "did you mean 'sglang'?" in kv("check", "sglnag").err
    assert "did you mean 'incident'?" in kv("check", "sglang@incidnet").err
    assert "did you mean 'reads_own_writes'?" in kv("check", "sglang", "--property", "read_own_writes").err
    assert "did you mean 'check'?" in kv("chekc").err
