"""The tables `delivered` and `mechanism`: whether what a pattern delivers to tokens tells what it does to their cosine.

By review and block there is the cosine of the delivered rows with the mean direction of the tokens, the first-order
change of the mean cosine when they are added, and the slopes that are measured after the block and at the output.
Blocks are compared by their means over reviews.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

from homogenization.interventions.schemas import DELIVERED_NUMBERS, DELIVERED_SCHEMA
from homogenization.run.parquet import read_table
from homogenization.statistics.resampling import bootstrap_weights, mean_interval, means, resampled, weighted_means
from homogenization.statistics.words import share_in_words, significant
from homogenization.tables.over_reviews import keep_accepted
from homogenization.variants.names import ORIGINAL

PREDICTORS = ("cosine", "predicted")
MEASURED = ("after_block", "at_output")
_RUN = ("model", "variant", "pattern")
_ENDS = ("", "_low", "_high")
DELIVERED_MEANS_SCHEMA = {
    **dict.fromkeys(("model", "variant"), pl.String),
    "block": pl.Int32,
    "pattern": pl.String,
    "n_reviews": pl.Int64,
    **dict.fromkeys((f"{name}{end}" for name in DELIVERED_NUMBERS for end in _ENDS), pl.Float64),
}
MECHANISM_SCHEMA = {
    **dict.fromkeys((*_RUN, "predictor", "measured"), pl.String),
    **dict.fromkeys(("n_reviews", "n_blocks", "n_positive"), pl.Int64),
    **dict.fromkeys((f"{name}{end}" for name in ("agreement", "rank_correlation") for end in _ENDS), pl.Float64),
}


def delivered_table(delivered: pl.DataFrame, draws: int, confidence: float, seed: int) -> pl.DataFrame:
    """Means over reviews by block and pattern, with BCa intervals: `DELIVERED_MEANS_SCHEMA`, sorted by its keys.

    Args:
        delivered: rows of all jobs (`DELIVERED_SCHEMA`).
        draws: number of bootstrap draws.
        confidence: level of the intervals, between 0 and 1.
        seed: seed of the draws.
    """
    parts = [pl.DataFrame(schema=DELIVERED_MEANS_SCHEMA)]
    for names, blocks, values in _by_run(delivered):
        flat = np.concatenate([values[name] for name in DELIVERED_NUMBERS], axis=1)
        bounds = means(flat), *mean_interval(flat, bootstrap_weights(len(flat), draws, seed), confidence)
        columns = {
            f"{name}{end}": bound[place * len(blocks) : (place + 1) * len(blocks)]
            for place, name in enumerate(DELIVERED_NUMBERS)
            for end, bound in zip(_ENDS, bounds, strict=True)
        }
        told = {name: [value] * len(blocks) for name, value in names.items()}
        told |= {"block": blocks, "n_reviews": (~np.isnan(values["predicted"])).sum(axis=0)}
        parts.append(pl.DataFrame(told | columns).select(*DELIVERED_MEANS_SCHEMA).cast(DELIVERED_MEANS_SCHEMA))
    return pl.concat(parts).sort("model", "variant", "block", "pattern")


def mechanism_table(delivered: pl.DataFrame, draws: int, confidence: float, seed: int) -> pl.DataFrame:
    """Over the blocks of a model, how a predictor goes with a measured slope: `MECHANISM_SCHEMA`, sorted by its keys.

    agreement: share of blocks in which both means over reviews have the same sign; rank_correlation: Spearman's over
    blocks; each with its percentile interval over reviews. n_positive: blocks in which the predictor is positive.
    Arguments as those of `delivered_table`.
    """
    rows = []
    for names, blocks, values in _by_run(delivered):
        whole = ~np.isnan(np.concatenate(list(values.values()), axis=1)).any(axis=1)
        present = {name: found[whole] for name, found in values.items()}
        n_reviews = len(present["predicted"])
        if not n_reviews:
            continue
        weights = bootstrap_weights(n_reviews, draws, seed)
        for predictor, measured in product(PREDICTORS, MEASURED):
            pair = present[predictor], present[measured]
            told = {"predictor": predictor, "measured": measured, "n_reviews": n_reviews, "n_blocks": len(blocks)}
            told["n_positive"] = int((means(pair[0]) > 0).sum())
            for name, statistic in (("agreement", _agreement), ("rank_correlation", _rank_correlation)):
                bounds = resampled(_of_means(statistic, *pair), weights, confidence)
                told |= {f"{name}{end}": bound for end, bound in zip(_ENDS, bounds, strict=True)}
            rows.append(names | told)
    return pl.DataFrame(rows, schema=MECHANISM_SCHEMA)


def _by_run(delivered: pl.DataFrame) -> Iterator[tuple[dict[str, str], list[int], dict[str, np.ndarray]]]:
    """Model, variant and pattern; the blocks; and each number as (reviews, blocks)."""
    for names, rows in sorted(delivered.partition_by(*_RUN, as_dict=True).items()):
        blocks = rows["block"].unique().sort().to_list()
        tables = {
            name: rows.pivot("block", index="review_id", values=name).sort("review_id") for name in DELIVERED_NUMBERS
        }
        arrays = {name: table.select(map(str, blocks)).to_numpy() for name, table in tables.items()}
        yield dict(zip(_RUN, names, strict=True)), blocks, arrays


def _of_means(statistic: Callable[..., np.ndarray], x: np.ndarray, y: np.ndarray) -> Callable[..., np.ndarray]:
    """`statistic` of the means over reviews of `x` and `y` (reviews, blocks), as a function of weights (draws, n)."""
    return lambda weights: statistic(weighted_means(x, weights), weighted_means(y, weights))


def _agreement(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of equal signs in each row of `x` and `y` (draws, blocks)."""
    return (np.sign(x) == np.sign(y)).mean(axis=1)


