"""From candidates to an inductive invariant: what survives, what is needed, and whether it is proved for every size."""
