"""The file format: round trip, stable bytes, refusals with a place."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slice_sample import half_written
from trace_samples import SAMPLES, STORED, stored
from trace_strategies import containing, traces, transfers

from kvproto.diagnostics import KvError
from kvproto.trace import codec
from kvproto.trace.trace import Trace

relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)


def refusal(text: str) -> tuple[str, str]:
    """Code and message with which a text is refused."""
    with pytest.raises(KvError) as caught:
        codec.loads(text, name="x.trace.json")
    diagnostic = caught.value.diagnostic
    assert diagnostic.render().isprintable() or "\n" in diagnostic.render()
    assert not set(diagnostic.message) & set("\n\r\x1b")
    return diagnostic.code, diagnostic.message


def attempt(text: str) -> Trace | None:
    """The trace, or None if the text is properly refused; a trace must survive another round."""
    try:
        trace = codec.loads(text, name="x.trace.json")
    except KvError as error:
        if error.diagnostic.code not in ("KV011", "KV012"):
            raise
        return None
    assert codec.loads(codec.dumps(trace), name="again") == trace
    return trace


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_round_trip(name: str) -> None:
    trace = SAMPLES[name]()
    text = codec.dumps(trace)
    assert codec.loads(text, name=name) == trace
    assert codec.dumps(codec.loads(text, name=name)) == text
    assert text.isascii()
    assert text.endswith("}\n")


@given(traces() | transfers() | containing())
@relaxed
def test_any_trace_round_trips(trace: Trace) -> None:
    text = codec.dumps(trace)
    again = codec.loads(text, name="x")
    assert again == trace
    assert codec.dumps(again) == text


def test_one_line_a_step() -> None:
    trace = stored("incident")
    lines = [line for line in codec.dumps(trace).splitlines() if line.startswith('  {"action"')]
    assert len(lines) == len(trace.steps)


def test_stored_samples_are_in_the_written_form() -> None:
    for path in STORED.glob("*.trace.json"):
        assert codec.dumps(codec.read(path)) == path.read_text("utf-8")


def test_every_truncation_is_refused() -> None:
    text = codec.dumps(stored("plain"))
    for end in range(len(text) - 2):
        code, message = refusal(text[:end])
        assert code == "KV011"
        assert "ends too early" in message


@given(st.data())
@relaxed
def test_mutated_bytes_are_refused_or_make_a_trace(data: st.DataObject) -> None:
    text = codec.dumps(stored("late_write"))
    at = data.draw(st.integers(0, len(text) - 1))
    size = data.draw(st.integers(0, 3))
    attempt(text[:at] + data.draw(st.text(max_size=3)) + text[at + size :])


def test_each_byte_replaced() -> None:
    text = codec.dumps(stored("plain"))
    for at in range(len(text)):
        for new in '"[}0,\\':
            attempt(text[:at] + new + text[at + 1 :])


WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    99,
    1.5,
    10**30,
    "",
    "x",
    [],
    [None],
    [[]],
    {},
    {"a": {}},
    {"lock": [1, 2]},
]


def places(tree: Any, route: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The route to every node of a JSON tree."""
    yield route
    for key, item in (
        tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    ):
        yield from places(item, (*route, key))


def replaced(tree: Any, route: tuple[Any, ...], new: Any) -> Any:
    """The tree with one node replaced."""
    if not route:
        return new
    copy = tree.copy()
    copy[route[0]] = replaced(tree[route[0]], route[1:], new) if route[1:] else new
    return copy


@pytest.mark.parametrize("name", ["plain", "late_write"])
def test_each_value_replaced(name: str) -> None:
    tree = json.loads(codec.dumps(stored(name)))
    for route in places(tree):
        for new in WRONG:
            attempt(json.dumps(replaced(tree, route, new)))


def test_each_key_removed_is_named() -> None:
    tree = json.loads(codec.dumps(stored("plain")))
    for route in places(tree):
        if (
            not route
            or route[0] in ("parameters", "init")
            or (len(route) > 1 and route[-2] in ("args", "delta"))
        ):
            continue
        if isinstance(route[-1], str):
            parent = tree
            for key in route[:-1]:
                parent = parent[key]
            shorter = replaced(tree, route[:-1], {k: v for k, v in parent.items() if k != route[-1]})
            code, message = refusal(json.dumps(shorter))
            assert code == "KV012"
            assert route[-1] in message


