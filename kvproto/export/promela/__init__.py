"""Promela: one process that chooses among the instances of all actions, for SPIN."""
