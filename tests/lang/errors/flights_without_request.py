from kvproto.lang import Array, Bool, Flights, Machine, Model, Opt, Pool, Record, Set, Sort, action

Req = Sort("Req", size=2)
Pos = Sort("Pos", size=2)
Rank = Sort("Rank", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class Room(Record):
    flying: Array(Rank, Set(Pos))
    target: Array(Pos, Opt(Page))


class State(Record):
    room: Array(Req, Room)
    owner: Array(Rank, Array(Page, Opt(Req)))
    content: Array(Rank, Array(Page, Opt(Req)))
    free: Array(Page, Bool)


@action(m)
def land(s, d: Rank, r: Req, k: Pos):
    s.room[r].flying[d].discard(k)


model = Model(
    "tiny",
    "one mistake",
    state=State,
    parts=[__name__],
    pools=[Pool("gpu", Page, owner="owner[d]", content="content[d]")],
    flights=[Flights("room[q].flying[d]", target="room[q].target[k]")],
)
