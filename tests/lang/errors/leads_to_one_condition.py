from kvproto.lang import Array, Bool, Machine, Model, Record, Sort, action, leads_to

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    done: Array(Req, Bool)


@action(m)
def finish(s, r: Req):
    s.done[r] = True


@leads_to("every request is answered")
def answered(s, r: Req):
    if s.done[r]:
        return True, True
    return s.done[r]


model = Model("tiny", "one mistake", state=State, parts=[__name__])
