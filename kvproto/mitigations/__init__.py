"""Which sets of switches suffice: minimal sufficient sets, and maximal ones that are not enough.

`switches` reads the question off a model, `lattice` is arithmetic of sets, `boundary` walks the lattice, `judge`
decides single sets (by a known verdict, a run that happens again, an inclusion, or a search), `rerun` and `inclusion`
are two of these ways, `answer` puts them together, `text`, `result` and `picture` show the outcome.
"""
