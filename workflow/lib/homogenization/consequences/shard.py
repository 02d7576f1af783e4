"""The job of one model, text and shard: texts read in every condition, their pooled states and numbers."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from homogenization.consequences.schemas import POOLED_STATES_SCHEMA
from homogenization.interventions.cache import update_tables
from homogenization.interventions.passes import Run
from homogenization.interventions.readings import pooled
from homogenization.interventions.shard import Job, first_reviews, job_of_shard, run_new
from homogenization.run.parquet import read_table
from homogenization.states.model import LanguageModel


def run_shard(model: LanguageModel, inputs: Any, params: Any, paths: Mapping[str, str]) -> None:
    """Write the tables of a shard: metrics, texts and pooled states; rows of conditions that are known stay.

    Args:
        model: language model, with its head, or encoder.
        inputs: files: `original`, the shard of the corpus; `variant`, the texts; and what `job_of_shard` reads.
        params: parameters of the rule: `variant`, its name; `n_reviews`, by rank; and what `job_of_shard` reads.
        paths: files to write, which may hold earlier rows: `metrics`, `texts`, `states`.

    Raises:
        HomogenizationError: as `homogenization.interventions.shard.run_shard`.
    """
    texts = read_table(inputs.variant).select("review_id", "text")
    reviews = first_reviews(texts, read_table(inputs.original), params.n_reviews)
    job = job_of_shard(model, inputs, params, reviews, params.variant)
    update_tables(paths, job.cache_keys, "condition", partial(_new_tables, model, job), job.metadata)


def _new_tables(model: LanguageModel, job: Job, known: Collection[str]) -> dict[str, pl.DataFrame]:
    """The tables of the conditions that are not `known`."""
    means: dict[tuple[str, str], np.ndarray] = {}

    def pool(condition: str, review: str, run: Run, place: int) -> None:
        means[condition, review] = pooled(run.states_of(place), run.massive_of(place))

    made = run_new(model, job, known, pool)
    rows = [
        (review, condition, layer, state)
        for condition in job.cache_keys
        for review in job.reviews.names
        if condition not in known
        for layer, state in enumerate(means.get((condition, review), ()))
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(POOLED_STATES_SCHEMA)
    # numpy rows alone would make a column of arrays
    series = [pl.Series(name, values) for name, values in zip(POOLED_STATES_SCHEMA, columns, strict=True)]
    states = pl.DataFrame(series).cast(POOLED_STATES_SCHEMA)
    return {"metrics": made["metrics"], "texts": made["doses"], "states": states}
