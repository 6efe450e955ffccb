"""Isolation: nobody's answer is computed from anything but their own prompt."""

from __future__ import annotations

from kvproto.lang import invariant

from ...models.outline.state import Req


@invariant("no page is read before its own request has written it")
def reads_own_writes(s):
    """Integrity.  A page that its own request did not write holds whatever was there: nothing, or somebody else's KV.

    The client sees HTTP 200 and fluent text that does not belong to the prompt.
    """
    return not any(s.req[r].saw_blank or s.req[r].saw_foreign for r in Req)


@invariant("no request reads what another request wrote")
def reads_no_foreign_data(s):
    """Confidentiality, the weaker half of integrity: it is what clearing pages would buy.

    The client sees HTTP 200 and text made of another client's prompt and answer.
    """
    return not any(s.req[r].saw_foreign for r in Req)
