"""What is asked: which switches are tried, and what is fixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvproto.diagnostics import KvError
from kvproto.lang import flag
from kvproto.lang.binding import Flag, Params
from kvproto.lang.load import Target, find
from kvproto.mitigations.switches import Question, question

PAGES = str(Path(__file__).with_name("pages.py"))


def pages(preset: str = "") -> Target:
    return find(f"{PAGES}@{preset}" if preset else PAGES)


def refused(code: str, *args: object, **more: object) -> str:
    with pytest.raises(KvError) as caught:
        question(*args, **more)  # type: ignore[arg-type]
    assert caught.value.diagnostic.code == code
    return caught.value.diagnostic.render()


def test_by_default_mitigations_that_are_off() -> None:
    assert question(pages()).switches == ("drain", "bounded", "tagged", "retry", "rotate")
    assert question(pages("careful")).switches == ("tagged", "retry")


def test_what_is_on_stays_on() -> None:
    parameters = question(pages("careful")).system(0).parameters

    assert parameters["drain"] is True
    assert parameters["tagged"] is False


def test_drop_asks_about_what_is_on() -> None:
    what = question(pages("careful"), drop=True)

    assert what.switches == ("drain", "bounded", "rotate")
    assert what.system(0).parameters["drain"] is False
    assert what.system(what.everything).parameters["rotate"] is True


def test_from_asks_about_the_difference() -> None:
    what = question(pages("careful"), start="bare")

    assert what.switches == ("drain", "bounded", "rotate")
    assert what.system(0).parameters["drain"] is False


def test_from_keeps_what_the_start_has() -> None:
    """The measures of the start stay, whatever the target says; all else is the target's."""
    what = question(pages("quiet"), start="bare", sets={"tagged": "on", "retry": "on"})

    assert what.switches == ("tagged", "retry")
    assert what.system(0).parameters["aborts"] is False


def test_named_switches_may_be_any_flags() -> None:
    what = question(pages("careful"), switches=["verbose", "drain"])

    assert what.switches == ("verbose", "drain")
    assert what.system(0).parameters["drain"] is False
    assert what.system(0).parameters["bounded"] is True


def test_set_moves_a_mitigation_into_the_base() -> None:
    what = question(pages(), sets={"drain": "on"})

    assert "drain" not in what.switches
    assert what.system(0).parameters["drain"] is True


def test_scope_and_preset_are_kept() -> None:
    what = question(pages("careful"), scope="two")

    assert (what.system(0).preset, what.system(0).scope) == ("careful", "two")


def test_a_question_can_be_made_again() -> None:
    what = question(pages("careful"), scope="two", sets={"aborts": "off"})
    parameters = what.system(1).parameters

    copy = Question.made(what.recipe())  # loads the file again

    assert (copy.switches, copy.preset, copy.scope, copy.fixed) == (what.switches, what.preset, what.scope, what.fixed)
    assert copy.system(1).parameters == parameters


def test_sets_by_name() -> None:
    what = question(pages())

    assert what.names(what.mask(["rotate", "drain"])) == ("drain", "rotate")
    assert what.names(what.mask(["-drain", "-rotate"])) == ("bounded", "tagged", "retry")
    assert what.mask([]) == 0


def test_unknown_names_are_refused() -> None:
    assert "drain" in refused("KV005", pages(), switches=["drian"])
    with pytest.raises(KvError) as caught:
        question(pages()).mask(["-rotete"])
    assert "rotate" in caught.value.diagnostic.render()


def test_a_number_is_no_switch() -> None:
    assert "--set most=" in refused("KV006", pages(), switches=["most"])


def test_a_switch_cannot_be_fixed_and_tried() -> None:
    refused("KV026", pages(), switches=["drain"], sets={"drain": "on"})


def test_nothing_to_choose_from() -> None:
    assert "drain, bounded" in refused("KV041", pages("bare"), drop=True)
    assert "off in careful" in refused("KV041", pages("bare"), start="careful")
    assert 'kind="mitigation"' in refused("KV041", find("kv_transfer@vulnerable"))


def test_kinds_are_checked_where_they_are_declared() -> None:
    class Config(Params):
        a: bool = flag(True, "a", kind="environment")
        b: bool = flag(True, "b")

    kinds = {name: p.kind for name, p in Config.parameters().items() if isinstance(p, Flag)}

    assert kinds == {"a": "environment", "b": ""}
    with pytest.raises(TypeError, match="mitigation"):
        flag(True, "c", kind="measure")  # type: ignore[arg-type]
