"""Traces: the type, its file format, and how one is made from a path through the state graph."""
