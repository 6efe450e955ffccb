"""First-order formulas, theories, and what has to be valid."""
