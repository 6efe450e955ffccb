"""Prisoners and two switches: one of them counts, and in the end knows that everybody has been in the room.

Whoever is led into the room flips exactly one switch.  A prisoner turns switch A on, twice in all; the counter turns it
off and counts.  Who can do neither flips switch B, which means nothing.
"""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Array, Bool, Int, Machine, Model, Record, Sort, action, eventually, init, invariant, weak

SOURCE = "github.com/tlaplus/Examples: specifications/Prisoners/Prisoners.cfg"
EXPECTED = [
    Expect(
        states=214,
        depth=14,
        generated=860,
        transitions=856,
        verdicts={
            "nobody_is_forgotten": "holds",
            "count_is_right": "holds",
            "they_get_free": "holds",
            "no_deadlock": "holds",
        },
    )
]

OTHERS = 3
"""Prisoners who do not count."""

Prisoner = Sort("Prisoner", size=OTHERS, doc="those who do not count")

prisoners = Machine("prisoners", "those who do not count")
counter = Machine("counter", "the prisoner who counts")


class State(Record):
    """The room, and what everybody remembers."""

    a_up: Bool
    b_up: Bool
    times: Array(Prisoner, Int(0, 2))  # how often a prisoner has turned A on
    count: Int(0, 2 * OTHERS + 1)


@init
def unknown_room(s, a_up: Bool, b_up: Bool):
    """Nobody knows how the switches are to begin with."""
    s.a_up = a_up
    s.b_up = b_up


@action(prisoners)
def visit(s, p: Prisoner):
    """Prisoner {p} is led into the room."""
    if not s.a_up and s.times[p] < 2:
        s.a_up = True
        s.times[p] += 1
    else:
        s.b_up = not s.b_up


@action(counter)
def count(s):
    """The counter is led into the room."""
    if s.a_up:
        s.a_up = False
        s.count += 1
    else:
        s.b_up = not s.b_up


def done(s):
    """The counter declares that everybody has been in the room."""
    return s.count == 2 * OTHERS


@invariant("the counter never declares too early")
def nobody_is_forgotten(s):
    """They would all be shot."""
    return not done(s) or all(s.times[p] > 0 for p in Prisoner)


@invariant("the count is what was switched, give or take the unknown beginning")
def count_is_right(s):
    """Why the counter may declare at twice the number of the others, and not before."""
    switched = sum(s.times[p] for p in Prisoner)
    pending = 1 if s.a_up else 0
    return s.count in (switched - pending, switched - pending + 1)


@eventually("the counter declares")
def they_get_free(s):
    """The warden promises that nobody is left out forever."""
    return done(s)


model = Model(
    "prisoners",
    "prisoners and two switches",
    state=State,
    parts=[__name__],
    deadlock=True,
    fairness=[weak(count), weak(visit, per="p")],
)
