"""From the IR to a theory: which models fit, and what becomes of their text."""
