"""kvproto: a formal model of KV-cache transfer in disaggregated LLM serving, and its model checker."""

__version__ = "0.1.0"
