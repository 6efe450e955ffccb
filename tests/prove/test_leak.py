"""The leak condition: true of small sizes by counting, of released code by running it, of the model by searching."""

from __future__ import annotations

import ast
import builtins
from array import array
from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest
from cites_wheels import RELEASES, NoWheel, wheel
from hypothesis import given, settings
from hypothesis import strategies as st

from kvproto.diagnostics import KvError
from kvproto.engine.search import search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.prove import leak
from kvproto.prove.leak import COUNTED, NOT_SENT, TAGGED, Sizes, findings, limit, report

if TYPE_CHECKING:
    from cites_wheels import Wheel

pytest.importorskip("z3", reason="the leak condition is proved by Z3 (pip install 'kvproto[prove]')")

INCIDENT = {"context": 1_048_576, "pool": 681_280, "page": 64}


def test_the_incident() -> None:
    """The disclosure's pool and context: the prompts that leak begin six tokens below the pool."""
    refused, cut = findings("0.5.19", INCIDENT)

    assert refused.proved and cut.proved
    assert ["refused: ", "cut: "] == [line[: line.index(":") + 2] for line in report("0.5.19") if line[0] != " "]
    assert "smallest prompt that leaks has 681,274 tokens, the longest 1,048,569" in refused.numbers[0]
    assert "10,644 to 16,383 pages are stale" in refused.numbers[0]
    assert "first prompt with a stale token has 681,275 tokens, the first with a stale page 681,281" in cut.numbers[0]


@pytest.mark.parametrize("preset", ["0.5.20", "0.5.21", "0.5.22", "0.5.23"])
def test_later_releases_send_no_placeholder(preset: str) -> None:
    """Cutting prompts still leaks where an operator has switched it on."""
    refused, cut = findings(preset, INCIDENT)

    assert refused.proved and "no prompt leaks" in refused.statements[0].text and not refused.numbers
    assert cut.proved and cut.numbers


def test_tags_do_not_see_a_cut_inside_of_a_page() -> None:
    (_, cut) = findings("tagged", INCIDENT)

    assert cut.proved
    assert "no stale page is read" in cut.statements[0].text
    assert "681,275" in cut.numbers[0] and "stale page" not in cut.numbers[0]


def test_numbers_that_are_none() -> None:
    with pytest.raises(KvError) as unknown:
        report("0.5.19", {"pol": 3})
    with pytest.raises(KvError) as small:
        report("0.5.19", {"pool": 0})

    assert "KV005" == unknown.value.diagnostic.code and "did you mean 'pool'?" in str(unknown.value)
    assert "KV006" == small.value.diagnostic.code


@pytest.mark.parametrize("text", ["-3", "681,280", "681_280", "abc", "", "9" * 5000])
def test_what_is_no_size_is_refused_as_it_was_written(text: str) -> None:
    with pytest.raises(KvError) as refused:
        findings("0.5.19", {"pool": text})

    assert "KV006" == refused.value.diagnostic.code
    assert f"pool={text}:" in str(refused.value)


def test_numbers_need_both_lengths() -> None:
    assert all(not each.numbers for each in findings("0.5.19", {"pool": 100}))
    assert "no prompt leaks" in findings("0.5.19", {"pool": 100, "context": 100})[0].numbers[0]


def pages(tokens: int, page: int) -> int:
    return sum(1 for first in range(0, tokens, page))


def test_all_small_sizes() -> None:
    """What is printed is what counting finds: for every pool, context and page up to a few tokens."""
    seen = 0
    for context, pool, other, page in product(range(8, 17), range(8, 17), range(8, 17), (1, 2, 3)):
        sizes = {"context": context, "pool": pool, "decode_pool": other, "page": page}
        mine, theirs = limit(context, pool), limit(context, other)
        leaks = [n for n in range(1, 20) if mine <= n < theirs and pages(n, page) > 1]
        (said,) = leak._refused_numbers(sizes)
        assert leaks == [n for n in range(1, 20) if all(Sizes(context, pool, other, page).refused_leaks(n))]
        if leaks:
            seen += 1
            assert f"has {leaks[0]} tokens, the longest {leaks[-1]};" in said
            assert f"; {pages(leaks[0], page) - 1} to {pages(leaks[-1], page) - 1} pages" in said
        else:
            assert "no prompt leaks" in said
        cut = [n for n in range(1, 20) if n >= mine and min(n, theirs) > mine]
        (said,) = leak._cut_numbers(sizes)
        assert (f"first prompt with a stale token has {cut[0]} tokens" if cut else "no prompt leaks") in said
        torn = [n for n in cut if pages(min(n, theirs), page) > pages(mine, page)]
        assert not cut or f"stale page {torn[0] if torn else 'none'}" in said

    assert seen > 100


