"""Pictures of a trace, and the page that holds them."""
