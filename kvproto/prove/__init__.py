"""Proofs for any number of requests, pages and writes: the third meaning of a model, first-order formulas."""
