from kvproto.lang import Sort

Req = Sort("Req", sise=2)