def _rank_correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's correlation of each row of `x` and `y` (draws, blocks); NaN where a row is constant."""
    ranks = [rankdata(values, axis=1) - (values.shape[1] + 1) / 2 for values in (x, y)]
    spread = np.sqrt((ranks[0] ** 2).sum(axis=1) * (ranks[1] ** 2).sum(axis=1))
    return np.divide((ranks[0] * ranks[1]).sum(axis=1), spread, out=np.full(len(x), np.nan), where=spread > 0)


def mechanism_in_words(mechanism: pl.DataFrame, model: str) -> str:
    """A sentence on what the first token delivers in a model; empty where no slope of `first` was asked for.

    Args:
        mechanism: the table `mechanism`.
        model: name of the model.
    """
    rows = mechanism.filter(model=model, variant=ORIGINAL, pattern="first")
    if rows.is_empty():
        return ""
    told = {(row["predictor"], row["measured"]): row for row in rows.iter_rows(named=True)}
    first = told["cosine", "after_block"]
    n = first["n_blocks"]
    signs, orders = (
        [_bounds(told[predictor, measured], name) for measured in MEASURED]
        for predictor, name in (("cosine", "agreement"), ("predicted", "rank_correlation"))
    )
    order = f", and the change that it predicts ranks blocks with a correlation of {orders[0]} and {orders[1]}"
    return (
        f"What the first token delivers points along the mean direction of the other tokens in "
        f"{first['n_positive']} of {n} block{'s' * (n > 1)}; this is the sign of its slope of cosine anisotropy less "
        f"that of attention removed in {signs[0]} of them right after the block and in {signs[1]} at the output"
        f"{order * (n > 2)}."
    )


def _bounds(row: dict[str, Any], name: str) -> str:
    """A number with its interval."""
    written = share_in_words if name == "agreement" else significant
    number, low, high = (written(row[f"{name}{end}"]) for end in _ENDS)
    return f"{number} [{low}, {high}]"


def tabulate(inputs: Any, draws: int, confidence: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `delivered` and `mechanism`.

    Args:
        inputs: `similarity`, a file, and `delivered`, the files of what patterns deliver of all jobs.
        draws: number of bootstrap draws.
        confidence: level of the intervals.
        seed: seed of the draws.
    """
    of_jobs = [pl.DataFrame(schema=DELIVERED_SCHEMA), *map(read_table, inputs.delivered)]
    delivered = keep_accepted(pl.concat(of_jobs), read_table(inputs.similarity))
    return delivered_table(delivered, draws, confidence, seed), mechanism_table(delivered, draws, confidence, seed)
