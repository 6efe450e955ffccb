from kvproto.lang import Bool, Int, Machine, Model, Opt, Record, Set, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class Job(Record):
    pages: Set(Page)
    left: Int(0, 3)


class State(Record):
    ok: Bool
    job: Opt(Job)


@action(m)
def go(s, r: Req):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
