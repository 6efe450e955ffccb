from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    ok: Bool


@action(m)
def go(s, r: Req):
    total = s.n
    for p in Page:
        for q in Page:
            for k in range(8):
                total = total * total
    s.ok = total == 1


model = Model("tiny", "one mistake", state=State, parts=[__name__])
