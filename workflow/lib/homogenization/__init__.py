"""How alike a transformer's token representations grow, layer by layer, and what position has to do with it."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What a notebook needs, imported when it is asked for: an import here would be part of what every rule does."""
    if module := {"open_results": "results", "to_latex": "contrasts"}.get(name):
        return getattr(import_module(f"homogenization.reading.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
