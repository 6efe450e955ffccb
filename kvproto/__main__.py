"""`python -m kvproto`."""

from kvproto.cli.main import run

run()
