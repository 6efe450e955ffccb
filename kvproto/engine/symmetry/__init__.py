"""Symmetry reduction: representatives of states, where they may be used, and runs in real names again."""
