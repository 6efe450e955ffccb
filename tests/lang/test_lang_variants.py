"""Systems of one model under many bindings, from one set of translations: the same as each built alone."""

from __future__ import annotations

import pytest

from kvproto.ir.digest import digest
from kvproto.lang.bind import choose
from kvproto.lang.binding import Flag
from kvproto.lang.frontend.build import build
from kvproto.lang.frontend.variants import Variants
from kvproto.lang.load import building_blocks, find

MODELS = [*building_blocks(), "kv_transfer", "outline"]


def flags(model: str) -> list[str]:
    """The switches of a model."""
    params = find(model).model.params
    return [name for name, p in params.parameters().items() if isinstance(p, Flag)] if params else []


@pytest.mark.parametrize("name", MODELS)
def test_each_switch_gives_what_building_alone_gives(name: str) -> None:
    model = find(name).model
    variants = Variants(model)
    usual = choose(model)
    for flag in [None, *flags(name)]:
        sets = {} if flag is None else {flag: not usual.binding.values[flag]}
        chosen = choose(model, sets=sets)
        expected, found = build(model, chosen), variants.system(chosen)

        assert (expected.actions, expected.inits, expected.claims) == (found.actions, found.inits, found.claims)
        assert digest(expected) == digest(found)
        assert expected.parameters == found.parameters
        assert expected.sources.items() <= found.sources.items()


def test_presets_and_scopes_in_any_order() -> None:
    model = find("outline").model
    names = [(preset.name, scope.name) for preset in model.presets for scope in model.scopes]
    for order in (names, names[::-1]):
        variants = Variants(model)
        for preset, scope in order:
            chosen = choose(model, preset=preset, scope=scope)
            assert digest(build(model, chosen)) == digest(variants.system(chosen))


def test_what_did_not_ask_for_a_switch_is_the_same_object() -> None:
    model = find("outline").model
    variants = Variants(model)
    before = variants.system(choose(model))
    after = variants.system(choose(model, sets={"token_count_check": not before.parameters["token_count_check"]}))
    same = [one is other for one, other in zip(before.actions, after.actions, strict=True)]

    assert same.count(False) == 1


def test_some_actions_alone() -> None:
    model = find("outline").model
    whole = Variants(model).system(choose(model))
    names = {whole.actions[0].name, whole.actions[3].name}
    part = Variants(model).system(choose(model), only=names)

    assert part.actions == (whole.actions[0], whole.actions[3])
    assert part.claims == whole.claims
