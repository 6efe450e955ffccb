"""Proofs that a checker without solver follows, and their way to it; conditions for other solvers."""
