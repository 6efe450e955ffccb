"""The regression suite: every shipped model that says what a search has to find in it, searched and compared."""
