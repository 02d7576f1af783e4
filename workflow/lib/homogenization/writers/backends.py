"""The backend of a writer: a module that is imported by its name, so that a job reaches its own backend alone."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from homogenization.writers.requests import Writer


def make_writer(module: str, entry: Mapping[str, Any], seed: int, **means: Any) -> Writer:
    """Make the writer that `entry` of `writers` describes.

    Args:
        module: Name of the backend's module, such as "writers.local"; it has a function `make_writer(entry, seed)`.
        entry: backend, temperature, top_p, max_new_tokens, structured_output, and what the backend needs besides.
        seed: Seed of all random numbers; see `request_seed`.
        means: How the job runs the model or sends the requests, on which no answer depends: gpus, connections,
            timeout_seconds, max_retries. A backend ignores those that it does not know.

    Raises:
        HomogenizationError: the writer lacks what it needs.
    """
    return import_module(f"homogenization.{module}").make_writer({**entry, **means}, seed)
