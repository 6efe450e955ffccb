"""The building blocks: which preset breaks which property, on both engines, and what is shown of them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from kvproto.cli.explain import properties_of
from kvproto.cli.listing import block_lines
from kvproto.engine.search import Options, Result, search
from kvproto.ir.nodes import LIVENESS
from kvproto.lang.bind import choose
from kvproto.lang.binding import Flag
from kvproto.lang.frontend.build import build
from kvproto.lang.load import building_blocks, find, shipped_models
from kvproto.lang.properties import ClaimMark
from kvproto.trace.build import build_trace

DOC = Path(__file__).parent.parent.parent / "docs" / "blocks.md"

TABLE: dict[str, dict[str, set[str]]] = {
    "blocks.control_channel": {
        "right": set(),
        "not-numbered": {"over_when_all_stopped"},
        "counted": {"over_when_all_stopped"},
        "overtakes": {"stays_stopped"},
        "not-idempotent": {"stops_once"},
        "no-retry": {"comes_to_an_end"},
        "lossless": set(),
        "remembers": set(),
    },
    "blocks.deferred_release": {
        "right": set(),
        "counted-at-begin": {"ack_means_quiet"},
        "noted-first": {"ack_means_quiet"},
        "not-poisoned": {"ack_means_quiet"},
        "short-limit": {"limit_means_quiet"},
        "not-numbered": {"ack_fits"},
        "no-limit": {"holds_end"},
    },
    "blocks.metadata_rows": {
        "right": set(),
        "unchecked": {"own_row"},
        "not-cleared": {"none_wronged"},
        "no-gate": {"none_wronged"},
        "not-held": {"none_wronged"},
        "freed-twice": {"no_row_twice"},
        "no-limit": {"concludes"},
    },
    "blocks.page_pool": {
        "right": set(),
        "double-free": {"no_page_twice"},
        "leak": {"no_page_lost"},
        "reads-early": {"reads_own"},
        "not-cleared": {"bytes_end_with_the_owner"},
        "reads-leftovers": {"reads_own", "bytes_end_with_the_owner"},
    },
    "blocks.prefix_index": {
        "right": set(),
        "published-early": {"hits_are_computed"},
        "published-unverified": {"hits_are_verified"},
        "not-locked": {"used_stays"},
        "lock-lost": {"locks_end"},
        "duplicate-lost": {"no_page_lost"},
    },
    "blocks.ranks": {
        "right": set(),
        "first-success": {"goes_on_complete"},
        "alone": {"same_fate"},
        "released-alone": {"frees_in_step"},
        "held-alone": {"frees_in_step"},
        "held-if-all": {"frees_when_quiet"},
        "released-if-some": {"frees_when_quiet"},
        "source-at-once": {"source_stays"},
        "stages-alone": {"ends_alike"},
        "told-to-one": {"decides"},
        "agreement-tells": set(),
    },
    "blocks.timers": {
        "right": set(),
        "short-hold": {"freed_after_the_last_write"},
        "no-margin": {"freed_after_the_last_write"},
        "no-drift": set(),
        "unbounded": {"freed_after_the_last_write"},
        "not-rechecked": {"freed_after_the_last_write"},
        "late-notice": {"freed_after_the_last_write"},
        "short-patience": {"patience_outlasts_calls"},
        "no-limit": {"holds_end"},
        "no-patience": {"waits_end"},
    },
    "blocks.transfer": {
        "right": set(),
        "success-before-applied": {"success_means_applied"},
        "siblings-go-on": {"error_means_quiet"},
        "time-out": {"error_means_quiet"},
        "cancelled": {"error_means_quiet"},
        "resubmitted": {"applied_once"},
        "torn": {"pages_change_whole"},
        "stalled": {"call_ends"},
        "stalled-time-out": {"error_means_quiet"},
        "reads-early": {"reads_nothing_foreign"},
    },
}
"""Block -> preset -> what it violates in the scope it is usually searched in."""

CONSEQUENCES: list[tuple[str, str, str, set[str]]] = [
    ("blocks.page_pool", "double-free", "three", {"no_page_twice", "reads_own", "bytes_end_with_the_owner"}),
    ("blocks.transfer", "success-before-applied", "reuse", {"success_means_applied", "reads_nothing_foreign"}),
    ("blocks.transfer", "siblings-go-on", "reuse", {"error_means_quiet", "reads_nothing_foreign"}),
    ("blocks.transfer", "time-out", "reuse", {"error_means_quiet", "reads_nothing_foreign"}),
    ("blocks.transfer", "cancelled", "reuse", {"error_means_quiet", "reads_nothing_foreign"}),
    ("blocks.transfer", "resubmitted", "reuse", {"applied_once", "reads_nothing_foreign"}),
    ("blocks.transfer", "torn", "reuse", {"pages_change_whole"}),
    ("blocks.deferred_release", "noted-first", "one-chunk", set()),
    ("blocks.control_channel", "counted", "one", set()),
    ("blocks.metadata_rows", "unchecked", "three", {"own_row"}),
    ("blocks.ranks", "alone", "2-1", set()),
    ("blocks.ranks", "alone", "2-2", {"same_fate"}),
]
"""What another scope adds or takes away."""

LARGE = [
    ("blocks.control_channel", "counted"),
    ("blocks.control_channel", "overtakes"),
    ("blocks.control_channel", "remembers"),
    ("blocks.ranks", "agreement-tells"),
]
"""Those with more than 5,000 states, which are too many for the reference in a quick run."""

ROWS = [(block, preset) for block, presets in TABLE.items() for preset in presets]


@cache
def checked(block: str, preset: str, scope: str | None = None, engine: str = "compiled") -> Result:
    model = find(block).model
    system = build(model, choose(model, preset=preset, scope=scope))
    return search(system, Options(engine="reference" if engine == "reference" else "compiled"))


def verdicts(result: Result) -> dict[str, str]:
    return {f.claim.name: f.verdict for f in result.findings}


def violated(result: Result) -> set[str]:
    return {name for name, verdict in verdicts(result).items() if verdict == "violated"}


def claims(block: str) -> set[str]:
    return {fn.__name__ for fn, _ in find(block).model.marked(ClaimMark)}


def test_the_table_is_whole() -> None:
    assert building_blocks() == sorted(TABLE)
    assert {b: [p.name for p in find(b).model.presets] for b in TABLE} == {b: list(row) for b, row in TABLE.items()}


@pytest.mark.parametrize("block", TABLE)
def test_each_property_has_a_preset_that_breaks_it_alone(block: str) -> None:
    assert {frozenset({name}) for name in claims(block)} <= {frozenset(names) for names in TABLE[block].values()}


@pytest.mark.parametrize(("block", "preset"), ROWS)
def test_a_preset_breaks_what_the_table_says(block: str, preset: str) -> None:
    result = checked(block, preset)

    assert TABLE[block][preset] == violated(result)
    # A search ends once everything is violated; every other one is complete.
    assert result.complete or claims(block) == violated(result)
    assert "inconclusive" not in verdicts(result).values()


@pytest.mark.parametrize(
    ("block", "preset"), [pytest.param(*row, marks=pytest.mark.slow) if row in LARGE else row for row in ROWS]
)
def test_the_reference_agrees(block: str, preset: str) -> None:
    fast, slow = checked(block, preset), checked(block, preset, engine="reference")

    assert verdicts(slow) == verdicts(fast)
    assert lengths(slow) == lengths(fast)


def lengths(result: Result) -> dict[str, int]:
    """Steps of the shortest runs; those without end are not searched for by length."""
    found = [f for f in result.findings if f.counterexample and f.claim.kind not in LIVENESS]
    return {f.claim.name: len(f.counterexample.steps) for f in found if f.counterexample}


@pytest.mark.parametrize(("block", "preset", "scope", "names"), CONSEQUENCES)
def test_another_scope_shows_what_comes_of_it(block: str, preset: str, scope: str, names: set[str]) -> None:
    assert names == violated(checked(block, preset, scope))


@pytest.mark.parametrize(("block", "preset"), [row for row in ROWS if not TABLE[row[0]][row[1]]])
def test_what_breaks_nothing_is_not_vacuous(block: str, preset: str) -> None:
    """In the scope that it is usually searched in; every property holds in the others too."""
    result = checked(block, preset)

    assert result.complete
    assert ((), ()) == (result.never_fired, result.vacuous)
    assert all(set() == violated(checked(block, preset, scope.name)) for scope in find(block).model.scopes)


@pytest.mark.parametrize("block", TABLE)
def test_each_part_of_a_guard_decides_somewhere(block: str) -> None:
    """In some preset and scope; in others it may be idle."""
    model = find(block).model
    idle = None
    for preset in model.presets:
        for scope in model.scopes:
            system = build(model, choose(model, preset=preset.name, scope=scope.name))
            result = search(system, Options(coverage=True, keep_going=True))
            found = {(gap.owner, gap.text) for gap in result.redundant or ()}
            idle = found if idle is None else idle & found

    assert set() == idle


@pytest.mark.parametrize(("block", "preset"), [row for row in ROWS if TABLE[row[0]][row[1]]])
def test_counterexamples_are_told(block: str, preset: str) -> None:
    """The reference evaluator runs each again, and the text of the preset names what is broken."""
    model = find(block).model
    system = build(model, choose(model, preset=preset))
    doc = next(p.doc for p in model.presets if p.name == preset)
    for finding in checked(block, preset).findings:
        if finding.counterexample is not None:
            trace = build_trace(system, finding.counterexample)
            assert finding.claim.name == trace.property
            assert len(TABLE[block][preset]) > 1 or doc.endswith(f": {trace.property}")


@pytest.mark.parametrize("block", TABLE)
def test_every_flag_is_turned_by_some_preset(block: str) -> None:
    """And every one says whether it is a measure or the world's."""
    model = find(block).model
    assert model.params is not None
    flags = {name: p for name, p in model.params.parameters().items() if isinstance(p, Flag)}
    chosen = [(name, value) for preset in model.presets for name, value in preset.values.items() if name in flags]
    turned = {name for name, value in chosen if value != flags[name].default}

    assert set(flags) == turned
    assert all(p.kind for p in flags.values())


def test_list_shows_a_line_for_each_block() -> None:
    title, *rows = block_lines()

    assert title.startswith("building blocks ")
    assert [row.split()[0] for row in rows] == building_blocks()
    assert not set(building_blocks()) & set(shipped_models())
    assert max(map(len, rows)) <= 100


@pytest.mark.parametrize("block", TABLE)
def test_a_block_is_named_like_its_target(block: str) -> None:
    """Traces carry the name, and `explain` and `show` look it up."""
    assert block == find(block).model.name
    assert set(properties_of(block)) == claims(block)
    assert all(claim and doc for claim, doc in properties_of(block).values())


def test_the_document_has_the_table() -> None:
    rows = re.findall(r"^\| `(blocks\.\w+)` \| .* \| `([\w-]+)` \| (.*) \|$", DOC.read_text(encoding="utf-8"), re.M)

    assert {(block, preset, frozenset(re.findall(r"`(\w+)`", names))) for block, preset, names in rows} == {
        (block, preset, frozenset(names)) for block, presets in TABLE.items() for preset, names in presets.items()
    }
