"""What the client is told."""

from __future__ import annotations

from kvproto.lang import invariant

from ...models.outline.state import Client, Prefill, Req


@invariant("a request that prefill rejected is never answered with success")
def rejected_never_succeeds(s):
    """HTTP 200 for a prompt that was never computed is wrong whatever the text says; 400 is right."""
    return not any(
        (s.req[r].placeholder or s.req[r].prefill == Prefill.REJECTED) and s.req[r].client == Client.OK_200 for r in Req
    )
