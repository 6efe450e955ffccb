from kvproto.lang import Bool, Machine, Model, Preset, Record, Scope, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool


@action(m)
def go(s, r: Req):
    s.ok = True


model = Model(
    "tiny",
    "one mistake",
    state=State,
    parts=[__name__],
    presets=[Preset("new", "a release", scope="smal")],
    scopes=[Scope("small", "two requests", Req=2)],
)
