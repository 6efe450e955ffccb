"""The suite for CI systems: JUnit, SARIF and Markdown.

A known bug that is found is what has to be: it passes.  What is reported is what is not as expected.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from xml.etree import ElementTree as Tree

from kvproto import __version__
from kvproto.suite.run import Judgement
from kvproto.suite.table import OTHERS, WORDS, found_words, totals
from kvproto.trace.printable import printable

RULES = {
    1: ("not_as_expected", "A known bug is found in its shortest run, and a fix holds."),
    3: ("undecided", "A search comes to its end, and every action and every premise happens in it."),
}
"""Rule and claim by what became of an entry."""


def mechanism_of(judgement: Judgement) -> str:
    """The mechanism of the entry's first report, in words."""
    reports = judgement.entry.reports
    return reports[0].mechanism.value if reports else OTHERS


def junit(judged: Sequence[Judgement]) -> str:
    """A test suite a mechanism, a test case an entry."""
    root = Tree.Element("testsuites", {"name": "kvproto suite"})
    for mechanism in dict.fromkeys(map(mechanism_of, judged)):
        some = [j for j in judged if mechanism_of(j) == mechanism]
        suite = Tree.SubElement(root, "testsuite", {"name": mechanism, "tests": str(len(some)), "skipped": "0"})
        suite.set("failures", str(sum(j.code == 1 for j in some)))
        suite.set("errors", str(sum(j.code == 3 for j in some)))
        suite.set("time", f"{sum(j.result.seconds for j in some):.3f}")
        for j in some:
            _case(suite, j)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    Tree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Tree.tostring(root, encoding="unicode") + "\n"


def _case(suite: Tree.Element, j: Judgement) -> None:
    case = Tree.SubElement(suite, "testcase", {"classname": j.entry.model, "name": j.entry.preset})
    case.set("time", f"{j.result.seconds:.3f}")
    if j.code:
        words = list(map(printable, j.words()))
        tag, kind = ("failure", "not as expected") if j.code == 1 else ("error", "inconclusive")
        problem = Tree.SubElement(case, tag, {"type": kind, "message": words[0]})
        problem.text = "\n".join([*words, f"again: kvproto check {j.entry.target}"])


def sarif(judged: Sequence[Judgement], code: int) -> str:
    """SARIF 2.1.0 with a result for every entry that is not as expected, at the place of its model."""
    rules = [
        {"id": f"suite/{name}", "name": name, "shortDescription": {"text": claim}} for name, claim in RULES.values()
    ]
    driver = {"name": "kvproto", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "exitCode": code}],
        "results": [_result(j) for j in judged if j.code],
        "properties": {"summary": totals(judged)},
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _result(j: Judgement) -> dict[str, object]:
    first = j.result.system.actions[0].loc
    place = {"artifactLocation": {"uri": first.file}, "region": {"startLine": 1}}
    text = f"{j.entry.target}: {'; '.join(map(printable, j.words()))}"
    return {
        "ruleId": f"suite/{RULES[j.code][0]}",
        "level": "error",
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"kvprotoSuite/v1": j.entry.target},
    }


def markdown(judged: Sequence[Judgement]) -> str:
    """A summary for a pull request: totals, what is not as expected, and a table by mechanism and engine."""
    lines = [f"### kvproto suite: {totals(judged)}", ""]
    odd = [j for j in judged if j.code]
    lines += [f"- **{WORDS[j.code]}** `{j.entry.target}`: {_cell('; '.join(j.words()))}" for j in odd]
    lines += [""] * bool(odd)
    lines += ["| mechanism | engines | reports | entries | as expected |", "|---|---|---|---|---|"]
    for mechanism in dict.fromkeys(map(mechanism_of, judged)):
        some = [j for j in judged if mechanism_of(j) == mechanism]
        reports = dict.fromkeys(report for j in some for report in j.entry.reports)
        engines = ", ".join(sorted({report.engine for report in reports})) or "-"
        good = sum(j.code == 0 for j in some)
        lines.append(f"| {mechanism} | {engines} | {len(reports)} | {len(some)} | {good} |")
    lines += ["", "<details><summary>all entries</summary>", ""]
    lines += ["| entry | result |", "|---|---|"]
    lines += [f"| `{j.entry.target}` | {WORDS[j.code]}: {_cell(found_words(j.result))} |" for j in judged]
    return "\n".join([*lines, "", "</details>", ""])


def _cell(text: str) -> str:
    """Text in a cell of a table."""
    for sign in "\\`*_[]<>|#@":
        text = text.replace(sign, f"\\{sign}")
    return printable(text)
