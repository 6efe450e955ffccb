"""Engines as they were released: their own code, driven step by step along a trace.

Nothing is imported here, because the process that runs an engine imports this package without the rest of kvproto.
"""
