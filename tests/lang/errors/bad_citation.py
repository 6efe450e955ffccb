from kvproto.lang import Bool, Machine, Model, Record, action

m = Machine("m")


class State(Record):
    ok: Bool


@action(m, cites="0.5.20+ srt/disaggregation/decode.py: the queue")
def go(s):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
