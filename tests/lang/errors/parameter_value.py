from kvproto.lang import Int, Machine, Model, Params, Preset, Record, Sort, action, number, require

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)


class Config(Params):
    limit: int = number(1, "how often", least=1, most=3)


cfg = Config()


@action(m)
def go(s, r: Req):
    require(s.n < cfg.limit)
    s.n += 1


model = Model(
    "tiny",
    "one mistake",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[Preset("far", "too far", limit=9)],
)
