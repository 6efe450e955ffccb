from kvproto.lang import Array, Machine, Model, Opt, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    owner: Array(Page, Opt(Req))


@action(m)
def go(s, r: Req):
    p = next(p for p in Page if s.owner[p] is None)
    s.owner[p] = r


model = Model("tiny", "one mistake", state=State, parts=[__name__])
