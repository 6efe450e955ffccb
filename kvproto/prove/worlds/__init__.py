"""Small worlds of a model as finite structures."""
