"""What runs inside the engine's process: stubs, seams, two schedulers, step points, abstraction.

These modules import the engine and torch, and nothing of kvproto but each other.
"""
