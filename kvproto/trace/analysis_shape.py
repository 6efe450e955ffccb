"""From parsed JSON to an `Analysis`: numbers of steps and variables must be those of the trace."""

from __future__ import annotations

from kvproto.trace.analysis import EFFECTS, GUARD_KINDS, VERDICTS, Analysis, Dot, Guard, NoReturn
from kvproto.trace.field import Field, present, variable
from kvproto.trace.trace import State

ANALYSIS_KEYS = ("guards", "dots", "no_return", "minimised")
GUARD_KEYS = (
    "name",
    "kind",
    "value",
    "effect",
    "step",
    "since",
    "action",
    "condition",
    "loc",
    "about",
    "release",
    "difference",
    "verdict",
    "other",
)
EXTRA_GUARD_KEYS = ("breaks",)
DOT_KEYS = ("step", "path", "value", "instead", "effect", "at", "condition")
NO_RETURN_KEYS = ("step", "forced", "avoidable", "states", "complete")


def analysis_of(place: Field, state: State, steps: int) -> Analysis:
    """The analysis of a trace of so many steps over the variables of `state`, or KV012."""
    guards, dots, no_return, minimised = place.keys(*ANALYSIS_KEYS)
    return Analysis(
        tuple(_guard(item, steps) for item in guards.items()),
        tuple(_dot(item, state, steps) for item in dots.items()),
        None if no_return.value is None else _no_return(no_return, steps),
        minimised.texts(),
    )


def _guard(place: Field, steps: int) -> Guard:
    names = [*GUARD_KEYS, *present(place, EXTRA_GUARD_KEYS)]
    at = dict(zip(names, place.keys(*names), strict=True))
    number = at["step"].number(0, steps)
    return Guard(
        name=at["name"].text(),
        kind=at["kind"].one_of(GUARD_KINDS),
        value=at["value"].scalar(),
        effect=at["effect"].one_of(EFFECTS),
        step=number,
        since=at["since"].number(0, number),
        action=at["action"].text(),
        condition=at["condition"].text(),
        loc=at["loc"].text(),
        about=at["about"].text(),
        release=at["release"].text(),
        difference=at["difference"].text(),
        verdict=at["verdict"].one_of(VERDICTS),
        other=at["other"].number(0),
        breaks=at["breaks"].texts() if "breaks" in at else (),
    )


def _dot(place: Field, state: State, steps: int) -> Dot:
    step, path, value, instead, effect, at, condition = place.keys(*DOT_KEYS)
    number = step.number(1, steps)
    return Dot(
        number,
        variable(path, state),
        value.state_value(),
        instead.state_value(),
        effect.one_of(("refused", "harmless")),
        at.number(1, steps),
        condition.text(),
    )


def _no_return(place: Field, steps: int) -> NoReturn:
    step, forced, avoidable, states, complete = place.keys(*NO_RETURN_KEYS)
    marks = tuple(item.flag() for item in avoidable.items())
    if len(marks) not in (0, steps + 1):
        avoidable.refuse(f"an array of {steps + 1}, one for each state")
    return NoReturn(
        None if step.value is None else step.number(0, steps),
        None if forced.value is None else forced.number(0, steps),
        marks,
        states.number(0),
        complete.flag(),
    )
