"""`list`, `explain` and `show`."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvproto.diagnostics import CATALOGUE

if TYPE_CHECKING:
    from cli_runs import Run, Write

TRACE = ".kvproto/traces/outline-incident-reads_own_writes.trace.json"
SOURCE = Path(__file__).parents[2] / "kvproto"


@pytest.fixture
def trace(kv: Run, here: Path) -> Path:
    kv("check", "outline@incident", "--property", "reads_own_writes")
    return here / TRACE


def test_list_all(kv: Run) -> None:
    done = kv("list")

    assert done.code == 0
    assert re.search(r"^outline   ", done.out, re.MULTILINE)
    assert re.search(r"^kv_transfer   ", done.out, re.MULTILINE)
    for word in ("presets", "scopes", "sorts", "parameters", "properties", "incident", "deferred_release=off"):
        assert word in done.out


def test_list_one(kv: Run, write: Write) -> None:
    assert "kv_transfer" not in kv("list", "outline").out
    assert "outline" not in kv("list", "kv_transfer@safe").out
    write("@invariant('it stays small')\ndef small(s):\n    return s.n < 4\n")
    assert "small  it stays small" in kv("list", "model.py").out


FAIR = """@action(m, fair="weak")
def back(s):
    require(s.n == 3)
    s.n = 0


@action(m)
def take(s, r: Req):
    s.who = r


def within(s):
    {doc}
    return s.n < 9


