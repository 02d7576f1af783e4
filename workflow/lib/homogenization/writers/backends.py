"""The backends: ways to run a language model that writes, each a module that is imported where it is asked for.

A module of a backend has a function `make_writer(entry, seed)`.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from homogenization.run.errors import HomogenizationError
from homogenization.writers.requests import Writer

# the name in the configuration -> the module of the library
BACKENDS = {"openai": "writers.endpoint", "transformers": "writers.local"}


def make_writer(entry: Mapping[str, Any], seed: int, **means: Any) -> Writer:
    """Make the writer that `entry` of `writers` describes.

    Args:
        entry: backend, temperature, top_p, max_new_tokens, structured_output, and what the backend needs besides.
        seed: Seed of all random numbers; see `request_seed`.
        means: How the job runs the model or sends the requests, on which no answer depends: gpus, connections,
            timeout_seconds, max_retries. A backend ignores those that it does not know.

    Raises:
        HomogenizationError: the backend is unknown, or the writer lacks what it needs.
    """
    backend = entry["backend"]
    if backend not in BACKENDS:
        raise HomogenizationError(f"writers: backend '{backend}' is unknown. Allowed: {', '.join(BACKENDS)}.")
    return import_module(f"homogenization.{BACKENDS[backend]}").make_writer({**entry, **means}, seed)
