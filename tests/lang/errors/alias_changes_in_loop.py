from kvproto.lang import Array, Int, Machine, Model, Record, Set, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class Job(Record):
    pages: Set(Page)
    left: Int(0, 3)


class State(Record):
    job: Array(Req, Job)


@action(m)
def go(s, r: Req):
    part = s.job[0]
    for p in Page:
        part.left = 1
        part = s.job[1]


model = Model("tiny", "one mistake", state=State, parts=[__name__])
