"""What is printed: clauses, states, results."""
