"""Results as SARIF 2.1.0, for code scanning: what is violated, where it is claimed, and the run that shows it.

One run of the tool is one `run`, with all targets.  A run of a model is a code flow with one thread flow for each lane;
the execution order says how the lanes interleave.  What could not be decided is there as a result of the kind `open`,
and what holds has a rule and no result.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from kvproto import __version__
from kvproto.diagnostics import Loc
from kvproto.explain import backward_slice
from kvproto.formats.judged import Case, Judged, Refusal, cases, target_words
from kvproto.report.whatif import guard_words
from kvproto.trace.printable import printable, shown
from kvproto.trace.trace import Step, Trace

Json = dict[str, object]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

ROOT, SHIPPED = "SRCROOT", "KVPROTO"
"""Names of the folders that paths start from: the repository that is checked, and what ships with kvproto."""

MEANING = {
    0: "every selected property holds",
    1: "a property is violated",
    2: "usage, configuration or model error",
    3: "inconclusive: not everything could be decided",
    130: "interrupted: the figures are partial",
}
"""What exit codes mean."""

BY_LINE = "primaryLocationLineHash"
"""The fingerprint that GitHub matches alerts by.  It usually hashes a line; here it says the same as our own, because
several presets can violate one claim, which is written on one line."""


def sarif(results: Sequence[Judged], code: int) -> str:
    """The text of a SARIF file; `code` is the exit code of the process that searched."""
    rules: dict[str, Json] = {}
    found = [result for judged in results for result in _results(judged, rules)]
    said = [note for judged in results for note in _notifications(judged)]
    figures: Json = {"targets": [_figures(judged) for judged in results]}
    return _log(rules, _invocation(code, {"toolExecutionNotifications": said} if said else {}), found, figures)


def sarif_refusal(refusal: Refusal) -> str:
    """The text of a SARIF file of a check that an error ended: no results, and why."""
    error, place = refusal.diagnostic, {}
    if error.loc is not None and error.loc.line > 0:
        base, path = (SHIPPED, error.loc.file) if refusal.path is None else (ROOT, refusal.path)
        artifact = {"uri": uri(path), "uriBaseId": base}
        place = {"locations": [{"physicalLocation": {"artifactLocation": artifact, "region": _region(error.loc)}}]}
    said: Json = {"descriptor": {"id": error.code}, "level": "error", "message": {"text": refusal.text}, **place}
    return _log({}, _invocation(2, {"toolConfigurationNotifications": [said]}), [], {"targets": []})


def _log(rules: Mapping[str, Json], invocation: Json, results: list[Json], properties: Json) -> str:
    run: Json = {
        "tool": {"driver": {"name": "kvproto", "version": __version__, "rules": list(rules.values())}},
        "invocations": [invocation],
        "originalUriBaseIds": {
            ROOT: {"description": {"text": "The root of the repository."}},
            SHIPPED: {"description": {"text": "The folder of the models and properties that ship with kvproto."}},
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": properties,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def rule_id(judged: Judged, case: Case) -> str:
    """`MODEL.PROPERTY`: two models may claim different things under one name."""
    return f"{printable(judged.row.result.system.model)}.{case.name}"


def _rule(name: str, case: Case) -> Json:
    doc = case.doc or case.claim
    return {
        "id": name,
        "name": case.name,
        "shortDescription": {"text": case.claim},
        "fullDescription": {"text": _paragraph(doc)},
        "help": {"text": doc},
        "defaultConfiguration": {"level": "error"},
        "properties": {"kind": case.kind, "precision": "very-high", "problem.severity": "error"},
    }


def _paragraph(doc: str) -> str:
    """The first paragraph on one line."""
    return " ".join(doc.split("\n\n")[0].split())


def _invocation(code: int, more: Json) -> Json:
    done = {"executionSuccessful": code in (0, 1), "exitCode": code, "exitCodeDescription": MEANING[code]}
    return {**done, **more}


def _notifications(judged: Judged) -> Iterator[Json]:
    """Searches that did not come to an end."""
    result = judged.row.result
    if not result.complete:
        yield {"level": "warning", "message": {"text": f"{target_words(judged)}: stopped: {result.stopped}"}}


def _figures(judged: Judged) -> Json:
    result = judged.row.result
    verdicts = {case.name: case.verdict for case in cases(judged)}
    return {
        "target": printable(judged.row.target),
        "scope": printable(result.system.scope),
        "complete": result.complete,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "verdicts": verdicts,
    }


def _results(judged: Judged, rules: dict[str, Json]) -> Iterator[Json]:
    for case in cases(judged):
        name = rule_id(judged, case)
        rules.setdefault(name, _rule(name, case))
        if case.verdict != "holds":
            yield _result(judged, case, name, list(rules).index(name))


def _result(judged: Judged, case: Case, rule: str, index: int) -> Json:
    violated = case.verdict == "violated"
    mark = fingerprint(judged, case)
    made: Json = {
        "ruleId": rule,
        "ruleIndex": index,
        # `open` is what the format has for "there was not enough information to decide"; it allows no level.
        **({"kind": "fail", "level": "error"} if violated else {"kind": "open", "level": "none"}),
        "message": {"text": _message(judged, case)},
        "partialFingerprints": {"kvprotoSkeleton/v1": mark, BY_LINE: f"{mark}:1"},
        "properties": _facts(judged, case),
    }
    if case.loc is not None:
        made["locations"] = [{"physicalLocation": _physical(judged, case.loc)}]
    if case.trace is not None:
        made["codeFlows"] = [_code_flow(judged, case.trace)]
        made |= _missing_guard(judged, case.trace)
    if case.file is not None:
        made["attachments"] = [_attachment(judged, case.file)]
    return made


def _message(judged: Judged, case: Case) -> str:
    """What is wrong, then the whole explanation: viewers that have little room show the first sentence."""
    where = target_words(judged)
    word = "violated" if case.verdict == "violated" else "not decided"
    after = f" after {case.steps}" if case.steps else ""
    return " ".join([f"{where}: {case.claim}: {word}{after}.", *case.why, *case.missing])


def fingerprint(judged: Judged, case: Case) -> str:
    """What stays the same while a violation does: target, property, and the lanes and actions of its run.

    Arguments, values and line numbers are left out, so that neither a larger scope nor an edit elsewhere makes a new
    alert of an old one.
    """
    system = judged.row.result.system
    skeleton = [] if case.trace is None else [[step.lane, step.action] for step in case.trace.steps]
    parts = [system.model, system.preset, case.name, case.verdict, skeleton]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _facts(judged: Judged, case: Case) -> Json:
    facts: Json = {"target": printable(judged.row.target), "verdict": case.verdict}
    if case.trace is not None:
        facts |= {"steps": len(case.trace.steps), "digest": case.trace.digest}
        facts |= {} if case.trace.loop is None else {"loop": case.trace.loop}
        facts |= {"kept": True} if case.kept else {}
    command = judged.again(case)
    return facts | ({"command": command} if command else {})


def _missing_guard(judged: Judged, trace: Trace) -> Json:
    """Where the guard stands that would have prevented the run, if somebody has looked for it."""
    guard = trace.analysis.guard() if trace.analysis else None
    loc = _line(guard.loc) if guard else None
    if guard is None or loc is None:
        return {}
    words = {"text": guard_words(trace, guard)}
    return {"relatedLocations": [{"id": 0, "physicalLocation": _physical(judged, loc), "message": words}]}


def _line(text: str) -> Loc | None:
    """The place `FILE:LINE` of a trace."""
    file, _, line = text.rpartition(":")
    return Loc(file, int(line)) if file and line.isdecimal() and int(line) > 0 else None


def _code_flow(judged: Judged, trace: Trace) -> Json:
    lanes: dict[str, list[Json]] = {}
    guilty = backward_slice(trace).steps
    for number, step in enumerate(trace.steps, 1):
        lanes.setdefault(step.lane, []).append(_flow_location(judged, step, number, number in guilty))
    if not lanes:
        lanes["start"] = [{"location": {"message": {"text": "The initial state."}}, "executionOrder": 0}]
    order = [lane for lane in trace.vocabulary.lanes if lane in lanes]
    order += [lane for lane in lanes if lane not in order]
    return {
        "message": {"text": _length(trace)},
        "threadFlows": [{"id": printable(lane), "locations": lanes[lane]} for lane in order],
    }


def _length(trace: Trace) -> str:
    end = len(trace.steps)
    words = f"{end} step" + ("" if end == 1 else "s")
    if trace.loop is None:
        return f"{words}."
    return f"{words}, then " + (f"step {trace.loop + 1} again, for ever." if trace.loop < end else "nothing any more.")


def _flow_location(judged: Judged, step: Step, number: int, guilty: bool) -> Json:
    args = ", ".join(f"{printable(name)}={shown(value)}" for name, value in step.args.items())
    text = f"{number}. {printable(step.action)}({args})" + (f": {printable(step.text)}" if step.text else "")
    place: Json = {"message": {"text": text}}
    if (loc := _line(step.loc)) is not None:
        place["physicalLocation"] = _physical(judged, loc)
    changes = {printable(path): f"{shown(old)} -> {shown(new)}" for path, (old, new) in step.delta.items()}
    return {
        "location": place,
        "executionOrder": number,
        "importance": "essential" if guilty else "unimportant",
        "state": {path: {"text": change} for path, change in changes.items()},
    }


def _physical(judged: Judged, loc: Loc) -> Json:
    region = _region(loc)
    rows = judged.row.result.system.sources.get(loc.file, "").splitlines()
    if loc.line <= len(rows):
        region["snippet"] = {"text": printable(rows[loc.line - 1])}
    return {"artifactLocation": _artifact(judged, loc.file), "region": region}


def _region(loc: Loc) -> Json:
    columns: Json = {"startColumn": loc.col + 1, "endColumn": loc.end_col + 1} if loc.end_col > loc.col else {}
    return {"startLine": loc.line, **columns}


def _artifact(judged: Judged, file: str) -> Json:
    path = judged.files.get(file)
    base, path = (SHIPPED, file) if path is None else (ROOT, path)
    return {"uri": uri(path), "uriBaseId": base}


def _attachment(judged: Judged, file: str) -> Json:
    said = {"text": f"The run: kvproto show {printable(shlex.quote(file))}"}
    path = judged.files.get(file)
    return {"description": said, "artifactLocation": _artifact(judged, file) if path else {"uri": uri(file)}}


def uri(path: str) -> str:
    """A path as a relative reference; a colon in its first part would make a scheme of it."""
    try:
        name = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # no name of a file
        name = printable(path).encode()
    return quote(name, safe="/-._~@=+,")
