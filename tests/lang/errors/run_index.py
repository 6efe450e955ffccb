from kvproto.lang import Array, Int, Machine, Model, Opt, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    n: Int(0, 5)
    owner: Array(Page, Opt(Req))


@action(m)
def go(s, r: Req):
    s.owner[s.n] = r
    s.n += 1


model = Model("tiny", "one mistake", state=State, parts=[__name__])
