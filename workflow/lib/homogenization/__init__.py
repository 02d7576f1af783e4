"""How alike a transformer's token representations grow, layer by layer, and what position has to do with it."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """`open_results`, imported when it is asked for: an import here would be part of what every rule does."""
    if name == "open_results":
        return import_module("homogenization.reading.results").open_results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
