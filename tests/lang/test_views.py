"""Pools and flights of a model, found in its state: ranks, slices, records, labels, sets that are too large."""

from __future__ import annotations

from pathlib import Path

from lang_native import HEADER, imported

from kvproto.ir.nodes import FlightInfo, PoolInfo, System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.trace.build import vocabulary

STATE = HEADER + """
Pos = Sort("Pos", size=2)
Rank = Sort("Rank", size=2)
Node = Sort("Node", labels="XY", size=2)

class Tier(Enum):
    GPU = auto()
    HOST = auto()

class Slot(Record):
    owner: Opt(Req)
    bytes: Array(Rank, Opt(Req))

class Host(Record):
    page: Array(Page, Slot)

class Room(Record):
    flying: Array(Node, Set(Pos))
    orphans: Array(Node, Set(Pos))
    target: Array(Pos, Opt(Page))

class State(Record):
    owner: Array(Page, Opt(Req))
    content: Array(Page, Opt(Req))
    tier: Array(Tier, Array(Page, Opt(Req)))
    node: Array(Node, Host)
    room: Array(Rank, Array(Req, Room))
    flying: Array(Req, Set(Pos))
    many: Array(Req, Set(Page))

@action(m)
def step(s, r: Req):
    require(s.owner[0] is None)
    s.owner[0] = r
"""


def read(folder: Path, *arguments: str, state: str = STATE) -> System:
    """The system of a model with these arguments."""
    file = folder / "model.py"
    given = ", ".join(["state=State", "parts=[__name__]", *arguments])
    file.write_text(f'{state}\nmodel = Model("small", "views", {given})\n')
    with imported(str(file)) as model:
        return build(model, choose(model))


def pools(folder: Path, text: str) -> list[tuple[str, str, str, tuple[tuple[str, str], ...]]]:
    found: tuple[PoolInfo, ...] = read(folder, f"pools=[{text}]").pools
    return [(pool.name, pool.owner, pool.content, pool.slices) for pool in found]


def flights(folder: Path, *arguments: str) -> tuple[FlightInfo, ...]:
    return read(folder, *arguments).flights


HOST = 'Pool("host", Page, owner="node[n].page[w].owner", content="node[n].page[w].bytes[p]")'
NODES = f"pools=[{HOST}]"


def test_a_pool_of_plain_arrays(tmp_path: Path) -> None:
    assert pools(tmp_path, 'Pool("all", Page, owner="owner", content="content")') == [("all", "owner", "content", ())]


def test_the_page_may_be_written_at_the_end(tmp_path: Path) -> None:
    found = pools(tmp_path, 'Pool("all", Page, owner="owner[x]", content="content")')

    assert found == [("all", "owner", "content", ())]


def test_a_label_is_one_element(tmp_path: Path) -> None:
    found = pools(tmp_path, 'Pool("gpu", Page, owner="tier[GPU]", content="tier[HOST]")')

    assert found == [("gpu", "tier[GPU]", "tier[HOST]", ())]


def test_ranks_have_pools_and_pages_have_slices(tmp_path: Path) -> None:
    inside = "node[{}].page[{{w}}]"

    assert [(name, owner, slices) for name, owner, _, slices in pools(tmp_path, HOST)] == [
        (
            f"host[{node}]",
            f"{inside.format(node)}.owner",
            tuple((f"p={p}", f"{inside.format(node)}.bytes[{p}]") for p in (0, 1)),
        )
        for node in "XY"
    ]


def test_flights_without_indices(tmp_path: Path) -> None:
    (found,) = flights(tmp_path, 'flights=[Flights("flying")]')

    assert (found.requests, found.field, found.target, found.also) == (("0", "1"), "flying[{r}]", "", ())


def test_flights_between_ranks(tmp_path: Path) -> None:
    fields = '("room[p][r].flying[n]", "room[p][r].orphans[n]")'
    found = flights(tmp_path, NODES, f'flights=[Flights({fields}, target="room[p][r].target[k]", into="host")]')

    assert [(f.field, f.also, f.target, f.into, f.slice) for f in found] == [
        (
            f"room[{p}][{{r}}].flying[{n}]",
            (f"room[{p}][{{r}}].orphans[{n}]",),
            f"room[{p}][{{r}}].target[{{k}}]",
            f"host[{n}]",
            f"p={p}",
        )
        for p in (0, 1)
        for n in "XY"
    ]


def test_the_only_rank_is_not_named(tmp_path: Path) -> None:
    one = STATE.replace('labels="XY", size=2', 'labels="X", size=1').replace('"Rank", size=2', '"Rank", size=1')
    target = 'target="room[p][r].target[k]", into="host"'
    found = read(tmp_path, NODES, f'flights=[Flights("room[p][r].flying[n]", {target})]', state=one)

    assert [(pool.name, pool.slices) for pool in found.pools] == [("host", ())]
    assert [(flight.into, flight.slice) for flight in found.flights] == [("host", "")]


def test_sets_too_large_for_a_variable_are_left_out(tmp_path: Path) -> None:
    large = STATE.replace('Sort("Page", size=3)', 'Sort("Page", size=100)')

    assert len(read(tmp_path, 'flights=[Flights("many")]').flights) == 1
    assert read(tmp_path, 'flights=[Flights("many")]', state=large).flights == ()


def test_every_path_of_a_trace_is_a_variable(tmp_path: Path) -> None:
    fields = '"room[p][r].flying[n]", target="room[p][r].target[k]", into="host"'
    system = read(tmp_path, NODES, f"flights=[Flights({fields})]")
    views = vocabulary(system)

    assert views.pools[1].owned("2") == "node[Y].page[2].owner"
    assert views.pools[1].contents("2") == {f"p={p}": f"node[Y].page[2].bytes[{p}]" for p in (0, 1)}
    assert [view.into for view in views.flights] == ["host[X]", "host[Y]"] * 2
