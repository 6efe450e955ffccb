"""Options in [tool.kvproto]: for a project, in profiles, and what the command line says against them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli_runs import Run

TABLE = """
[tool.kvproto]
targets = ["outline@incident"]
scope = "small"
property = ["reads_own_writes"]

[tool.kvproto.profile.ci]
targets = ["outline@patched"]
max_states = 50
time-limit = 60
set = { larger_pool = true }

[tool.kvproto.profile.quick]
max-depth = 3
"""


@pytest.fixture
def told(kv: Run):
    """What a check in a project says."""
    Path("pyproject.toml").write_text(TABLE)

    def run(*args: str) -> dict:
        return json.loads(kv("check", *args, "--json", "-").out)

    return run


def test_the_table_holds_for_every_check(told) -> None:
    result = told()
    assert (result["target"], result["scope"]) == ("outline@incident", "small")
    assert [p["name"] for p in result["properties"]] == ["reads_own_writes"]


def test_a_profile_adds_to_it_and_replaces(told) -> None:
    result = told("--profile", "ci")
    assert result["target"] == "outline@patched"
    assert result["parameters"]["larger_pool"] is True
    assert result["stopped"] == "state limit"
    assert [p["name"] for p in result["properties"]] == ["reads_own_writes"]
    quick = told("--profile", "quick")
    assert (quick["target"], quick["depth"]) == ("outline@incident", 3)


def test_the_command_line_counts_more(told) -> None:
    result = told(
        "--profile", "ci", "--max-states", "60", "--property", "reads_no_foreign_data", "--set", "checksum=on"
    )
    assert result["states"] >= 60
    assert [p["name"] for p in result["properties"]] == ["reads_no_foreign_data"]
    assert (result["parameters"]["checksum"], result["parameters"]["larger_pool"]) == (True, False)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[tool.kvproto]\nscop = 'small'", "did you mean 'scope'"),
        ("[tool.kvproto]\nresume = 'x'", "unknown key 'resume'"),
        ("[tool.kvproto]\nproperty = 'a'", "property is no list"),
        ("[tool.kvproto]\nworkers = [1]", "not a single value"),
        ("[tool.kvproto]\nkeep-going = 'yes'", "not true or false"),
        ("[tool.kvproto]\nprofile = 3", "holds no tables"),
    ],
)
def test_what_is_wrong_is_refused_before_any_search(table: str, said: str, kv: Run) -> None:
    Path("pyproject.toml").write_text(table)
    done = kv("check")
    assert done.code == 2
    assert done.err.startswith("error KV023")
    assert said in done.err


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[tool.kvproto.profile.nightly]\nscop = 'small'", "[tool.kvproto.profile.nightly]"),
        ("[tool.kvproto.profile.nightli]\nscope = 'small'", "did you mean 'nightli'"),
        ("", "has no profile 'nightly'"),
    ],
)
def test_a_profile_has_to_be_there(table: str, said: str, kv: Run) -> None:
    Path("pyproject.toml").write_text(table)
    done = kv("check", "outline@patched", "--profile", "nightly")
    assert done.code == 2
    assert done.err.startswith("error KV023")
    assert said in done.err


def test_who_names_a_target_and_no_profile_is_not_spoken_for(kv: Run) -> None:
    Path("pyproject.toml").write_text("[tool.kvproto]\nmax-states = 5")
    assert kv("check", "outline@patched").code == 0


def test_values_are_converted_as_on_the_command_line(kv: Run) -> None:
    Path("pyproject.toml").write_text("[tool.kvproto]\nmemory-limit = 'lots'")
    done = kv("check")
    assert done.code == 2
    assert "no size" in done.err
    Path("pyproject.toml").write_text("[tool.kvproto]\nworkers = 1000")
    assert kv("check").code == 2
