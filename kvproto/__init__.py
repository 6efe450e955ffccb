"""kvproto: a formal model of KV-cache transfer in disaggregated LLM serving, and its model checker."""

from kvproto.testing import property_test, trace_test

__version__ = "0.1.0"

__all__ = ["__version__", "property_test", "trace_test"]
