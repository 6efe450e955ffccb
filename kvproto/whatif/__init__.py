"""What would have been: other guards, other values, other continuations and smaller worlds than those of a trace.

Everything here needs the model; what it finds out is kept in the trace (`kvproto.trace.analysis`).
"""
