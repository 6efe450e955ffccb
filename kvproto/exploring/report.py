"""An exploration in words and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from kvproto.exploring.findings import Gap, Surplus, Violation
from kvproto.exploring.search import Explored, Extent

WIDTH = 110
MOST_GAPS = 20


def explored_lines(result: Explored, beside: str, files: Mapping[str, str]) -> list[str]:
    """How far it went, what is violated, what is missing in the model, what the model has too much.

    `beside` is the model's name with its preset and scope; `files` says where the path of a claim or gap was written.
    """
    plan = result.plan
    lines = [f"{result.target}, beside {beside}, {'with' if plan.ticks else 'without'} clocks that run out"]
    if plan.first:
        lines.append(f"  from the place after {len(plan.first)} steps, the last of them {plan.first[-1]}")
    lines += [f"  {_extent(extent)}" for extent in result.extents]
    found = result.findings
    for claim in sorted(found.violations):
        lines += _violation(found.violations[claim], files.get(claim))
    for gap in _sorted(result)[:MOST_GAPS]:
        lines += _gap(gap, files.get(gap.about))
    if len(found.gaps) > MOST_GAPS:
        lines.append(f"  and {len(found.gaps) - MOST_GAPS} more gaps")
    for action in sorted(found.surplus):
        lines += _surplus(found.surplus[action])
    lines += ["", *textwrap.wrap(_verdict(result), WIDTH)]
    return lines


def _sorted(result: Explored) -> list[Gap]:
    return sorted(result.findings.gaps.values(), key=lambda gap: (len(gap.path), gap.about))


def _extent(extent: Extent) -> str:
    counts = f"{extent.places} places, {extent.steps} steps, {extent.seconds:.1f} s"
    if extent.way == "bounded":
        end = ", and there is nothing deeper" if extent.exhausted else ", cut by the time limit" if extent.cut else ""
        return f"every order to depth {extent.depth}: {counts}{end}"
    cut = ", cut by the time limit" if extent.cut else ""
    return f"{extent.schedules} orders at random: {counts}{cut}"


def _violation(found: Violation, file: str | None) -> list[str]:
    expected = "" if found.expected else "  not in the model"
    lines = [f"  VIOLATED  {found.claim:<28} {found.way}  {len(found.path)} steps{expected}"]
    return lines + ([f"            -> {file}"] if file else [])


def _gap(gap: Gap, file: str | None) -> list[str]:
    what = {
        "step": "the code takes a step that the model refuses",
        "state": "the code is in another state than the model",
        "raised": "the code raises an exception",
    }[gap.kind]
    head = f"GAP  {gap.about}: {what} ({gap.way}, {len(gap.path)} steps)"
    lines = textwrap.wrap(head, WIDTH, initial_indent="  ", subsequent_indent="       ")
    lines += textwrap.wrap(gap.detail, WIDTH, initial_indent="       ", subsequent_indent="       ")
    return lines + ([f"       -> {file}"] if file else [])


def _surplus(found: Surplus) -> list[str]:
    times = "once" if found.times == 1 else f"{found.times} times"
    head = f"over-approximation  the model allows {found.step}, the code does not ({times}): {found.reason}"
    return textwrap.wrap(head, WIDTH, initial_indent="  ", subsequent_indent="      ")


def _verdict(result: Explored) -> str:
    found = result.findings
    if not found.wrong:
        return (
            "nothing was found, which is no proof: the search was cut, and places are told apart only by what can be "
            "observed of them"
        )
    parts = []
    if found.violations:
        parts.append(f"{len(found.violations)} claim{'s' * (len(found.violations) > 1)} violated by the code")
    if found.gaps:
        parts.append(f"{len(found.gaps)} gap{'s' * (len(found.gaps) > 1)} in the model, or in how the code is driven")
    return "; ".join(parts)


def summary(result: Explored, beside: str, files: Mapping[str, str]) -> dict[str, object]:
    """JSON values."""
    found = result.findings
    return {
        "schema": "kvproto.explored/1",
        "implementation": result.target,
        "model": beside,
        "seed": result.plan.seed,
        "ticks": result.plan.ticks,
        "first": list(map(str, result.plan.first)),
        "complete": False,
        "exit_code": result.exit_code,
        "extents": [
            {
                "strength": one.way,
                "depth": one.depth,
                "schedules": one.schedules,
                "places": one.places,
                "steps": one.steps,
                "seconds": round(one.seconds, 3),
                "cut": one.cut,
            }
            for one in result.extents
        ],
        "violations": [
            {
                "claim": one.claim,
                "strength": one.way,
                "length": len(one.path),
                "in_model": one.expected,
                "steps": list(map(str, one.path)),
                "file": files.get(one.claim),
            }
            for one in (found.violations[claim] for claim in sorted(found.violations))
        ],
        "gaps": [
            {
                "kind": gap.kind,
                "about": gap.about,
                "detail": gap.detail,
                "strength": gap.way,
                "steps": list(map(str, gap.path)),
                "file": files.get(gap.about),
            }
            for gap in _sorted(result)
        ],
        "over_approximations": [
            {"step": str(one.step), "times": one.times, "reason": one.reason, "after": list(map(str, one.path))}
            for one in (found.surplus[action] for action in sorted(found.surplus))
        ],
    }
