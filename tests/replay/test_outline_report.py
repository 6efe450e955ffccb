"""The report: what a reader sees in the terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from outline_walks import Walk, incident, late_write, parameters, served

from kvproto.replay import ReplayResult, replay, report_lines
from kvproto.trace.trace import Trace

INCIDENT = """\
the implementation agrees with the model after each of 22 steps

request A: HTTP 200, prompt_tokens 48
  page  0 |[A:lynx page 0] |
  page  1 |[A:lynx page 1] |
  page  2 |[A:lynx page 2] |

request B: HTTP 200, prompt_tokens 128
  page  0 |Ⓑ_______________|  the one-token placeholder
  page  1 |[A:lynx page 1] |  written by A
  page  2 |[A:lynx page 2] |  written by A
  page  3 |················|  never written
  page  4 |················|  never written
  page  5 |················|  never written
  page  6 |················|  never written
  page  7 |················|  never written

request B's answer contains A's canary (pages 1, 2): text that A wrote"""


def text(result: ReplayResult) -> str:
    """The report as one text."""
    return "\n".join(report_lines(result))


def test_the_incident() -> None:
    """The whole report, to the letter."""
    assert INCIDENT == text(replay(incident()))


def test_a_what_if_names_the_change_and_the_blocked_steps() -> None:
    """The answer is the error, the steps that could not happen are listed with the reason."""
    report = text(replay(incident(), overrides={"reject_at_admission": True}))

    assert report.startswith("what if reject_at_admission=true: 15 steps of the same schedule")
    assert "request B: HTTP 400, prompt_tokens 128\n  the prompt has 8 pages, the prefill pool takes 5" in report
    assert "  16  forward(B): prefill: request B is in rejected, not in bootstrap" in report
    assert report.endswith("no request has read a page that another request wrote")


def test_a_divergence_is_said_first() -> None:
    """Step, variable and both values."""
    trace = incident()
    report = text(replay(replace(trace, init={**trace.init, "stray": True})))

    assert report.startswith("the implementation diverges from the model: the initial state: stray is true")


def test_a_counterexample_that_ends_before_the_answer_shows_what_was_read() -> None:
    """The shortest counterexamples end at the read; the report says that the answer came afterwards."""
    trace = incident()
    report = text(replay(replace(trace, steps=trace.steps[:-1])))

    assert "after each of 21 steps\nafter the trace decode went on to the answer: finish(B)\n" in report
    assert report.endswith(INCIDENT.partition("\n")[2])


def test_what_is_read_for_a_client_that_is_gone_is_no_answer() -> None:
    """It is shown all the same, and said to be read only."""
    walk = Walk(parameters("incident")).follow(*served(0, 3, long=False), *served(1, 1, long=True)[:-1])
    report = text(replay(walk.follow(("disconnect", 1)).trace()))

    assert "request B: gone, prompt_tokens 128\n  read by decode, pass 1\n  page  0 |Ⓑ" in report
    assert "decode has read, for request B, A's canary (pages 1, 2): text that A wrote" in report


def test_reads_that_differ_are_all_shown() -> None:
    """A page that is overwritten between two reads shows in the second."""
    walk = Walk(parameters("small", Slot=2, PPage=2, DPage=1, short_prompt=1, larger_pool=True))
    steps = [(name, 0) for name in ("prealloc", "admit", "forward", "post", "disconnect", "abort_on_decode")]
    walk.follow(("submit", 0, False), *steps, *served(1, 1, long=False)[:-1])
    walk.follow(("land", 0, 0), ("attend", 1), ("attend", 1), ("finish", 1))
    report = text(replay(walk.trace()))

    assert "read by decode, pass 1\n  page  0 |[B:kiwi page 0] |\n" in report
    assert "read by decode, pass 2\n  page  0 |[A:lynx page 0] |  written by A\n" in report
    assert "pass 3" not in report
    assert "(page 0)" in report


@pytest.mark.parametrize("trace", [incident(), late_write()])
@pytest.mark.parametrize("switch", ["", "checksum", "larger_pool", "reject_at_admission", "retire_after_forward"])
def test_no_line_is_too_wide(trace: Trace, switch: str) -> None:
    """80 columns, whatever happened."""
    result = replay(trace, overrides={switch: True} if switch else {})

    assert all(len(line) <= 80 for line in report_lines(result))
