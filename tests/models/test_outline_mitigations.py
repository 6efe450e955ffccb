"""Which measures suffice: the checker's verdicts against what the incident's chain of causes predicts."""

from __future__ import annotations

from pathlib import Path

import mitigation_table as mitigations
import pytest

from kvproto.engine.search import Options, search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

HERE = Path(__file__).parent

READS = {"reads_own_writes", "reads_no_foreign_data"}
LATE = {"writes_land_in_own_pages", "writes_spare_other_requests", "no_free_under_write"}


def predicted(off: tuple[str, ...]) -> frozenset[str]:
    """What goes wrong with `patched` less these measures, from the causes alone.

    A placeholder is read in full unless the prompt is refused at the door or decode counts; a late write is possible
    unless release waits for the drain, and a time-out cannot come before either the abort or the last write; a reused
    source page reaches its reader unless source pages wait, or the failed room says so.
    """
    incident = {"reject_at_admission", "token_count_check"} <= set(off)
    late = bool({"deferred_release", "bounded_batch", "prompt_abort"} & set(off))
    source = {"deferred_source_release", "failed_is_terminal"} <= set(off)
    # Without the source hold a late write finds its source page reused, among two requests by its very victim, whose
    # own bytes it then brings; unless the victim could be computed before the abort arrived.
    early = {"deferred_release", "prompt_abort"} & set(off)
    harmless = late and not source and not early and "deferred_source_release" in off
    found: set[str] = set()
    if incident or source or (late and not harmless):
        found |= READS
    if late:
        found |= LATE
    if incident:
        found.add("rejected_never_succeeds")
    return frozenset(found)


@pytest.mark.parametrize("off", mitigations.off_sets(), ids="+".join)
def test_patched_less_one_or_two_measures(off: tuple[str, ...]) -> None:
    assert predicted(off) == mitigations.violated("patched", **dict.fromkeys(off, False))


def test_a_third_request_makes_the_late_write_of_a_reused_source_page_harmful() -> None:
    """The one pair that two requests do not condemn: see `harmless` above."""
    model = find("outline").model
    off = {"bounded_batch": False, "deferred_source_release": False}
    system = build(model, choose(model, preset="patched", scope="medium", sets=off))

    result = search(system, Options(properties=("reads_no_foreign_data",)))

    assert "violated" == result.findings[0].verdict


INCIDENT = frozenset({*READS, "rejected_never_succeeds"})

ALONE_ON_INCIDENT = {
    # Measures against the placeholder's chain suffice where nothing aborts and nothing fails ...
    **dict.fromkeys(
        ("larger_pool", "reject_at_admission", "retire_after_forward", "token_count_check", "checksum", "carried_tags"),
        frozenset[str](),
    ),
    # ... measures against late writes have nothing to do with it ...
    **dict.fromkeys(
        ("failed_is_terminal", "deferred_release", "bounded_batch", "deferred_source_release", "patient_balancer"),
        INCIDENT,
    ),
    # ... a tag that changes on reallocation fits the page from the moment it is reserved, written or not ...
    "page_tags": INCIDENT,
    # ... and clearing hides other clients' data while the request still reads pages it never wrote.
    "zero_on_release": frozenset({"reads_own_writes", "rejected_never_succeeds"}),
}


@pytest.mark.parametrize("name", mitigations.ALONE)
def test_one_measure_alone_against_the_incident(name: str) -> None:
    assert ALONE_ON_INCIDENT[name] == mitigations.violated("incident", **{name: True})


@pytest.mark.parametrize("name", mitigations.ALONE)
def test_no_single_measure_makes_the_vulnerable_release_safe(name: str) -> None:
    found = mitigations.violated("0.5.19", **{name: True})

    # Release at once (or on a time-out) leaves late writes, whatever else is done about reads.
    assert found >= LATE
    # Only a tag that travels with the bytes, checked at every read, keeps what is read clean all the same.
    assert (name == "carried_tags") == (not found & READS)


def test_zeroing_does_not_keep_late_writes_out() -> None:
    """Clearing pages on release is no confidentiality as long as writes may land after it."""
    assert "reads_no_foreign_data" in mitigations.violated("0.5.19", zero_on_release=True, reject_at_admission=True)


@pytest.mark.slow
def test_the_readme_shows_this_table() -> None:
    readme = (HERE.parent.parent / "README.md").read_text(encoding="utf-8")

    assert "\n".join(mitigations.table()) in readme
