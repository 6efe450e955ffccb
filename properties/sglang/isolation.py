"""Isolation: nobody's answer is computed from anything but their own prompt (S1, S5, S11)."""

from __future__ import annotations

from kvproto.lang import invariant

from ...models.sglang.rooms import pages_are_own
from ...models.sglang.state import Decode, Req


@invariant("no page is read before its own request has written it")
def reads_own_writes(s):
    """S1. Integrity.  A page that its own request did not write holds what was there: nothing, or somebody else's KV.

    The client sees HTTP 200 and fluent text that does not belong to the prompt.
    """
    return not any(s.req[r].saw_blank or s.req[r].saw_foreign for r in Req)


@invariant("no request reads what another request wrote")
def reads_no_foreign_data(s):
    """Confidentiality, the weaker half of S1: it is what clearing pages would buy.

    The client sees HTTP 200 and text made of another client's prompt and answer.
    """
    return not any(s.req[r].saw_foreign for r in Req)


@invariant("after a commit all pages of the prompt came from its own request")
def committed_pages_are_own(s):
    """S5. Decode goes by this from the commit on; what it then reads is this."""
    return all(pages_are_own(s, r) for r in Req if s.req[r].decode in (Decode.READY, Decode.RUNNING))


@invariant("what enters the prefix tree was written by its request")
def tree_holds_own_pages(s):
    """S11. A prefix tree hands a page on to every later request with the same beginning."""
    return not s.shared_unwritten
