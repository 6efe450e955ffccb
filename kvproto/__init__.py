"""kvproto: a formal model of KV-cache transfer in disaggregated LLM serving, and its model checker."""

from typing import TYPE_CHECKING, Any

from kvproto.testing import property_test, trace_test

if TYPE_CHECKING:
    from _kvproto_pytest import Violated

__version__ = "0.1.0"

__all__ = ["Violated", "__version__", "property_test", "trace_test"]


def __getattr__(name: str) -> Any:
    """What only tests need, and pytest with it."""
    if name == "Violated":
        from _kvproto_pytest import Violated

        return Violated
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
