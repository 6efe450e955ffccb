"""What is told with an analysis: golden texts of every seeded bug, the last sentence, and the report for a terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from seeded_texts import MODELS, golden, text_of
from trace_samples import stored
from whatif_samples import WRONG, found_by, sample

from kvproto.explain import why
from kvproto.explain.missing import because, missing, setting
from kvproto.trace.analysis import Analysis, Guard
from kvproto.whatif.analyse import analysed, explained
from kvproto.whatif.text import WIDTH, describe


@pytest.mark.parametrize("model", MODELS)
def test_golden(model: str) -> None:
    assert golden(model).read_text("utf-8") == text_of(model)


@pytest.mark.parametrize("name", WRONG)
def test_the_why_names_the_missing_guard(name: str) -> None:
    run = found_by(name)
    told = explained(run, analysed(run).analysis).why

    assert WRONG[name].missing in told[-1]
    assert 3 <= len(told) <= 6
    for number in re.findall(r"[Ss]teps? (\d+)", " ".join(told)):
        assert 1 <= int(number) <= len(run.calls)


def test_without_an_analysis_nothing_is_told() -> None:
    trace = stored("late_write")

    assert missing(trace) == []
    assert why(trace)[:-1] == why(replace(trace, analysis=Analysis()))[: len(why(trace)) - 1]
    assert why(replace(trace, analysis=Analysis()))[-1] == (
        "No single measure of the model keeps these steps from breaking the claim."
    )


def told(*guards: Guard) -> str:
    """The last sentence with these guards."""
    (sentence,) = missing(replace(stored("plain"), analysis=Analysis(guards)))
    return sentence


CHECK = Guard("check", "switch", True, "refused", 2, 2, "go", "s.a <= s.b")


def test_each_way_of_being_a_guard() -> None:
    trace = stored("plain")
    second = f"step 2, {trace.steps[1].action}("

    assert told(CHECK).startswith(f"With check on, {second}")
    assert told(CHECK).endswith("would have been refused: it needs s.a <= s.b.")
    early = replace(CHECK, since=1, difference="x = 1 instead of 0; y = 2 instead of 1 and 3 more", release="2.0")
    assert told(early).startswith("With check on (2.0), step 1, ")
    assert "would have led to x = 1 instead of 0; then step 2, " in told(early)
    assert told(early).endswith("would have been refused.")
    assert told(replace(early, about="who  looks")).startswith("With check on (2.0: who looks), step 1, ")
    assert told(replace(CHECK, about="who looks")).startswith("With check on (who looks), step 2, ")
    assert told(replace(CHECK, about="who looks", value=False)).startswith("With check off, step 2, ")
    assert told(replace(CHECK, effect="harmless")) == "With check on, the same steps break nothing."
    diverted = replace(CHECK, effect="diverted", difference="x = 1 instead of 0")
    assert told(diverted).endswith("would have led to x = 1 instead of 0, and the claim would have held to the end.")
    assert told(replace(CHECK, step=0, since=0)) == (
        "With check on, the beginning would have been refused: it needs s.a <= s.b."
    )


def test_what_is_known_of_the_scope() -> None:
    holds = replace(CHECK, verdict="holds")
    other = replace(holds, name="other")
    weak = replace(CHECK, name="weak", verdict="violated", other=7, release="2.0")

    assert told(holds).endswith(" In this scope the claim holds then.")
    assert told(holds, other).endswith(" In this scope the claim holds then, and as well with other instead.")
    assert told(holds, weak) == told(holds)
    early = replace(weak, since=1)
    assert told(holds, early).endswith("weak on (2.0) stops this run too, but not another one of 7 steps.")
    assert told(weak).endswith("But another run, of 7 steps, breaks the claim all the same.")
    preset = replace(holds, name="3.0", kind="preset")
    assert told(weak, preset).endswith("all the same; with the measures of 3.0 it holds in this scope.")
    assert told(replace(CHECK, verdict="inconclusive")) == told(CHECK)


def test_the_environment_is_told_as_what_the_run_needs() -> None:
    crash = replace(CHECK, name="crash", kind="environment", value=False)
    order = replace(CHECK, name="order", kind="environment", value=True)

    assert told(crash, order).endswith("from breaking the claim; the run needs crash on and order off.")


def test_settings_in_words() -> None:
    assert setting(CHECK) == "check on"
    assert setting(replace(CHECK, value=False)) == "check off"
    assert setting(replace(CHECK, value="LONG")) == "check = LONG"
    assert setting(replace(CHECK, kind="preset")) == "the measures of check"
    assert because(replace(CHECK, condition="not cfg.check")) == ""


def one_line(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


@pytest.mark.parametrize("states", [None, 300_000])
def test_the_report_fits_a_terminal(states: int | None) -> None:
    run = sample("outline@0.5.19", "no_free_under_write")
    found = analysed(run, states=states)
    lines = describe(explained(run, found.analysis), found)
    text = "\n".join(lines)

    assert max(map(len, lines)) <= WIDTH
    assert "deferred_release on" in text
    assert "(decode keeps the pages of a failed or aborted transfer until prefill has drained)" in one_line(text)
    assert ("another run of 7 steps breaks it" in text) == (states is not None)
    assert "The run needs transfer_failures on (step 6)." in text
    assert ("Not known: nobody looked." in text) == (states is None)
    assert "5  post(r=A)  req[A].flying: {} -> {0, 1}" in text


def test_a_run_without_end_is_reported() -> None:
    run = found_by("blocks.timers@no-limit-holds_end")
    found = analysed(run)
    text = "\n".join(describe(explained(run, found.analysis), found))

    assert "Not known: the claim is about whole runs" in text
    assert "every step happens as before, and the claim holds" in text
