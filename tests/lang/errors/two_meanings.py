from kvproto.lang import Array, Bool, Int, Machine, Model, Record, Set, Sort, action

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
    if s.ok:
        part = s.job[0]
    else:
        part = s.job[1]
    part.left = 0


model = Model("tiny", "one mistake", state=State, parts=[__name__])
