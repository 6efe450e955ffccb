from kvproto.lang import Bool, Int, Machine, Model, Opt, Record, Sort, action

Req = Sort("Req", size=3)
Page = Sort("Page", size=2)
m = Machine("m")
COST = ((1, 2), (1, 2, 3))


class State(Record):
    n: Int(0, 3)
    ok: Bool
    page: Page
    maybe: Opt(Page)


@action(m)
def go(s, r: Req, p: Page):
    s.n = COST[p][0]


model = Model("tiny", "one mistake", state=State, parts=[__name__])
