"""Claims about models, grouped by what they protect."""