@pytest.mark.parametrize(
    ("route", "new", "words"),
    [
        (
            ("schema",),
            "kvproto.trace/2",
            "/schema: expected \"kvproto.trace/1\", found the string 'kvproto.trace/2'",
        ),
        (("steps", 1, "action"), 3, "/steps/1/action: expected a string, found the number 3"),
        (("steps", 0, "delta"), {"zzz": [0, 1]}, "/steps/0/delta/zzz: expected a variable of init"),
        (
            ("steps", 0, "delta"),
            {"lock": ["B", "A"]},
            "/steps/0/delta/lock/0: expected the value before this step, null",
        ),
        (
            ("steps", 0, "delta"),
            {"lock": [None]},
            "/steps/0/delta/lock: expected [old, new], found an array of 1",
        ),
        (("steps", 0, "delta"), {"lock": [None, {}]}, "/steps/0/delta/lock/1: expected a boolean"),
        (("steps", 0, "reads", 0), "zzz", "/steps/0/reads/0: expected a variable of init"),
        (("steps", 0, "more"), 1, "/steps/0/more: expected no such key"),
        (("blame", 0), "zzz", "/blame/0: expected a variable of init"),
        (("loop",), 3, "/loop: expected a number from 0 to 2, found the number 3"),
        (("loop",), -1, "/loop: expected a number from 0 to 2, found the number -1"),
        (("loop",), True, "/loop: expected null or the number of a state, found true"),
        (("replay",), [], "/replay: expected null or an object, found an array of 0"),
        (("init", "a/b~c"), 1.5, "/init/a~1b~0c: expected a boolean"),
        (
            ("parameters", "Proc"),
            None,
            "/parameters/Proc: expected a boolean, an integer or a string, found null",
        ),
        (
            ("vocabulary", "pools"),
            [{"name": "p", "pages": ["0"], "owner": "o", "content": "c"}],
            "/pools/0/owner",
        ),
        (
            ("vocabulary", "flights"),
            [{"requests": ["A"], "field": "at[{r}]", "target": "", "source": ""}],
            "/flights/0/field: expected the path of a set",
        ),
        (("grounds",), [{"text": "x", "reads": ["zzz"]}], "/grounds/0/reads/0: expected a variable of init"),
        (("grounds",), [{"text": 1, "reads": []}], "/grounds/0/text: expected a string"),
        (("ground",), [], "/ground: expected no such key"),
    ],
)
def test_wrong_fields_are_named(route: tuple[Any, ...], new: Any, words: str) -> None:
    code, message = refusal(json.dumps(replaced(json.loads(codec.dumps(stored("plain"))), route, new)))
    assert code == "KV012"
    assert words in message


@pytest.mark.parametrize(
    ("route", "new", "words"),
    [
        (("pools", 0, "slices"), [{"name": "q", "content": "c"}], "/pools/0/slices/0/content: expected an array"),
        (("pools", 0, "slices", 0, "more"), 1, "/pools/0/slices/0/more: expected no such key"),
        (("pools", 0, "parts"), [], "/pools/0/parts: expected no such key"),
        (("flights", 0, "also"), ["read"], "/flights/0/also/0: expected the path of a set"),
        (("flights", 0, "also"), "aside", "/flights/0/also: expected an array"),
        (("flights", 0, "into"), "other", "/flights/0/into: expected the name of a pool"),
        (("flights", 0, "out_of"), "other", "/flights/0/out_of: expected the name of a pool"),
        (("flights", 0, "slice"), "rank=x", "/flights/0/slice: expected the name of a slice"),
    ],
)
def test_wrong_views_are_named(route: tuple[Any, ...], new: Any, words: str) -> None:
    tree = json.loads(codec.dumps(half_written()))
    code, message = refusal(json.dumps(replaced(tree, ("vocabulary", *route), new)))
    assert code == "KV012"
    assert words in message


