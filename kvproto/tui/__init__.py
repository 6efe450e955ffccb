"""`kvproto show TRACE --tui`: a trace to step through in the terminal, with the panels and keys of the page.

The package needs textual, an extra; nothing outside imports it but the command, when it is asked for.
"""
