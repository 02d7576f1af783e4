"""How alike a transformer's token representations grow, layer by layer, and what position has to do with it."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What a notebook needs, imported when it is asked for: an import here would be part of what every rule does."""
    if name in ("open_results", "to_latex"):
        return getattr(import_module("homogenization.reading.results"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