def test_keys_that_came_later_are_left_out_where_they_say_nothing() -> None:
    tree = json.loads(codec.dumps(stored("late_write")))
    assert [list(view) for view in tree["vocabulary"]["pools"]] == [["name", "pages", "owner", "content"]] * 2
    assert [list(view) for view in tree["vocabulary"]["flights"]] == [["requests", "field", "target", "source"]]
    assert "grounds" not in tree


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ('"loop": null', '"loop": null, "loop": 1', "KV012", "the top level: expected each key once"),
        ('"p": "A"', '"p": "A", "p": "B"', "KV012", "/steps/0/args: expected each key once"),
        ('"Proc": 2', '"Proc": NaN', "KV012", "/parameters/Proc: expected a finite number"),
        ('"Proc": 2', '"Proc": -1e999', "KV012", "/parameters/Proc: expected a finite number"),
        ('"Proc": 2', '"Proc": ' + "9" * 5000, "KV011", "thousands of digits"),
        ('"replay": null', '"replay": {"a": ' + "[" * 100 + "]" * 100 + "}", "KV012", "levels of nesting"),
        ('"replay": null', '"replay": ' + "[" * 10**6, "KV011", "nested too deeply"),
        ('"Proc": 2', '"Proc": ,', "KV011", "is not JSON: expecting value at line 6, column 24"),
        (
            '"model": "mutex"',
            '"model": "mu\ntex"',
            "KV011",
            "is not JSON: invalid control character at line 3",
        ),
    ],
)
def test_wrong_text_is_placed(old: str, new: str, code: str, words: str) -> None:
    text = codec.dumps(stored("plain"))
    assert old in text
    found, message = refusal(text.replace(old, new, 1))
    assert found == code
    assert words in message


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "1", '"x"', "{}", '{"schema": 1}', "\ufeff{}", "\0", "{}{}"]
)
def test_other_json_is_refused(text: str) -> None:
    refusal(text)


def test_messages_are_harmless() -> None:
    text = codec.dumps(stored("plain")).replace('"loop": null', '"\\u001b[2J\\u202e\\n": 1')
    refusal(text)
    with pytest.raises(KvError) as caught:
        codec.loads("{\x1b]0;title\x07", name="a\x1b[2J\n.json")
    assert "\x1b" not in str(caught.value)
    assert "\x07" not in str(caught.value)


def read_refusal(path: str | Path) -> str:
    """Message with which a file is refused as unreadable."""
    with pytest.raises(KvError) as caught:
        codec.read(path)
    assert caught.value.diagnostic.code == "KV010"
    return caught.value.diagnostic.message


def test_unreadable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such file" in read_refusal(tmp_path / "missing.trace.json")
    assert "is a directory" in read_refusal(tmp_path)
    assert "null" in read_refusal("a\0b")
    binary = tmp_path / "binary"
    binary.write_bytes(b"{\xff\xfe")
    assert "byte 1 is not UTF-8" in read_refusal(binary)
    monkeypatch.setattr(codec, "MAX_BYTES", 2)
    assert "larger than" in read_refusal(binary)


def test_endless_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.path.exists("/dev/zero"):
        pytest.skip("no endless device here")
    monkeypatch.setattr(codec, "MAX_BYTES", 1 << 16)
    assert "larger than" in read_refusal("/dev/zero")


def test_write_and_read(tmp_path: Path) -> None:
    trace = stored("incident")
    folder = tmp_path / "new" / "traces"
    path = codec.write(trace, folder)
    assert path == folder / "outline-incident-reads_no_foreign_data.trace.json"
    assert codec.read(path) == trace
    assert codec.write(trace, folder) == path
    assert [path] == list(folder.iterdir())


def write_refusal(trace: Trace, directory: Path) -> str:
    """Message with which writing is refused."""
    with pytest.raises(KvError) as caught:
        codec.write(trace, directory)
    assert caught.value.diagnostic.code == "KV014"
    return caught.value.diagnostic.message


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    trace = stored("plain")
    (tmp_path / "file").write_text("")
    assert "exists" in write_refusal(trace, tmp_path / "file")
    assert "not a directory" in write_refusal(trace, tmp_path / "file" / "below")
    (tmp_path / codec.file_name(trace)).mkdir()
    assert "directory" in write_refusal(trace, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["file", codec.file_name(trace)])
    assert "null" in write_refusal(trace, Path("a\0b"))


def test_a_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = stored("plain")
    path = codec.write(trace, tmp_path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert "no space left" in write_refusal(dataclasses.replace(trace, digest="other"), tmp_path)
    assert path.read_bytes() == before
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", ["../../etc/x", "a/b", "a b", "-rf", "..", "\x1b[2J", "\ud800", "é", "", "x" * 999]
)
def test_file_names_are_safe_and_distinct(name: str) -> None:
    plain = stored("plain")
    found = codec.file_name(dataclasses.replace(plain, model=name, property=name))
    assert found.isascii()
    assert found.endswith(".trace.json")
    assert not set(found) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._=-")
    assert found[0] not in ".-"
    assert len(found) < 200
    assert found != codec.file_name(dataclasses.replace(plain, model=name + "/", property=name))
