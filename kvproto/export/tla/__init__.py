"""TLA+: a module that reads like the model, and the configuration that TLC takes with it."""
