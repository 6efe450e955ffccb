"""The files that `kvproto new NAME` writes: a small model with its properties and its tests."""
