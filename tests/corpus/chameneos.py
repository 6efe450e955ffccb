"""Chameneos: creatures meet in pairs and change colours; when the meetings are used up, they fade."""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Int, Machine, Model, Opt, Record, Sort, action, init, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/Chameneos/Chameneos.cfg"
EXPECTED = [
    Expect(states=34534, depth=13, generated=104697, transitions=104616, verdicts={"everybody_counted": "holds"})
]

MEETINGS = 4
"""Meetings until all creatures fade."""

Creature = Sort("Creature", size=4, doc="creatures")

forest = Machine("forest", "the creatures and the place where they meet")


class Color(Enum):
    """Colours of a creature; who has faded meets nobody any more."""

    BLUE = auto()
    RED = auto()
    YELLOW = auto()
    FADED = auto()


class State(Record):
    """Every creature, and the meeting place."""

    color: Array(Creature, Color)
    met: Array(Creature, Int(0, MEETINGS))  # meetings that a creature has had
    waiting: Opt(Creature)  # the one at the meeting place
    meetings: Int(0, MEETINGS)


@init
def colorful(s, a: Color, b: Color, c: Color, d: Color):
    """Everybody has some colour."""
    require(Color.FADED not in {a, b, c, d})
    s.color[0] = a
    s.color[1] = b
    s.color[2] = c
    s.color[3] = d


def changed(mine, yours):
    """The colour after a meeting: the common one, or else the third."""
    if mine == yours:
        return mine
    if mine != Color.BLUE and yours != Color.BLUE:
        return Color.BLUE
    return Color.RED if mine != Color.RED and yours != Color.RED else Color.YELLOW


@action(forest)
def arrive(s, c: Creature):
    """Creature {c} comes to the empty meeting place and waits."""
    require(s.color[c] != Color.FADED and s.waiting is None and s.meetings < MEETINGS)
    s.waiting = c


@action(forest)
def meet(s, c: Creature, other: Creature):
    """Creature {c} meets {other}, who has been waiting."""
    require(s.color[c] != Color.FADED and s.waiting == other and c != other)
    color = changed(s.color[c], s.color[other])
    s.color[c] = color
    s.color[other] = color
    s.met[c] += 1
    s.met[other] += 1
    s.waiting = None
    s.meetings += 1


@action(forest)
def fade(s, c: Creature):
    """Creature {c} finds that the meetings are used up."""
    require(s.color[c] != Color.FADED and s.waiting is None and s.meetings == MEETINGS)
    s.color[c] = Color.FADED


@invariant("in the end two creatures have been counted for every meeting")
def everybody_counted(s):
    """Nobody meets himself, and no meeting is lost."""
    return s.meetings < MEETINGS or sum(s.met[c] for c in Creature) == 2 * MEETINGS


model = Model("chameneos", "creatures that meet and change colours", state=State, parts=[__name__])
