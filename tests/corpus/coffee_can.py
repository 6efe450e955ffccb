"""A can of coffee beans: two are taken out at a time, one goes back, until a single bean is left.

Two of a colour are thrown away for a black one; of two colours the white one goes back.
"""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import (
    Bool,
    Int,
    Machine,
    Model,
    Params,
    Record,
    Scope,
    action,
    eventually,
    init,
    leads_to,
    number,
    require,
    weak,
)

SOURCE = "github.com/tlaplus/Examples: specifications/CoffeeCan/CoffeeCan100Beans.cfg, CoffeeCan1000Beans.cfg"
HOLDS = {
    "one_bean_is_left": "holds",
    "its_colour_is_known": "holds",
    "take_two_white.assert1": "holds",
    "no_deadlock": "holds",
}
EXPECTED = [
    # The source counts a step that changes nothing in each of the two cans that are left.
    Expect(scope="100", states=5150, depth=1, generated=20002, transitions=14850, verdicts=HOLDS),
    Expect(scope="1000", states=501500, depth=1, generated=2000002, transitions=1498500, verdicts=HOLDS, slow=True),
]

hand = Machine("hand", "takes beans out of the can")


class Config(Params):
    """How much goes into the can."""

    beans: int = number(100, "beans that the can holds", least=1)


cfg = Config()


class State(Record):
    """What is in the can."""

    black: Int(0, Config.beans)
    white: Int(0, Config.beans)


@init
def filled(s, black: Int(0, Config.beans), white: Int(0, Config.beans)):
    """Any mixture, but at least one bean."""
    require(1 <= black + white <= cfg.beans)
    s.black = black
    s.white = white


@action(hand)
def take_two_black(s):
    """Two black beans come out, a black one goes in."""
    require(s.black >= 2)
    s.black -= 1


@action(hand)
def take_two_white(s):
    """Two white beans come out, a black one goes in."""
    require(s.white >= 2)
    before = s.white
    s.white -= 2
    s.black += 1
    assert s.white % 2 == before % 2, "the number of white beans stays even or odd"


@action(hand)
def take_one_of_each(s):
    """A black and a white bean come out, the white one goes back."""
    require(s.black >= 1 and s.white >= 1)
    s.black -= 1


def one_bean(s):
    """Nothing can be taken any more."""
    return s.black + s.white == 1


@eventually("in the end one bean is left")
def one_bean_is_left(s):
    """Every step takes one out."""
    return one_bean(s)


@leads_to("the last bean is white if the number of white beans is odd, and else it is black")
def its_colour_is_known(s, odd: Bool):
    """White beans come out in pairs."""
    return (s.white % 2 == 1) == odd, one_bean(s) and (s.white == 1) == odd


model = Model(
    "coffee_can",
    "beans taken out of a can until one is left",
    state=State,
    parts=[__name__],
    params=Config,
    scopes=[Scope(f"{n}", f"at most {n} beans", beans=n) for n in (100, 1000)],
    terminal=one_bean,
    fairness=[weak(take_two_black, take_two_white, take_one_of_each)],
)
