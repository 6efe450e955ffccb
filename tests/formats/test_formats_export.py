"""`kvproto export` of traces and state graphs on the command line, and the commands of docs/export.md."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from formats_samples import ROOT

from kvproto.cli.main import main

TRACE = str(ROOT / "traces" / "outline-0.5.19-no_free_under_write.trace.json")
DOC = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", DOC, re.DOTALL) for line in block.splitlines()]
FORMS = re.findall(r"^\| (`.*?) \| trace", DOC, re.MULTILINE)

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_documentation(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(command)
    if words[1:2] == ["export"] and "svg" in words and "blocks" in words[2] and shutil.which("dot") is None:
        pytest.skip("the program `dot` of Graphviz is not installed")
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)

    assert words[0] == "kvproto"
    assert main(words[1:]) == 0
    if "-o" in words:
        first = (tmp_path / words[-1]).read_bytes()
        assert main(words[1:]) == 0
        assert first == (tmp_path / words[-1]).read_bytes() != b""


def test_every_form_has_a_command() -> None:
    named = {form for row in FORMS for form in re.findall(r"`(\w+)`", row)}

    assert {"mermaid", "markdown", "svg", "html", "itf", "shiviz", "perfetto", "faults"} == named
    assert named | {"dot"} == {command.split("--to ")[1].split()[0] for command in COMMANDS}


def test_text_goes_to_standard_output(capfd: Captured) -> None:
    assert main(["export", TRACE, "--to", "itf"]) == 0
    out, err = capfd.readouterr()

    assert "no_free_under_write" == json.loads(out)["#meta"]["property"]
    assert err == ""


def test_bytes_go_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    assert main(["export", TRACE, "--to", "perfetto"]) == 0
    out = capfdbinary.readouterr().out
    assert main(["export", TRACE, "--to", "perfetto", "-o", str(tmp_path / "run.pftrace")]) == 0

    assert (tmp_path / "run.pftrace").read_bytes() == out


def test_bytes_do_not_go_to_a_terminal(capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    code = main(["export", TRACE, "--to", "perfetto"])

    assert code == 2
    assert "-o run.pftrace" in capfd.readouterr().err


def test_a_trace_may_be_called_anything(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "found").write_bytes(Path(TRACE).read_bytes())

    assert main(["export", str(tmp_path / "found"), "--to", "mermaid"]) == 0
    assert capfd.readouterr().out.startswith("sequenceDiagram\n")


def test_a_note_says_what_a_graph_leaves_out(capfd: Captured) -> None:
    assert main(["export", "blocks.timers", "--to", "dot", "--max-nodes", "5"]) == 0
    out, err = capfd.readouterr()

    assert "note: more than 5 states: only the first 5 are shown\n" == err
    assert "only the first 5 are shown" in out.splitlines()[0]


def test_a_graph_of_chosen_claims(tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    second = '@invariant("it stays zero")\ndef zero(s):\n    return s.n < 1\n\n\nmodel ='
    (tmp_path / "claims.py").write_text(MODEL.replace("model =", second), encoding="utf-8")
    broken = []
    for more in ([], ["--property", "low"]):
        assert main(["export", str(tmp_path / "claims.py"), "--to", "dot", *more]) == 0
        broken.append(sorted(set(re.findall(r"violates (\w+)", capfd.readouterr().out))))

    assert [["low", "zero"], ["low"]] == broken


def test_a_trace_and_its_model_give_one_graph(capfd: Captured) -> None:
    assert main(["export", TRACE, "--to", "dot"]) == 0
    alone = capfd.readouterr()
    assert main(["export", "outline", "--to", "dot", "--trace", TRACE]) == 0

    assert alone == capfd.readouterr()
    assert "violates no_free_under_write" in alone.out


def test_a_trace_of_a_model_of_ones_own(tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "counts.py").write_text(MODEL, encoding="utf-8")
    model = str(tmp_path / "counts.py")
    assert main(["check", model, "--trace-dir", str(tmp_path), "-q"]) == 1
    (trace,) = tmp_path.glob("*.trace.json")
    capfd.readouterr()

    assert main(["export", model, "--to", "dot", "--trace", str(trace)]) == 0
    assert 2 == capfd.readouterr().out.count("penwidth=3")
    assert main(["export", str(trace), "--to", "dot"]) == 2
    assert "error KV027" in capfd.readouterr().err
    (tmp_path / "changed.py").write_text(MODEL.replace("Int(0, 3)", "Int(0, 4)"), encoding="utf-8")
    assert main(["export", str(tmp_path / "changed.py"), "--to", "dot", "--trace", str(trace)]) == 2
    assert "error KV028" in capfd.readouterr().err


MODEL = '''
from kvproto.lang import *

m = Machine("m", "the machine")


class State(Record):
    n: Int(0, 3)


@action(m)
def up(s):
    """It counts."""
    require(s.n < 3)
    s.n += 1


@invariant("one is the most")
def low(s):
    return s.n < 2


model = Model("counts", "it counts", state=State, parts=[__name__])
'''


@pytest.mark.parametrize(
    ("words", "code", "cure"),
    [
        (("kv_transfer@safe", "--to", "mermaid"), "KV034", "of a model there are: promela, tla, dot, svg"),
        (("kv_transfer@safe", "--to", "html"), "KV034", "of a model"),
        ((TRACE, "--to", "promela"), "KV034", "of a trace there are: mermaid"),
        ((TRACE, "--to", "tla"), "KV034", "of a trace"),
        ((TRACE, "--to", "itf", "--scope", "small"), "KV026", "leave --scope out"),
        ((TRACE, "--to", "svg", "--max-nodes", "3"), "KV026", "leave --max-nodes out"),
        ((TRACE, "--to", "dot", "--trace", TRACE), "KV026", "name one of the two"),
        ((TRACE, "--to", "dot", "--set", "Req=2"), "KV026", "leave --set out"),
        (("outline", "--to", "dot", "--trace", TRACE, "--scope", "small"), "KV026", "leave --scope out"),
        (("blocks.transfer", "--to", "dot", "--properties"), "KV026", "leave --properties out"),
        (("blocks.transfer", "--to", "tla", "--label", "call"), "KV026", "leave --label out"),
        (("blocks.transfer", "--to", "dot", "--label", "cal"), "KV022", "name a variable as traces do"),
        (("blocks.transfer", "--to", "dot", "--max-nodes", "0"), "KV022", "--help"),
        (("blocks.transfer", "--to", "dot", "--trace", TRACE), "KV028", "name its model, outline"),
        (("outline@0.5.21", "--to", "dot", "--trace", TRACE), "KV028", "record it again"),
        (("nothing.json", "--to", "itf"), "KV010", "kvproto check"),
        ((TRACE, "--to", "itf", "-o", "/nowhere/there/file"), "KV021", "name a place"),
    ],
)
def test_refused(words: tuple[str, ...], code: str, cure: str, capfd: Captured) -> None:
    assert main(["export", *words]) == 2
    text = capfd.readouterr().err

    assert f"error {code}" in text
    assert cure in text


@pytest.mark.parametrize("package", ["networkx", "graphviz"])
def test_a_missing_package_is_named(package: str, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name in ("kvproto.formats.dot", "kvproto.formats.graph")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)

    assert main(["export", "blocks.transfer", "--to", "dot"]) == 2
    text = capfd.readouterr().err
    assert f"error KV038  a graph needs the package {package}" in text
    assert "pip install 'kvproto[graph]'" in text
