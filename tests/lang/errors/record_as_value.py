from kvproto.lang import Array, Bool, Int, Machine, Model, Record, Set, Sort, action, require

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class Job(Record):
    pages: Set(Page)
    left: Int(0, 3)


class State(Record):
    ok: Bool
    job: Array(Req, Job)


@action(m)
def go(s, r: Req):
    require(s.job[0] < s.job[1])
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
