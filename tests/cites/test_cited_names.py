"""Names in source text and in wheels: which a citation stands for, and what is said where there is none."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from cites_names import alike, matching, missing, names

from kvproto.lang.cites import parse

if TYPE_CHECKING:
    from cites_wheels import Wheel

SOURCE = """
LIMIT = 4
WIDTH: int = 5


class Queue:
    size: int = 3
    depth = 2

    def __init__(self):
        self.other = 1
        inside = 2

    async def pop_preallocated(self):
        def helper():
            pass

    class Entry:
        def add(self): ...


if True:
    def add(): ...
"""


def test_names_of_a_file() -> None:
    expected = {"LIMIT", "WIDTH", "Queue", "Queue.size", "Queue.depth", "Queue.__init__", "Queue.pop_preallocated"}
    expected |= {"Queue.pop_preallocated.helper", "Queue.Entry", "Queue.Entry.add", "add"}

    assert expected == set(names(ast.parse(SOURCE)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pop_preallocated", ["Queue.pop_preallocated"]),
        ("Queue.pop_preallocated", ["Queue.pop_preallocated"]),
        ("Entry.add", ["Queue.Entry.add"]),
        ("add", ["add"]),
        ("LIMIT", ["LIMIT"]),
        ("preallocated", []),
        ("Other.pop_preallocated", []),
        ("other", []),
        ("inside", []),
    ],
)
def test_a_name_is_qualified_or_not(name: str, expected: list[str]) -> None:
    assert expected == matching(names(ast.parse(SOURCE)), name)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("pop_prealocated", "Queue.pop_preallocated"),
        ("Queue.preallocated", "Queue.pop_preallocated"),
        ("adds", "Queue.Entry.add"),
    ],
)
def test_what_looks_alike(name: str, first: str) -> None:
    assert first == alike(names(ast.parse(SOURCE)), name)[0]


@pytest.mark.network
@pytest.mark.parametrize(
    ("release", "text", "said"),
    [
        ("0.5.19", "srt/disaggregation/prefill.py:_retire_aborted_prefill_result", "there is no _retire_aborted"),
        ("0.5.20", "srt/disaggregation/prefill.py:_retire_aborted_prefill_result", ""),
        ("0.5.23", "srt/disaggregation/decode.py:pop_prealocated", "alike: DecodePreallocQueue.pop_preallocated"),
        ("0.5.23", "srt/disaggregation/decodes.py:pop_preallocated", "alike: srt/disaggregation/decode.py"),
        ("0.5.20", "srt/server_args.py:--disaggregation-enable-kv-checksum", "there is no option"),
        ("0.5.21", "srt/server_args.py:--disaggregation-enable-kv-checksum", ""),
        ("0.5.19", "srt/server_args.py:--allow-auto-truncate", ""),
        ("0.5.23", "srt/server_args.py:--allow-auto-truncat", "alike: --allow-auto-truncate"),
        ("0.5.19", "srt/environ.py:SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES", "there is no SGLANG_MOONCAKE"),
        ("0.5.20", "srt/environ.py:SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES", ""),
        ("0.5.23", "mooncake:no/such.cpp:name", ""),
        ("0.5.23", "#36988", ""),
    ],
)
def test_what_is_said_of_a_citation(wheels: dict[str, Wheel], release: str, text: str, said: str) -> None:
    found = missing(parse(text), wheels[release])

    assert said in found if said else found == ""
