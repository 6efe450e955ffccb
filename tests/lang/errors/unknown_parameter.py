from kvproto.lang import Bool, Machine, Model, Params, Record, Sort, action, flag, require

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool


class Config(Params):
    fast: bool = flag(False, "a switch")


cfg = Config()


@action(m)
def go(s, r: Req):
    require(cfg.fsat)
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__], params=Config)
