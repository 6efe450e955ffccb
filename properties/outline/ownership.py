"""Ownership: writes reach only pages of their own request."""

from __future__ import annotations

from kvproto.lang import invariant

from ...models.outline.state import Req, Slot


@invariant("no write lands in a page that its request does not own")
def writes_land_in_own_pages(s):
    """A posted write cannot be recalled; where it lands after its request gave the page back, it corrupts."""
    return not s.stray


@invariant("no write lands in a page that belongs to another request")
def writes_spare_other_requests(s):
    """The late write in full: abort, release, reuse, and then the write.  It silently replaces a bystander's KV."""
    return not s.overwrote


@invariant("no page is free while a write may land in it")
def no_free_under_write(s):
    """A free page is given to the next request, and the late write then replaces that request's KV."""
    return all(s.d_owner[s.req[r].target[k]] is not None for r in Req for k in Slot if k in s.req[r].flying)
