"""Clauses that hold in all reachable states of small instances: candidates for an invariant, never trusted."""
