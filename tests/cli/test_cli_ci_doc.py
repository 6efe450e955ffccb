"""docs/ci.md: its snippets are what the CI systems accept, and its commands do what it says."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from ci_results import model_file
from cli_runs import Done
from jsonschema import Draft7Validator
from jsonschema.validators import validator_for
from ruamel.yaml import YAML

from kvproto.formats.sarif import MEANING

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
GITHUB, MODELS, GITLAB, PRE_COMMIT = (
    YAML(typ="safe").load(io.StringIO(block)) for block in re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
)
(PROJECT,) = re.findall(r"```toml\n(.*?)```", TEXT, flags=re.DOTALL)
JOB = GITHUB["jobs"]["check"]
VENDOR = files("check_jsonschema") / "builtin_schemas" / "vendor"


def problems(schema: str, snippet: Any) -> list[str]:
    rules = json.loads((VENDOR / f"{schema}.json").read_text(encoding="utf-8"))
    made = validator_for(rules, default=Draft7Validator)(rules)
    return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in made.iter_errors(snippet)]


@pytest.mark.parametrize(
    ("schema", "snippet"),
    [("github-workflows", GITHUB), ("github-workflows", MODELS), ("gitlab-ci", GITLAB)],
    ids=["check", "models", "gitlab"],
)
def test_the_snippets_follow_the_schemas_of_the_systems(schema: str, snippet: dict[str, Any]) -> None:
    assert [] == problems(schema, json.loads(json.dumps(snippet)))
    assert problems(schema, {**json.loads(json.dumps(snippet)), "jobs": 3, "protocol": {"script": 3}})


def test_the_table_of_exit_codes_is_whole() -> None:
    codes = {int(code): meaning for code, meaning in re.findall(r"^\| (\d+) \| (.*?) \|", TEXT, flags=re.MULTILINE)}

    assert {0, 1, 2, 3, 70, 130} == set(codes)
    for code, meaning in MEANING.items():
        assert meaning.split(":")[0].split(",")[0] in codes[code]


def commands(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("kvproto ")]


@pytest.fixture
def project(here: Path) -> Path:
    """A repository with a model that is wrong."""
    model_file(here / "checks")
    subprocess.run(["git", "init", "--quiet"], cwd=here, check=True)
    return here


def shell(command: str, env: dict[str, str] | None = None) -> Done:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    around = {**os.environ, "PATH": path, **(env or {})}
    done = subprocess.run(["bash", "-ec", command], env=around, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_steps_of_github(project: Path) -> None:
    check, view = commands([step["run"] for step in JOB["steps"] if "run" in step])
    summary = project / "summary.md"
    done = shell(check, {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
    log = json.loads((project / "kvproto.sarif").read_text(encoding="utf-8"))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    names = [step["with"]["sarif_file"] for step in JOB["steps"] if "upload-sarif" in step.get("uses", "")]

    assert 1 == done.code, done.err
    assert done.err.startswith("::error file=checks/model.py,line=")
    assert "checks/model.py" == place["uri"]
    assert ["kvproto.sarif"] == names
    assert "```mermaid" in summary.read_text(encoding="utf-8")
    assert [path.name for path in (project / "found").glob("*.trace.json")]
    assert 0 == shell(view).code
    assert "<html" in (project / "counterexamples.html").read_text(encoding="utf-8")


def test_the_steps_of_gitlab(project: Path) -> None:
    (check,) = commands(GITLAB["protocol"]["script"])
    (view,) = commands(GITLAB["protocol"]["after_script"])

    assert 1 == shell(check).code
    assert 0 == shell(view).code
    assert (project / GITLAB["protocol"]["artifacts"]["reports"]["junit"]).is_file()
    assert all((project / path).exists() for path in GITLAB["protocol"]["artifacts"]["paths"])


def runs(job: str) -> list[str]:
    """What a job of the larger workflow runs, but for installing."""
    return [step["run"] for step in MODELS["jobs"][job]["steps"] if "pip" not in step.get("run", "pip")]


def uploaded(job: str) -> list[str]:
    """What a job uploads."""
    return next(s["with"]["path"].split() for s in MODELS["jobs"][job]["steps"] if "upload" in s.get("uses", ""))


def test_the_tests_of_a_project_in_github(project: Path) -> None:
    (tests,) = runs("tests")
    held = 'import kvproto\n\n\n@kvproto.property_test("checks/model.py")\ndef test_it_holds(): ...\n'
    (project / "checks" / "test_model.py").write_text(held, encoding="utf-8")
    done = shell(tests)

    assert 1 == done.code, done.err
    assert "is violated" in done.out
    assert all((project / path).exists() for path in uploaded("tests"))
    assert [path.name for path in (project / "found").glob("*.trace.json")]


def test_the_night_of_a_project_in_github(project: Path) -> None:
    """With one entry of the suite, and no scopes, which the model does not have."""
    suite, check = runs("night")
    (project / "pyproject.toml").write_text(PROJECT.replace('scope = "large"\n', ""), encoding="utf-8")
    cached = next(step["with"]["path"] for step in MODELS["jobs"]["night"]["steps"] if "cache" in step.get("uses", ""))
    first, second = shell(check), shell(check)

    assert 0 == shell(f"{suite} -k early_send").code
    assert (1, 1) == (first.code, second.code)
    assert ("kept run" in first.out, "kept run" in second.out) == (False, True)
    assert all((project / path).exists() for path in [cached, *uploaded("night")])


def test_every_option_of_the_table_is_there(project: Path) -> None:
    options = re.findall(r"^\| `(--[a-z-]+)", TEXT, flags=re.MULTILINE)
    said = shell("kvproto check --help").out

    assert 5 == len(options)
    assert all(option in said for option in options)
