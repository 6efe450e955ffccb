"""Integers exactly: runs with open amounts, and the limits of assumptions."""
