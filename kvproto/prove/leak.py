"""Which prompts leak: the exact condition on lengths, for pools, contexts and pages of any size.

A side takes a prompt of fewer tokens than min(context - 1, pool - 1) - 5 (`docs/proofs.md` names the code).  Prefill
refuses a longer one by sending a placeholder of one page in its place, or cuts it; decode reads what it has reserved
for the whole.  All sizes are unbounded integers here, and Z3 proves the closed forms that are printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.lang.bind import choose
from kvproto.lang.load import find
from kvproto.prove.solver import z3_module

NUMBERS = {
    "context": "tokens of the context, the same on both sides",
    "pool": "tokens of prefill's pool",
    "decode_pool": "tokens of decode's pool; at least the context if it is not given",
    "page": "tokens of a page",
}
"""What may be given, such as `--set pool=681280`."""

NOT_SENT = {
    "retire_after_forward": "nothing is sent for a refused prompt",
    "reject_at_admission": "a refused prompt is turned away at the door",
}
"""Switches that stop a placeholder and nothing else."""

COUNTED = {
    "token_count_check": "decode compares the counts of tokens",
    "checksum": "decode compares a checksum over its whole length",
}
"""Switches that stop whatever is shorter than the prompt."""

TAGGED = {"carried_tags": "every page that is read must have come with its tag"}
"""Switches that stop whatever has fewer pages than the prompt."""

Least = Callable[[Any, Any], Any]


def limit(context: Any, pool: Any, least: Least = min) -> Any:
    """A side refuses or cuts prompts of so many tokens and more; of integers, or of Z3's terms with `least` of these.

    >>> limit(1048576, 681280)
    681274
    """
    return least(context - 1, pool - 1) - 5


@dataclass(frozen=True, slots=True)
class Sizes:
    """Integers, or Z3's terms for them; `least` is the smaller of two of the kind."""

    context: Any
    pool: Any
    decode_pool: Any
    page: Any
    least: Least = min

    @property
    def prefill_limit(self) -> Any:
        """Prefill refuses or cuts from here on."""
        return limit(self.context, self.pool, self.least)

    @property
    def decode_limit(self) -> Any:
        """Decode does."""
        return limit(self.context, self.decode_pool, self.least)

    def refused_leaks(self, prompt: Any) -> tuple[Any, ...]:
        """All of these: prefill sends one page in place of the prompt, and decode has reserved more than one."""
        return (prompt >= 1, prompt >= self.prefill_limit, prompt < self.decode_limit, prompt > self.page)

    def cut_leaks(self, prompt: Any, sent: Any) -> tuple[Any, ...]:
        """All of these: what decode has reserved for, the prompt or its own cut of it, is more than `sent`."""
        return (prompt >= self.prefill_limit, prompt > sent, self.decode_limit > sent)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about all sizes, and whether Z3 has proved it."""

    text: str
    proved: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One way of sending less than the prompt: which prompts leak."""

    name: str
    what: str
    statements: tuple[Statement, ...]
    numbers: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether every statement is."""
        return all(each.proved for each in self.statements)

    def lines(self) -> list[str]:
        """The finding as text."""
        found = [f"{self.name}: {self.what}"]
        found += [f"  {'proved' if each.proved else 'NOT PROVED':<10}  {each.text}" for each in self.statements]
        return found + [f"  {text}" for text in self.numbers]


def report(preset: str, numbers: Mapping[str, int | str] | None = None) -> list[str]:
    """Which prompts leak in a preset of the model sglang, as text; `numbers` are some of `NUMBERS`.

    Raises KV002 (no such preset), KV005 (no such number), KV006 (not a size), KV303 (no Z3).
    """
    return [line for finding in findings(preset, numbers) for line in finding.lines()]


def findings(preset: str, numbers: Mapping[str, int | str] | None = None) -> list[Finding]:
    """The same as data: a prompt that is refused, and one that is cut because --allow-auto-truncate is on."""
    given = _sizes(numbers or {})
    values = choose(find("sglang").model, preset=preset).binding.values
    on = [name for name in (*NOT_SENT, *COUNTED, *TAGGED) if values.get(name)]
    return [_refused(on, given), _cut([name for name in on if name not in NOT_SENT], given)]


def _sizes(numbers: Mapping[str, int | str]) -> dict[str, int]:
    """The numbers that are given; what is no size is refused as it was written."""
    given: dict[str, int] = {}
    for name, value in numbers.items():
        if name not in NUMBERS:
            raise KvError(
                "KV005",
                f"the leak condition has no number {name!r}{did_you_mean(name, NUMBERS)}",
                reason=f"its numbers are: {', '.join(NUMBERS)}",
                cure="kvproto prove sglang@0.5.19 --set pool=681280 --set context=1048576 --set page=64",
            )
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise KvError(
                "KV006",
                f"{name}={value}: {NUMBERS[name]}",
                reason="a size is a whole number from 1 on, in digits alone",
                cure=f"--set {name}=65536, for example",
            )
        given[name] = value
    return given


# --------------------------------------------------------------------------------------------- a prompt that is refused


def _refused(on: Sequence[str], given: Mapping[str, int]) -> Finding:
    what = "prefill sends a placeholder of one page in place of a prompt that is too long for it"
    z3 = z3_module()
    sizes, known = _symbols(z3)
    n = z3.Int("n")
    leaks = z3.And(*sizes.refused_leaks(n))
    if on:
        sees = z3.Or(
            any(name in NOT_SENT for name in on), any(name in COUNTED for name in on) and n != 1, n > sizes.page
        )
        stopped = _statement(z3, f"no prompt leaks in this way: {_reasons(on)}", known, z3.Implies(leaks, sees))
        return Finding("refused", what, (stopped,))
    some = z3.Exists([n], leaks)
    most = sizes.least(sizes.context, sizes.decode_pool)
    closed = z3.And(sizes.pool < most, sizes.page < most - 7)
    smallest = _most(z3, sizes.pool - 6, sizes.page + 1)
    at_smallest = z3.substitute(leaks, (n, smallest))
    exactly = z3.And(sizes.pool - 6 <= n, n < most - 6, n > sizes.page)
    claims = {
        "a prompt of n tokens leaks exactly if pool - 6 <= n < min(context, decode_pool) - 6 and n > page": (
            leaks == exactly
        ),
        "some prompt leaks exactly if pool < min(context, decode_pool) and page < min(context, decode_pool) - 7": (
            _eliminated(z3, some) == closed
        ),
        "then the smallest that leaks has max(pool - 6, page + 1) tokens": (
            z3.And(z3.Implies(closed, at_smallest), z3.Implies(leaks, smallest <= n))
        ),
        "none leaks if pool >= context or pool >= decode_pool": z3.Implies(some, sizes.pool < most),
    }
    return Finding("refused", what, _statements(z3, known, claims), _refused_numbers(given))


def _refused_numbers(given: Mapping[str, int]) -> tuple[str, ...]:
    sizes = _integers(given)
    if sizes is None:
        return ()
    first, last = max(1, sizes.prefill_limit, sizes.page + 1), sizes.decode_limit - 1
    head = _with(given)
    if first > last:
        return (f"{head}: no prompt leaks",)
    stale = [_pages(length, sizes.page) - 1 for length in (first, last)]
    pages = f"; {stale[0]:,} to {stale[1]:,} pages are stale" if "page" in given else ""
    return (f"{head}: the smallest prompt that leaks has {first:,} tokens, the longest {last:,}{pages}",)


# ------------------------------------------------------------------------------------------------- a prompt that is cut


def _cut(on: Sequence[str], given: Mapping[str, int]) -> Finding:
    what = "with --allow-auto-truncate prefill cuts a prompt to what it can take, and decode to what that can take"
    z3 = z3_module()
    sizes, known = _symbols(z3)
    n, end = z3.Ints("n end")
    # A cut to nothing is none: pools of a handful of tokens are left out.  Prefill's last page ends less than a page
    # after its last token; where, is all that matters of it.
    last = sizes.prefill_limit
    known = [*known, last >= 1, sizes.decode_limit >= 1, end >= last, end < last + sizes.page]
    most = sizes.least(sizes.context, sizes.decode_pool)
    tokens, pages = z3.And(*sizes.cut_leaks(n, last)), z3.And(*sizes.cut_leaks(n, end))
    reserved = sizes.least(n, sizes.decode_limit)
    if any(name in COUNTED for name in on):
        text = f"no prompt leaks in this way: {_reasons(on)}"
        return Finding("cut", what, _statements(z3, known, {text: z3.Implies(tokens, reserved != last)}))
    if on:
        claims = {
            f"no stale page is read: {_reasons(on)}": z3.Implies(pages, reserved > end),
            "prompts that end inside of prefill's last page have stale tokens there, which no tag tells": (
                z3.Implies(z3.And(tokens, n <= end), z3.And(reserved > last, reserved <= end))
            ),
        }
        return Finding("cut", what, _statements(z3, known, claims), _cut_numbers(given, pages=False))
    claims = {
        "a prompt of n tokens has stale tokens exactly if pool < min(context, decode_pool) and n > pool - 6": (
            tokens == z3.And(sizes.pool < most, n > sizes.pool - 6)
        ),
        "it has stale pages exactly if end < min(context, decode_pool) - 6 and n > end, with `end` the end of"
        " prefill's last page": pages == z3.And(end < most - 6, n > end),
        "comparing counts of pages does not see the stale tokens of prompts up to `end`": (
            z3.Implies(z3.And(tokens, n <= end), z3.And(reserved > last, reserved <= end))
        ),
    }
    return Finding("cut", what, _statements(z3, known, claims), _cut_numbers(given))


def _cut_numbers(given: Mapping[str, int], *, pages: bool = True) -> tuple[str, ...]:
    sizes = _integers(given)
    if sizes is None or sizes.prefill_limit < 1:
        return ()
    head, sent = _with(given), sizes.prefill_limit
    if sizes.decode_limit <= sent:
        return (f"{head}: no prompt leaks",)
    found = f"{head}: the first prompt with a stale token has {sent + 1:,} tokens"
    if not pages or "page" not in given:
        return (found,)
    end = _pages(sent, sizes.page) * sizes.page
    page = f"{end + 1:,}" if end < sizes.decode_limit else "none"
    return (f"{found}, the first with a stale page {page}",)


# --------------------------------------------------------------------------------------------------------- what it uses


def _symbols(z3: Any) -> tuple[Sizes, list[Any]]:
    """Sizes without a bound, and what holds of them: an engine with a pool or context of one token does not start."""
    context, pool, decode_pool, page = z3.Ints("context pool decode_pool page")
    sizes = Sizes(context, pool, decode_pool, page, lambda a, b: z3.If(a <= b, a, b))
    return sizes, [context >= 2, pool >= 2, decode_pool >= 2, page >= 1]


def _statement(z3: Any, text: str, known: Sequence[Any], claim: Any) -> Statement:
    """The sentence, proved if its negation has no model, and what is known has one."""
    vacuous = z3.Solver()
    vacuous.add(*known)
    solver = z3.Solver()
    solver.add(*known, z3.Not(claim))
    return Statement(text, bool(vacuous.check() == z3.sat and solver.check() == z3.unsat))


def _statements(z3: Any, known: Sequence[Any], claims: Mapping[str, Any]) -> tuple[Statement, ...]:
    return tuple(_statement(z3, text, known, claim) for text, claim in claims.items())


def _reasons(on: Sequence[str]) -> str:
    whole = {**NOT_SENT, **COUNTED, **TAGGED}
    return "; ".join(whole[name] for name in on)


def _eliminated(z3: Any, formula: Any) -> Any:
    """The same without its quantifier."""
    return z3.Then("simplify", "qe")(formula).as_expr()


def _most(z3: Any, a: Any, b: Any) -> Any:
    return z3.If(a >= b, a, b)


def _integers(given: Mapping[str, int]) -> Sizes | None:
    """The sizes as integers; None where the context or the pool is not given."""
    if "context" not in given or "pool" not in given:
        return None
    context = given["context"]
    return Sizes(context, given["pool"], given.get("decode_pool", context), given.get("page", 1))


def _with(given: Mapping[str, int]) -> str:
    shown = ", ".join(f"{name}={given[name]}" for name in NUMBERS if name in given)
    left = "" if "decode_pool" in given else ", decode_pool >= context"
    return f"with {shown}{left}"


def _pages(tokens: int, page: int) -> int:
    return -(-tokens // page)
