"""Measuring kvproto against SPIN in one run: the benchmark protocol, start-up, the first counterexample."""
