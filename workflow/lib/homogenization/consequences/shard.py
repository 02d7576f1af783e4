"""The job of one model, text and shard: texts read in every condition, their pooled states and numbers."""

from collections.abc import Collection, Mapping
from functools import partial

import numpy as np
import polars as pl

from homogenization.consequences.perturbations import PERTURBED, perturbed_reviews
from homogenization.consequences.schemas import POOLED_STATES_SCHEMA, TEXTS_SCHEMA
from homogenization.interventions.conditions import Condition
from homogenization.interventions.kept import STAMP, with_earlier
from homogenization.interventions.passes import Run
from homogenization.interventions.readings import pooled
from homogenization.interventions.shard import Asked, first_reviews, run_new
from homogenization.run.parquet import write_table
from homogenization.states.model import LanguageModel


def texts_of(
    name: str, variant: pl.DataFrame | None, originals: pl.DataFrame, n_reviews: int, seed: int
) -> pl.DataFrame:
    """What is read as `name`: columns review_id, text, original and rank.

    Args:
        name: a variant, or one of `PERTURBED`.
        variant: the shard of the variant; None for a perturbed text, which is made of the originals.
        originals: the shard of the corpus: columns review_id, text and rank.
        n_reviews: number of reviews, by rank.
        seed: seed of the place of a perturbation.
    """
    reviews = perturbed_reviews(originals, name, seed) if name in PERTURBED else variant
    return first_reviews(reviews.select("review_id", "text"), originals, n_reviews)


def read_shard(model: LanguageModel, asked: Asked, paths: Mapping[str, str]) -> None:
    """Write the tables of a shard: metrics, texts and pooled states; rows of conditions that are known stay.

    Args:
        model: language model, with its head, or encoder.
        asked: what is asked of the shard; its variant is the name of the text.
        paths: files to write, which may hold earlier rows: `metrics`, `texts`, `states`.

    Raises:
        HomogenizationError: as `intervene_in_shard`.
    """
    written = with_earlier(paths, asked.stamps, "texts", partial(_new_tables, model, asked))
    for name, table in written.items():
        write_table(table, paths[name], {STAMP: asked.stamps, "states": asked.same["states"]})


def _new_tables(model: LanguageModel, asked: Asked, known: Collection[str]) -> dict[str, pl.DataFrame]:
    """The tables of the conditions that are not `known`."""
    means: dict[tuple[str, str], np.ndarray] = {}

    def pool(condition: Condition, review: str, run: Run, place: int) -> None:
        if condition.key not in known:
            means[condition.key, review] = pooled(run.states_of(place), run.massive[place])

    made = run_new(model, asked, known, pool)
    rows = [
        (review, condition, layer, state)
        for (condition, review), states in means.items()
        for layer, state in enumerate(states)
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(POOLED_STATES_SCHEMA)
    # numpy rows alone would make a column of arrays
    series = [pl.Series(name, values) for name, values in zip(POOLED_STATES_SCHEMA, columns, strict=True)]
    states = pl.DataFrame(series).cast(POOLED_STATES_SCHEMA)
    ratios = [len(np.unique(of_review)) / len(of_review) for of_review in asked.reviews.tokens.by_review]
    of_reviews = pl.DataFrame(
        {"review_id": asked.reviews.names, "type_token_ratio": ratios},
        schema={"review_id": pl.String, "type_token_ratio": pl.Float64},
    )
    texts = made["doses"].join(of_reviews, on="review_id", how="left", maintain_order="left").select(*TEXTS_SCHEMA)
    return {"metrics": made["metrics"], "texts": texts, "states": states}
