"""Building blocks: one mechanism of KV transfer each, small enough to be read whole; `kvproto check blocks.NAME`.

`right` is the variant in which every property holds.  Each other preset gets one thing wrong, and its text says which
property that breaks.
"""
