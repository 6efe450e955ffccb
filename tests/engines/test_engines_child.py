"""The engine's process from outside: what it says, and what is said of it when it goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kvproto.diagnostics import KvError
from kvproto.engines import child, kept
from kvproto.engines.protocol import Possible, Sizes

SIZES = Sizes(requests=1, context=1, short=1, prefill_pages=1, limit=1, decode_pages=1, prefill_rows=1, decode_rows=1)

ECHO = """
import json, sys
print(json.dumps({"ok": True, "version": "0.5.19", "python": "3"}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    state = {"state": {"asked": asked}, "violations": ["claim"]}
    print(json.dumps({"ok": True, "refused": "", "points": ["a"], "aside": [], "notes": [], "actions": [
        {"action": "admit", "args": {"r": "A"}}], "performed": 1, **state}), flush=True)
"""
FAILS = """
import json, sys
print("a last word", file=sys.stderr, flush=True)
print(json.dumps({"ok": False, "kind": %r, "text": "no such thing", "where": "srt/x.py:3, in f", "trace": ""}))
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> kept.Engine:
    monkeypatch.setenv("KVPROTO_ENGINES", str(tmp_path))
    monkeypatch.setattr(kept, "light", lambda: tmp_path)
    found = kept.parse("sglang==0.5.19")
    found.folder.mkdir()
    kept.write_done(found.folder, {})
    return found


@pytest.fixture
def echo(release: kept.Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[child.Child]:
    monkeypatch.setattr(child, "BOOT", ECHO)
    with child.Child(release) as found:
        yield found


def test_questions(echo: child.Child) -> None:
    assert echo.version == "0.5.19"
    assert echo.start(SIZES).state["asked"]["sizes"] == SIZES.asked()
    assert echo.actions() == [Possible("admit", {"r": "A"})]
    done = echo.perform("admit", {"r": "A"})
    assert (done.points, done.now.violations) == (("a",), ("claim",))
    assert done.now.state["asked"] == {"do": "perform", "action": "admit", "args": {"r": "A"}}
    performed, refused, now = echo.run(SIZES, [Possible("admit", {"r": "A"})])
    assert (performed, refused) == (1, "")
    assert now.state["asked"]["steps"] == [{"action": "admit", "args": {"r": "A"}}]


@pytest.mark.parametrize(("kind", "code"), [("AttributeError", "KV055"), ("RuntimeError", "KV056")])
def test_failures(release: kept.Engine, monkeypatch: pytest.MonkeyPatch, kind: str, code: str) -> None:
    monkeypatch.setattr(child, "BOOT", FAILS % kind)
    with pytest.raises(KvError) as refused:
        child.Child(release)

    assert refused.value.diagnostic.code == code
    assert f"{kind}: no such thing" in refused.value.diagnostic.message
    assert "srt/x.py:3, in f" in refused.value.diagnostic.reason
    assert isinstance(refused.value, child.EngineRaised) == (code == "KV056")


def test_death_is_told_with_the_last_words(release: kept.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "BOOT", "import sys; print('out of memory', file=sys.stderr); sys.exit(3)")
    with pytest.raises(KvError) as refused:
        child.Child(release)

    assert refused.value.diagnostic.code == "KV056"
    assert "(exit code 3)" in refused.value.diagnostic.message
    assert "out of memory" in refused.value.diagnostic.reason


def test_death_between_questions(echo: child.Child) -> None:
    echo._process.kill()
    echo._process.wait()
    with pytest.raises(KvError) as refused:
        echo.actions()

    assert refused.value.diagnostic.code == "KV056"
    assert "(signal 9)" in refused.value.diagnostic.message


def test_death_in_the_middle_of_an_answer(release: kept.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "BOOT", """import sys; sys.stdout.write('{"ok": tr'); sys.stdout.flush(); sys.exit(3)""")
    with pytest.raises(KvError) as refused:
        child.Child(release)

    assert refused.value.diagnostic.code == "KV056"


def test_silence_is_ended(echo: child.Child, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "PATIENCE", 0.0)
    with pytest.raises(KvError) as refused:
        _ask(echo, times=100_000)

    assert refused.value.diagnostic.code == "KV056"


def _ask(found: child.Child, *, times: int) -> None:
    for _ in range(times):
        found.actions()


def test_the_process_sees_nothing_of_this_one(release: kept.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither settings nor packages: what a run does depends on the release and the light packages alone."""
    monkeypatch.setenv("SGLANG_DISAGGREGATION_WAITING_TIMEOUT", "1")
    probe = """
import json, os, sys
seen = {"env": "SGLANG_DISAGGREGATION_WAITING_TIMEOUT" in os.environ, "site": "site" in sys.modules,
        "home": os.environ["HOME"] == os.path.expanduser("~") == os.getcwd()}
print(json.dumps({"ok": True, "version": json.dumps(seen), "python": "3"}), flush=True)
sys.stdin.read()
"""
    monkeypatch.setattr(child, "BOOT", probe)
    with child.Child(release) as found:
        assert found.version == '{"env": false, "site": false, "home": true}'
