"""The core of the protocol, a mechanism a file, in the part of the language that is proved for every size.

Targets `proofs.NAME`; `kvproto prove proofs.NAME@PRESET` proves a preset or refutes it.
"""
