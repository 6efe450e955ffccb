"""Exploring an implementation: all or many orders of its step points, with the model beside it.

What is driven is code, an engine's own or the reference implementation.  After every step its state is compared with
the model's and its own observations are asked for broken claims.  A search of code is never complete: states are what
can be observed of them, so the verdict `holds` does not occur here.
"""
