from kvproto.lang import Array, Machine, Model, Opt, Record, Set, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    owner: Array(Page, Opt(Req))
    held: Set(Page)


@action(m)
def go(s, r: Req):
    s.held = {s.owner[q] for q in Page}


model = Model("tiny", "one mistake", state=State, parts=[__name__])