"""


def test_list_fairness(kv: Run, write: Write) -> None:
    """Of single actions and of groups."""
    write(FAIR.format(doc=""), fairness='[strong(take, per="r"), weak(inc, take)]')
    out = kv("list", "model.py").out
    _, _, section = out.partition("  fairness\n")

    assert [line.split("  ")[2] for line in section.splitlines()] == ["weak(back)", "strong(take)", "weak(inc, take)"]
    assert re.search(r"strong\(take\) .* again, for each r$", section, re.MULTILINE)
    assert "constraint" not in out
    write("")
    assert "fairness" not in kv("list", "model.py").out


@pytest.mark.parametrize(
    ("doc", "said"),
    [
        ('"""Not too\n    large.\n\n    More."""', "within  Not too large."),
        ("", "within  states outside of it are judged, but not left"),
    ],
)
def test_list_a_constraint(kv: Run, write: Write, doc: str, said: str) -> None:
    write(FAIR.format(doc=doc), constraint="within")

    assert kv("list", "model.py").out.endswith(f"  constraint\n    {said}\n")


def test_list_prints_nothing_before_all_is_found(kv: Run) -> None:
    done = kv("list", "outline", "nothing")

    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_explain_every_code(kv: Run, code: str) -> None:
    done = kv("explain", code.lower())

    assert done.code == 0
    assert done.out.startswith(f"{code}  {CATALOGUE[code].title}\n")
    assert max(map(len, done.out.splitlines())) <= 110


def test_every_code_that_is_used_can_be_explained() -> None:
    used = {code for path in SOURCE.rglob("*.py") for code in re.findall(r'"(KV\d{3})"', path.read_text())}

    assert used - set(CATALOGUE) == set()


def test_explain_every_property(kv: Run) -> None:
    for model in ("outline", "kv_transfer"):
        listed = kv("list", model).out.partition("  properties\n")[2].partition("\n\n")[0]
        names = [line.split()[0] for line in listed.splitlines() if line.startswith("    ")]
        assert names
        for name in names:
            done = kv("explain", name)
            assert done.code == 0
            assert done.out.startswith(f"{name}  (model ")


@pytest.mark.parametrize(
    ("word", "hint"),
    [("reads_own_write", "'reads_own_writes'"), ("KV1077", "'KV107'"), ("kv20x", "'KV20"), ("?", ""), ("", "")],
)
def test_explain_something_unknown(kv: Run, word: str, hint: str) -> None:
    done = kv("explain", word)

    assert done.code == 2
    assert done.err.startswith("error KV017")
    assert (f"did you mean {hint}" in done.err) == bool(hint)


def test_show(kv: Run, trace: Path) -> None:
    done = kv("show", str(trace))

    assert done.code == 0
    assert done.out.startswith("VIOLATED  reads_own_writes")
    assert max(map(len, kv("show", str(trace), "--width", "60").out.splitlines()[:20])) <= 60


@pytest.mark.parametrize("target", ["outline@incident", "kv_transfer@vulnerable", "model.py"])
def test_show_offers_only_what_works(kv: Run, write: Write, target: str) -> None:
    """Each command at the end does what it says, for shipped models, those without an implementation, and others."""
    write("@invariant('small')\ndef small(s):\n    return s.n < 2\n", deadlock="True")
    kv("check", target)
    offered = set()
    for trace in sorted(Path(".kvproto/traces").iterdir()):
        text = kv("show", str(trace), "--width", "200").out
        commands = [line.split("  ")[1] for line in text.splitlines() if line.startswith("  kvproto ")]
        assert ("\nNext\n" in text) == bool(commands)
        for command in commands:
            _, *words = shlex.split(command)
            assert kv(*words).code == 0
            offered.add(words[0])

    assert {"outlin": {"replay", "explain"}, "kv_tra": {"explain"}, "model.": set()}[target[:6]] == offered


def test_show_does_not_import_what_a_trace_names(kv: Run, trace: Path, here: Path) -> None:
    (here / "evil.py").write_text("raise SystemExit(9)")
    for name in ("evil.py", "evil:model", "evil"):
        trace.write_text(trace.read_text().replace('"model": "outline"', f'"model": "{name}"'))
        done = kv("show", str(trace))
        assert (done.code, done.err) == (0, "")
        trace.write_text(trace.read_text().replace(f'"model": "{name}"', '"model": "outline"'))


def test_show_a_truncated_trace(kv: Run, trace: Path) -> None:
    text = trace.read_bytes()
    for length in (0, 1, 10, len(text) // 2, len(text) - 3):
        trace.write_bytes(text[:length])
        done = kv("show", str(trace))
        assert done.code == 2
        assert done.err.startswith("error KV011")
        assert done.out == ""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", "kvproto.trace/9"),
        ("steps", {}),
        ("steps", [1]),
        ("init", []),
        ("blame", ["no such path"]),
        ("loop", 99),
        ("why", "x"),
        ("vocabulary", None),
        ("parameters", {"x": []}),
        ("verdict", 1),
    ],
)
def test_show_a_trace_with_a_wrong_field(kv: Run, trace: Path, key: str, value: object) -> None:
    fields = json.loads(trace.read_text())
    trace.write_text(json.dumps({**fields, key: value}))
    done = kv("show", str(trace))

    assert done.code == 2
    assert done.err.startswith("error KV012")
    assert f"/{key}" in done.err


def test_show_hostile_text(kv: Run, trace: Path) -> None:
    fields = json.loads(trace.read_text())
    evil = "\x1b[2J\u202e\nVIOLATED"
    fields |= {"claim": evil, "why": [evil], "model": evil, "property": evil}
    trace.write_text(json.dumps(fields))
    done = kv("show", str(trace))

    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[]", b"null", b"[" * 100_000, b"{}", b"1" * 5000])
def test_show_what_is_no_trace(kv: Run, here: Path, content: bytes) -> None:
    (here / "x.json").write_bytes(content)
    done = kv("show", "x.json")

    assert done.code == 2
    assert re.match(r"error KV01[012]  ", done.err)


@pytest.mark.parametrize("place", [".", "", "nothing", "a\0b"])
def test_show_what_is_no_file(kv: Run, place: str) -> None:
    assert kv("show", place).err.startswith("error KV010")


def test_replay(kv: Run, trace: Path) -> None:
    assert kv("replay", str(trace)).code == 0
    outcome = json.loads(kv("replay", str(trace), "--json", "-").out)
    assert outcome["agrees"] is True
    assert kv("replay", str(trace), "--save").code == 0
    assert json.loads(trace.read_text())["replay"] == outcome
    assert kv("replay", str(trace), "--json", "nowhere/x").err.startswith("error KV021")
    assert kv("replay", str(trace), "--set", "reject_at_admission").err.startswith("error KV006")
    assert kv("replay", str(trace), "--set", "reject_at_admission=maybe").err.startswith("error KV006")
    assert kv("replay", str(trace), "--set", "reject_at_admission=on").code == 0
