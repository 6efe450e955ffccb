"""Public bug reports as models, one mechanism a file; targets `patterns.NAME`."""
