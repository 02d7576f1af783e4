"""The backend of a writer: a module imported by its name, so that a job depends only on its own backend."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from homogenization.models.built import with_built_weights
from homogenization.writers.answers import Author, RequestStore
from homogenization.writers.requests import Writer


def make_writer(module: str, entry: Mapping[str, Any], seed: int, **means: Any) -> Writer:
    """Make the writer that `entry` of `writers` describes.

    Args:
        module: Name of the backend's module, such as "writers.local"; it has a function `make_writer(entry, seed)`.
        entry: Entry of `writers`: backend, temperature, top_p, max_new_tokens, structured_output, and the backend's
            own keys.
        seed: Seed of all random numbers; see `request_seed`.
        means: Settings of the job on which no answer depends: gpus, connections, timeout_seconds, max_retries.
            A backend ignores those that it does not know.

    Raises:
        HomogenizationError: the backend can't be set up from the entry; for example, it has no address.
    """
    return import_module(f"homogenization.{module}").make_writer({**entry, **means}, seed)


def make_author(job: Any, results: Path) -> Author:
    """The author that a job asks; answers are stored in the folder `requests` of its results.

    Args:
        job: What the script of the job gets: parameters module, writer, prompt and seed; the resources that are means;
            and the files of weights that the workflow has built.
        results: The folder of results.

    Raises:
        HomogenizationError: as `make_writer`.
    """
    means = {name: job.resources[name] for name in ("connections", "timeout_seconds", "max_retries")}
    entry = with_built_weights(job.params.writer, job.input.get("weights", []))
    writer = make_writer(job.params.module, entry, job.params.seed, gpus=job.resources.gpu, **means)
    return Author(writer, RequestStore(results / "requests"), job.params.prompt)
