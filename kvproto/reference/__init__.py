"""Reference implementations: disaggregated serving in small, with real KV tensors in real paged pools.

They are written from the description of the protocol and know nothing of the models, the language or the engines of
kvproto.  Prefill computes the KV of a prompt into pages of its pool, a scripted one-sided transport copies pages into
decode's pool, decode attends over the pages it reserved and writes out what it read.  Nothing in here remembers whose
bytes a page holds; whoever wants to know must read the tensors.

Tensors, attention, prompts and pools are shared; `outline` is the cluster in outline, `sglang` the one with transfer
workers, rooms, messages, metadata rows and ranks.
"""
