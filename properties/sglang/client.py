"""What the client is told (S6, L1)."""

from __future__ import annotations

from kvproto.lang import invariant, leads_to

from ...models.sglang.state import Client, Req


@invariant("a request that prefill rejected is never answered with success")
def rejected_never_succeeds(s):
    """S6. HTTP 200 for a prompt that was never computed is wrong whatever the text says; 400 is right."""
    return not any((s.req[r].stub or s.req[r].refused) and s.req[r].client == Client.OK_200 for r in Req)


@leads_to("every request is answered")
def answered(s, r: Req):
    """L1. The client waits for something that comes, be it an error."""
    return s.req[r].client == Client.WAITING, s.req[r].client != Client.WAITING
