"""Printer, verifier, digest and footprints on the shipped models."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kvproto.engine.search import search
from kvproto.ir.digest import digest
from kvproto.ir.nodes import Assign, Require, System
from kvproto.ir.printer import show_system
from kvproto.ir.verify import Broken, verify
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find, shipped_models
from kvproto.passes import PIPELINE
from kvproto.passes.footprint import claim_reads, footprint
from kvproto.trace.build import build_trace


def system(name: str, preset: str | None = None) -> System:
    model = find(name).model
    return build(model, choose(model, preset=preset))


ALL = [(name, preset.name) for name in shipped_models() for preset in find(name).model.presets]


@pytest.mark.parametrize(("name", "preset"), ALL)
def test_every_pass_keeps_the_rules(name: str, preset: str) -> None:
    found = verify(system(name, preset))
    for step in PIPELINE:
        found = verify(step(found))


def test_the_verifier_refuses_a_broken_tree() -> None:
    good = system("kv_transfer")
    action = good.actions[0]
    require = next(s for s in action.body if isinstance(s, Require))
    store = next(s for s in action.body if isinstance(s, Assign))
    for broken in (
        replace(require, cond=store.value),
        replace(store, value=require.cond),
        replace(store, place=replace(store.place, steps=store.place.steps[:1])),
    ):
        with pytest.raises(Broken):
            verify(replace(good, actions=(replace(action, body=(broken,)),)))


def test_the_digest_follows_meaning_only() -> None:
    one = system("outline", "0.5.19")

    assert digest(one) == digest(system("outline", "0.5.19"))
    assert digest(one) == digest(replace(one, preset="another name"))
    assert digest(one) != digest(system("outline", "0.5.20"))
    assert digest(one) != digest(replace(one, actions=one.actions[1:]))


def test_printed_text_is_readable() -> None:
    text = "\n".join(show_system(system("kv_transfer")))

    assert "decode.reserve(r: Req[3])" in text
    assert "require (s.phase[r] == NEW)" in text


def test_footprint_of_a_small_action() -> None:
    actions = {a.name: a for a in system("kv_transfer").actions}

    land = footprint(actions["land"])

    assert ("flying[*]", "owner[*]") == land.reads
    assert ("flying[*]", "mark[*]", "stray") == land.writes


@pytest.mark.parametrize(("name", "preset"), ALL)
def test_no_step_leaves_the_footprint(name: str, preset: str) -> None:
    """What counterexamples were seen to read and write lies inside what the text can reach."""
    found = system(name, preset)
    marks = {a.name: footprint(a) for a in found.actions}
    claims = {c.name: set(claim_reads(c)) for c in found.claims}

    def field(path: str) -> str:
        return re.sub(r"\[[^]]*\]", "[*]", path)

    for finding in search(found).findings:
        if finding.counterexample is None:
            continue
        trace = build_trace(found, finding.counterexample)
        for step in trace.steps:
            assert {field(p) for p in step.reads} <= set(marks[step.action].reads)
            assert {field(p) for p in step.writes} <= set(marks[step.action].writes)
        # Of a run without end also what the guards read that keep it from its goal.
        guards = {p for mark in marks.values() for p in mark.reads} if trace.loop is not None else set()
        assert {field(p) for p in trace.blame} <= claims[trace.property] | guards
        assert trace.blame
