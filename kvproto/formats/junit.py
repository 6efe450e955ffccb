"""Results as JUnit XML: a test suite for each target, a test case for each property.

What could not be decided is an error and never a skipped test: a report in which nothing failed means exit code 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Tree

from kvproto.formats.judged import Case, Judged, Refusal, cases, target_words
from kvproto.trace.printable import printable


def junit(results: Sequence[Judged], skipped: Sequence[str] = ()) -> str:
    """The text of a JUnit file; `skipped` are targets that an interrupted check did not come to."""
    root = Tree.Element("testsuites", {"name": "kvproto"})
    for judged in results:
        _suite(root, judged)
    said = "The check was interrupted before it came to this target."
    for target in skipped:
        _only_an_error(root, printable(target), "searched", "inconclusive", said, said)
    root.set("time", f"{sum(judged.row.result.seconds for judged in results):.3f}")
    return _text(root)


def junit_refusal(refusal: Refusal) -> str:
    """The text of a JUnit file of a check that an error ended."""
    root = Tree.Element("testsuites", {"name": "kvproto"})
    _only_an_error(root, "kvproto check", "accepted", refusal.diagnostic.code, refusal.head, refusal.text)
    return _text(root)


def _text(root: Tree.Element) -> str:
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    Tree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Tree.tostring(root, encoding="unicode") + "\n"


def _suite(root: Tree.Element, judged: Judged) -> None:
    result, told = judged.row.result, cases(judged)
    suite = Tree.SubElement(
        root,
        "testsuite",
        {
            "name": target_words(judged),
            "tests": str(len(told)),
            "failures": str(sum(case.verdict == "violated" for case in told)),
            "errors": str(sum(case.verdict == "inconclusive" for case in told)),
            "skipped": "0",
            "time": f"{result.seconds:.3f}",
        },
    )
    facts: dict[str, object] = {
        "complete": str(result.complete).lower(),
        "stopped": result.stopped,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "command": judged.command,
    }
    held = Tree.SubElement(suite, "properties")
    for name, value in facts.items():
        if value != "":
            Tree.SubElement(held, "property", {"name": name, "value": printable(str(value))})
    for case in told:
        _testcase(suite, judged, case)


def _testcase(suite: Tree.Element, judged: Judged, case: Case) -> None:
    test = Tree.SubElement(suite, "testcase", {"classname": printable(judged.row.target), "name": case.name})
    if case.verdict == "holds":
        return
    tag, kind = ("failure", "violated") if case.verdict == "violated" else ("error", "inconclusive")
    problem = Tree.SubElement(test, tag, {"type": kind, "message": case.head})
    problem.text = "\n".join(_told(judged, case))


def _told(judged: Judged, case: Case) -> list[str]:
    """The claim, where it stands, the whole explanation, and what to do next."""
    lines = [f"claim: {case.claim}"]
    if case.loc is not None:
        lines.append(f"at: {printable(judged.files.get(case.loc.file, case.loc.file))}:{case.loc.line}")
    lines += [f"{number}. {sentence}" for number, sentence in enumerate(case.why, 1)]
    lines += case.missing
    if case.file is not None:
        lines.append(f"trace: {printable(case.file)}")
    if command := judged.again(case):
        lines.append(f"again: {command}")
    return lines


def _only_an_error(root: Tree.Element, suite: str, test: str, kind: str, head: str, text: str) -> None:
    """A suite of one test that is an error."""
    made = Tree.SubElement(root, "testsuite", {"name": suite, "tests": "1", "failures": "0", "errors": "1"})
    case = Tree.SubElement(made, "testcase", {"classname": suite, "name": test})
    Tree.SubElement(case, "error", {"type": kind, "message": head}).text = text
