from kvproto.lang import Sort

Req = Sort("Req", size=2)