def test_a_false_statement_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit that is off by one the closed forms are wrong, and Z3 says so."""
    monkeypatch.setattr(leak, "limit", lambda context, pool, least=min: least(context - 1, pool - 1) - 4)
    refused, cut = findings("0.5.19")

    assert not refused.proved and not cut.proved
    assert any("NOT PROVED" in line for line in refused.lines())


# ------------------------------------------------------------------------------------------------- the released code


def released(wheel: Wheel, path: str, name: str, **known: Any) -> Callable[..., Any]:
    """A function of the wheel, with stand-ins for every name of its module that is not given."""
    tree = wheel.tree(path)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    assert 1 == len(found), f"{path}: {len(found)} functions {name}"
    found[0].returns, found[0].decorator_list = None, []
    for argument in found[0].args.args:
        argument.annotation = None
    names = {node.id for node in ast.walk(found[0]) if isinstance(node, ast.Name)} - set(dir(builtins))
    scope: dict[str, Any] = {word: MagicMock() for word in names} | known
    exec(compile(ast.Module([found[0]], []), path, "exec"), scope)
    function: Callable[..., Any] = scope[name]
    return function


@pytest.fixture(scope="module", params=RELEASES)
def code(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The functions of a release that make the limit and that apply it."""
    try:
        found = wheel(request.param)
    except NoWheel as problem:
        pytest.skip(str(problem))
    info = released(
        found, "srt/managers/tp_worker.py", "get_worker_info", page_interleave_shard_size=lambda allocator: 1
    )
    return info, released(found, "srt/managers/utils.py", "validate_input_length")


def limit_of(info: Callable[..., Any], context: int, pool: int) -> int:
    worker = MagicMock()
    worker.model_config.context_len = context
    worker.model_runner.effective_max_total_num_tokens = pool
    worker.model_runner.effective_logical_max_total_num_tokens = pool
    worker.ps.attn_dcp_size = 1
    worker.dllm_algorithm = None
    told = [each for each in info(worker) if type(each) is int]
    assert 2 == len(told), "the longest request and the longest prompt"
    return int(told[1])


@pytest.mark.network
@settings(max_examples=40, deadline=None)
@given(st.integers(8, 2_000_000), st.integers(8, 2_000_000), st.integers(-3, 3))
def test_the_released_code(code: tuple[Callable[..., Any], Callable[..., Any]], a: int, b: int, near: int) -> None:
    """The limit, that it refuses from the limit on, and that a cut leaves so many tokens."""
    info, validate = code
    most = limit_of(info, a, b)
    length = max(1, min(most + near, 5_000))
    most_here = most if length == most + near else length - near
    request = SimpleNamespace(origin_input_ids=array("q", bytes(8 * length)))

    assert limit(a, b) == most
    assert (length >= most_here) == (validate(request, most_here, False) is not None)
    assert validate(request, most_here, True) is None
    assert len(request.origin_input_ids) == (min(length, most_here) if most_here >= 0 else max(0, length + most_here))


# ----------------------------------------------------------------------------------------------------------- the model


def reads_own(preset: str, **switches: bool) -> bool:
    """Whether reads_own_writes holds, by a complete search, or is refuted."""
    model = find("sglang").model
    result = search(build(model, choose(model, preset=preset, sets=switches)))
    finding = result.finding("reads_own_writes")
    assert result.complete or finding.counterexample
    return finding.counterexample is None


@pytest.mark.parametrize("switch", [None, *NOT_SENT, *COUNTED, *TAGGED])
def test_the_model_stops_where_the_condition_does(switch: str | None) -> None:
    """What is said to stop a placeholder stops it in the model, and without any of these it leaks."""
    assert reads_own("incident", **({switch: True} if switch else {})) == (switch is not None)


@pytest.mark.parametrize("switch", [*NOT_SENT, *COUNTED, *TAGGED])
def test_the_model_cuts_where_the_condition_does(switch: str) -> None:
    """Refusing at the door does not help where prompts are cut."""
    on = {name: name == switch for name in (*NOT_SENT, *COUNTED, *TAGGED)}

    assert reads_own("incident", unequal_lengths=True, **on) == (switch not in NOT_SENT)
