"""Claims about SGLang + Mooncake, grouped by what they protect; S1 to S12 and L1 to L6 in their docstrings."""
