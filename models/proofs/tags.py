"""Page tags: a reader accepts a page only if it carries the tag that was issued for it.

The transport is as bad as it can be: whatever block lies anywhere outside of decode may land in any page, at any time
and any number of times.  That covers writes that are lost, doubled, late, misdirected, or posted by nobody; pages are
given back at any time.  Five rules keep a reader safe all the same, and each switch breaks one of them.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Machine,
    Model,
    Opt,
    Params,
    Pool,
    Preset,
    Record,
    Scope,
    Set,
    Sort,
    action,
    choice,
    flag,
    invariant,
    require,
    sometimes,
)

Req = Sort("Req", labels="ABCD", doc="requests")
Page = Sort("Page", doc="pages of the decode pool; a request's block is named by the page that it is for")
Place = Sort("Place", doc="places of blocks outside of decode: pages of prefill, buffers of the transport")
Tag = Sort("Tag", doc="tags")


class Carrier(Enum):
    """Where the tag of a page comes from."""

    WRITE = auto()  # the write that lands brings it along with the data
    LANDING = auto()  # whatever lands marks the page with the tag that it has by then
    ALLOCATOR = auto()  # the allocator changes it when the page is lent again


class Config(Params):
    """The rules, and what the transport may do."""

    carrier: Carrier = choice(Carrier.WRITE, "where the tag of a page comes from")
    fresh: bool = flag(True, "a tag that is issued is new", kind="mitigation")
    unique: bool = flag(True, "a tag is new for all pages, not only for its own", kind="mitigation")
    stamped_by_producer: bool = flag(
        True, "whoever computes a block puts the tag to it, not whoever posts the write", kind="mitigation"
    )
    checks_first: bool = flag(False, "the tag is compared before the page is read")
    checks_within: bool = flag(True, "tag and data are read at once", kind="mitigation")
    checks_after: bool = flag(False, "the tag is compared after the page is read")
    misdirects: bool = flag(True, "a block may land in a page that no write was posted to")
    duplicates: bool = flag(True, "a block may land more than once, and be computed more than once")
    holds_source: bool = flag(False, "nothing is computed where a write is still to read", kind="mitigation")
    recycles: bool = flag(False, "a tag that nothing remembers is as good as new")
    guarded: bool = flag(False, "a block lands only while its request has the page", kind="mitigation")


cfg = Config()


class Look(Enum):
    """How far the owner of a page has come with reading it."""

    NOT = auto()
    CHECKED = auto()
    READ = auto()
    ACCEPTED = auto()


class Block(Record):
    """Data with a tag: the block of a request for one of its pages."""

    of: Opt(Req)
    at: Opt(Page)
    tag: Opt(Tag)


class Write(Record):
    """What a descriptor of a write says: its page, and the tag where producers do not stamp."""

    to: Opt(Page)
    tag: Opt(Tag)


class State(Record):
    """Pages keep what is in them when they are given back."""

    owner: Array(Page, Opt(Req))
    expects: Array(Page, Opt(Tag))  # the tag that the owner compares with
    told: Array(Req, Array(Page, Opt(Tag)))  # the tag that prefill puts to the block of a request for a page
    used: Set(Tag)  # issued before, where tags are new for all pages
    issued: Array(Page, Set(Tag))  # issued before for the page, where they are not
    held: Array(Page, Block)
    source: Array(Place, Block)
    posted: Array(Place, Write)  # looked at where writes are not misdirected, or producers do not stamp
    computed: Array(Req, Set(Page))  # where duplicates are excluded
    look: Array(Page, Look)
    genuine: Set(Page)  # what the owner has read there was its own


decode = Machine("decode", "lends pages and issues tags, reads and compares")
prefill = Machine("prefill", "computes blocks")
network = Machine("network", "lands blocks as it likes")


def is_new(s, p, g):
    """Whether tag `g` has not been issued yet, or not for page `p`."""
    return g not in s.used if cfg.unique else g not in s.issued[p]


def forgotten(s, g):
    """Whether nobody knows tag `g` and nothing carries it."""
    known = any(s.expects[p] == g or s.held[p].tag == g for p in Page) or any(s.source[a].tag == g for a in Place)
    return not known and not any(s.told[r][p] == g for r in Req for p in Page)


@action(decode)
def reserve(s, r: Req, p: Page, g: Tag):
    """Decode lends page {p} to request {r}, and issues tag {g} for it."""
    require(s.owner[p] is None)
    require(is_new(s, p, g) or (cfg.recycles and forgotten(s, g)) or not cfg.fresh)
    s.owner[p] = r
    s.expects[p] = g
    s.told[r][p] = g
    s.look[p] = Look.NOT
    if cfg.unique:
        s.used.add(g)
    else:
        s.issued[p].add(g)
    if cfg.carrier == Carrier.ALLOCATOR:
        s.held[p].tag = g


@action(prefill)
def compute(s, r: Req, p: Page, a: Place):
    """Prefill computes the block of request {r} for page {p} in place {a}, whatever became of the request."""
    require(s.told[r][p] is not None)
    require(s.posted[a].to is None or not cfg.holds_source)
    if not cfg.duplicates:
        require(p not in s.computed[r])
        s.computed[r].add(p)
    s.source[a].of = r
    s.source[a].at = p
    s.source[a].tag = s.told[r][p]


@action(prefill)
def post(s, a: Place):
    """A write of what lies in place {a} is posted, to the page that this is for."""
    require(not (cfg.misdirects and cfg.stamped_by_producer))
    require(s.posted[a].to is None and s.source[a].of is not None)
    s.posted[a].to = s.source[a].at
    s.posted[a].tag = s.source[a].tag


@action(network)
def copy(s, a: Place, b: Place):
    """The transport keeps a copy of what lies in place {a} in place {b}."""
    require(cfg.duplicates and (s.posted[b].to is None or not cfg.holds_source))
    s.source[b] = s.source[a]


@action(network)
def land(s, a: Place, p: Page, again: Bool):
    """What lies in place {a} by now lands in page {p}; it may do so again."""
    require(s.source[a].of is not None)
    require(cfg.misdirects or s.posted[a].to == p)
    require(not cfg.guarded or s.owner[p] == s.source[a].of)
    s.held[p].of = s.source[a].of
    s.held[p].at = s.source[a].at
    if cfg.carrier == Carrier.WRITE:
        s.held[p].tag = s.source[a].tag if cfg.stamped_by_producer else s.posted[a].tag
    elif cfg.carrier == Carrier.LANDING:
        s.held[p].tag = s.expects[p]
    if not (cfg.duplicates and again):
        s.posted[a].to = None
        s.posted[a].tag = None
    if not cfg.duplicates:
        s.source[a].of = None
        s.source[a].at = None
        s.source[a].tag = None


@action(decode)
def check(s, p: Page, g: Tag):
    """Before it reads page {p}, its owner finds the tag {g} there that it expects."""
    require(cfg.checks_first and s.look[p] == Look.NOT)
    require(s.expects[p] == g and s.held[p].tag == g)
    s.look[p] = Look.CHECKED


@action(decode)
def read(s, r: Req, p: Page, g: Tag):
    """Request {r}, which expects tag {g}, reads page {p}."""
    require(s.owner[p] == r and s.expects[p] == g)
    require(s.look[p] == (Look.CHECKED if cfg.checks_first else Look.NOT))
    require(s.held[p].tag == g or not cfg.checks_within)
    if s.held[p].of == r and s.held[p].at == p:
        s.genuine.add(p)
    else:
        s.genuine.discard(p)
    s.look[p] = Look.READ if cfg.checks_after else Look.ACCEPTED


@action(decode)
def check_again(s, p: Page, g: Tag):
    """After it has read page {p}, its owner finds the tag {g} there that it expects."""
    require(cfg.checks_after and s.look[p] == Look.READ)
    require(s.expects[p] == g and s.held[p].tag == g)
    s.look[p] = Look.ACCEPTED


@action(decode)
def release(s, p: Page):
    """Page {p} is free, whatever is under way."""
    require(s.owner[p] is not None)
    s.owner[p] = None
    s.expects[p] = None


@action(prefill)
def forget(s, r: Req, p: Page):
    """Prefill forgets the tag that request {r} had for page {p}."""
    require(cfg.recycles and s.told[r][p] is not None)
    s.told[r][p] = None


@invariant("what a request accepts is its own block for that page")
def accepts_own(s):
    """Everything else fails that one request, and leaks nothing."""
    return all(p in s.genuine for p in Page if s.look[p] == Look.ACCEPTED)


@sometimes("a request accepts a page")
def accepts(s):
    """Refusing everything would be safe."""
    return any(s.look[p] == Look.ACCEPTED for p in Page)


@sometimes("a page goes from one request to another, with what is in it")
def reused(s):
    """Without reuse nothing could go wrong."""
    return any(s.owner[p] == r and s.held[p].of == q for r in Req for q in Req for p in Page if q != r)


@sometimes("a block is under way to a page that its request has no more")
def late(s):
    """Without that there would be no late write to guard against."""
    return any(
        s.source[a].of == r and s.owner[p] != r and s.told[r][p] is not None for a in Place for r in Req for p in Page
    )


def one(name, doc, steps, **switches):
    """A preset in which one rule is broken, with the length of the shortest run that shows it."""
    return Preset(name, doc, expect={"accepts_own": steps}, **switches)


model = Model(
    "proofs.tags",
    "page tags: what they have to be so that a reader accepts nothing but its own",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("five-rules", "carried, fresh, unique, stamped by the producer, read with the data", expect={}),
        one("announced", "the allocator changes the tag when a page is lent again", 2, carrier=Carrier.ALLOCATOR),
        one("refreshed", "a landing write marks the page with the tag of its owner", 5, carrier=Carrier.LANDING),
        one("not-fresh", "a tag may be issued twice", 5, scope="place", fresh=False),
        one("per-page", "tags of other pages may be the same", 5, unique=False),
        one("stamped-at-post", "the tag is put to the write when it is posted", 7, stamped_by_producer=False),
        one("check-then-read", "compared, then read", 8, checks_within=False, checks_first=True),
        one("read-then-check", "read, then compared", 5, checks_within=False, checks_after=True),
        one(
            "check-read-check",
            "compared before and after, and blocks may land twice",
            10,
            checks_within=False,
            checks_first=True,
            checks_after=True,
        ),
        Preset(
            "check-read-check-once",
            "compared before and after, and no block lands twice",
            expect={},
            base="check-read-check",
            duplicates=False,
        ),
        one(
            "refreshed-late",
            "refreshed, every write goes where it was posted to, and its source is held",
            7,
            base="refreshed",
            scope="place",
            misdirects=False,
            holds_source=True,
        ),
        one(
            "not-fresh-late",
            "not fresh, every write goes where it was posted to, and its source is held",
            7,
            base="not-fresh",
            scope="place",
            misdirects=False,
            holds_source=True,
        ),
        one(
            "check-then-read-once",
            "compared, then read, and no block lands twice",
            8,
            base="check-then-read",
            duplicates=False,
        ),
        one(
            "read-then-check-once",
            "read, then compared, and no block lands twice",
            5,
            base="read-then-check",
            duplicates=False,
        ),
        Preset("recycling", "a tag that nothing remembers is issued again", expect={}, recycles=True),
        one(
            "per-page-aimed",
            "tags of a page, and every write goes where it was posted to",
            7,
            scope="place",
            unique=False,
            misdirects=False,
        ),
        Preset(
            "per-page-held",
            "and nothing is computed where a write is still to read",
            expect={},
            base="per-page-aimed",
            holds_source=True,
        ),
        Preset(
            "guarded",
            "a write lands only while its request has the page: compared, then read",
            expect={},
            base="check-then-read",
            guarded=True,
            misdirects=False,
            holds_source=True,
        ),
        one(
            "guarded-unchecked",
            "a write lands only while its request has the page, and nobody compares",
            2,
            checks_within=False,
            guarded=True,
        ),
    ],
    scopes=[
        Scope("small", "2 requests, 2 pages, 2 places, 2 tags", Req=2, Page=2, Place=2, Tag=2),
        Scope("place", "2 requests, 2 pages, 1 place, 2 tags", Req=2, Page=2, Place=1, Tag=2),
        Scope("tags", "2 requests, 2 pages, 1 place, 3 tags", Req=2, Page=2, Place=1, Tag=3),
    ],
    pools=[Pool("decode", Page, owner="owner", content="held[p].of")],
)
