from kvproto.lang import Bool, Machine, Model, Record, Sort, action, require

Big = Sort("Big", size=20)
m = Machine("m")


class State(Record):
    ok: Bool


@action(m)
def go(s, a: Big, b: Big, c: Big, d: Big):
    require(a != b and c != d)
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
