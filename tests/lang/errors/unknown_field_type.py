from __future__ import annotations

from kvproto.lang import Array, Bool, Machine, Model, Opt, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    ok: Bool
    owner: Array(Page, Opt(Requ))


@action(m)
def go(s, r: Req):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
