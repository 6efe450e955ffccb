"""Reading a model: from functions to the IR."""
