from __future__ import annotations

from kvproto.lang import Bool, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class Loop(Record):
    left: Bool
    next: Loop


class State(Record):
    job: Loop


@action(m)
def go(s, r: Req):
    s.job.left = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
