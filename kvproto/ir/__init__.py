"""The typed intermediate representation: types, nodes, printer, verifier."""
