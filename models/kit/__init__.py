"""What models of one mechanism are made of: pages, posted writes, lists of pages, each with its claims.

A kit is a record to build the state from (`class State(Pages, Push)`), helpers, and sometimes actions and claims,
which a model takes by naming the module among its `parts` and `properties`.
"""
