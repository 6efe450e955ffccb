"""Claims about the outline of the protocol."""
