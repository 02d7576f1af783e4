"""The tables `attribution` and `mechanism`: whether what a pattern delivers to tokens tells their slope.

By review and block there is the cosine of the delivered rows with the mean direction of the tokens, the first-order
change of the mean cosine when they are added, and the slopes that are measured after the block and at the output.
Blocks are compared by their means over reviews.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

from homogenization.interventions.schemas import ATTRIBUTION_NUMBERS
from homogenization.names.columns import columns, condition_columns, ends_of, table_of, with_ends
from homogenization.run.parquet import read_tables
from homogenization.statistics.doses import too_few
from homogenization.statistics.resampling import Resampling, mean_interval, means, resampled, weighted_means
from homogenization.tables.over_reviews import as_array, keep_accepted

#: A row for each block and pattern but `removed`: what the pattern delivers to the tokens without the first and the
#: massive ones, and what this does ([how](causes.md#what-a-pattern-delivers)). Made where `interventions.slopes` is
#: configured, like `mechanism.csv`.
ATTRIBUTION_MEANS_SCHEMA = {
    **columns("model", "variant", "block"),
    **condition_columns("pattern"),
    **columns("n_reviews"),
    #: as in the [files of jobs](#files-of-jobs), mean over reviews, with its
    #: interval over reviews
    **with_ends(*ATTRIBUTION_NUMBERS),
    **condition_columns("reason"),
}
#: A row for each pattern, predictor and measured slope: whether they go together over the blocks of a model. Blocks are
#: compared by their means over reviews; intervals are percentiles of the bootstrap over reviews.
MECHANISM_SCHEMA = {
    **columns("model", "variant"),
    **condition_columns("pattern"),
    "predictor": pl.String,  #: `cosine` or `predicted` of `attribution.parquet`
    "measured": pl.String,  #: `after_block` or `at_output`
    "n_reviews": pl.Int64,  #: reviews with a value in each block
    "n_blocks": pl.Int64,  #: blocks that are compared
    "n_positive": pl.Int64,  #: blocks whose predictor is above 0; null where it is not tested
    **with_ends("agreement"),  #: share of blocks in which both have one sign
    **with_ends("rank_correlation"),  #: Spearman’s correlation over blocks
    **condition_columns("branch_norm", "reason"),
}
SCHEMAS = ATTRIBUTION_MEANS_SCHEMA, MECHANISM_SCHEMA
PREDICTORS = ("cosine", "predicted")
MEASURED = ("after_block", "at_output")
RUN = ("model", "variant", "pattern")


def attribution_table(attribution: pl.DataFrame, confidence: float, min_reviews: int) -> pl.DataFrame:
    """Means over reviews by block and pattern, with their intervals: `ATTRIBUTION_MEANS_SCHEMA`, sorted by its keys.

    Args:
        attribution: rows of all jobs (`ATTRIBUTION_SCHEMA`).
        confidence: level of the intervals, between 0 and 1.
        min_reviews: fewest reviews with which blocks are tested.
    """
    parts = [pl.DataFrame(schema=ATTRIBUTION_MEANS_SCHEMA)]
    for names, blocks, values in _by_run(attribution):
        n_reviews = (~np.isnan(values["predicted"])).sum(axis=0)
        reasons = [too_few(n, min_reviews) for n in n_reviews.tolist()]
        columns = {"block": blocks, "n_reviews": n_reviews, "reason": reasons}
        for name, of_blocks in values.items():
            bounds = means(of_blocks), *mean_interval(of_blocks, confidence)
            columns |= ends_of(name, [np.where(n_reviews >= min_reviews, bound, np.nan) for bound in bounds])
        columns |= {name: value for name, value in names.items() if name != "branch_norm"}
        parts.append(table_of(columns, ATTRIBUTION_MEANS_SCHEMA))
    return pl.concat(parts).sort("model", "variant", "block", "pattern")


def mechanism_table(attribution: pl.DataFrame, resampling: Resampling, min_reviews: int) -> pl.DataFrame:
    """Over the blocks of a model, how a predictor goes with a measured slope: `MECHANISM_SCHEMA`, sorted by its keys.

    agreement: share of blocks in which both means over reviews have the same sign; rank_correlation: Spearman's over
    blocks; each with its percentile interval over reviews. n_positive: blocks in which the predictor is positive.
    `resampling` are the draws of reviews; the other arguments are those of `attribution_table`.
    """
    rows = []
    for names, blocks, values in _by_run(attribution):
        whole = ~np.isnan(np.concatenate(list(values.values()), axis=1)).any(axis=1)
        present = {name: found[whole] for name, found in values.items()}
        n_reviews = len(present["predicted"])
        if not n_reviews:
            continue
        reason = too_few(n_reviews, min_reviews)
        about = {"branch_norm": names.pop("branch_norm"), "reason": reason, "n_reviews": n_reviews}
        weights = resampling.weights(n_reviews)
        for predictor, measured in product(PREDICTORS, MEASURED):
            pair = present[predictor], present[measured]
            numbers = {"predictor": predictor, "measured": measured, "n_blocks": len(blocks)} | about
            if reason:
                rows.append(names | numbers | dict.fromkeys(with_ends("agreement", "rank_correlation"), np.nan))
                continue
            numbers["n_positive"] = int((means(pair[0]) > 0).sum())
            for name, statistic in (("agreement", _agreement), ("rank_correlation", _rank_correlation)):
                bounds = resampled(_of_means(statistic, *pair), weights, resampling.confidence)
                numbers |= ends_of(name, bounds)
            rows.append(names | numbers)
    return pl.DataFrame(rows, schema=MECHANISM_SCHEMA)


def _by_run(attribution: pl.DataFrame) -> Iterator[tuple[dict[str, str], list[int], dict[str, np.ndarray]]]:
    """Model, variant, pattern and branch_norm; the blocks; and each number as (reviews, blocks)."""
    for names, rows in sorted(attribution.partition_by(*RUN, "branch_norm", as_dict=True).items()):
        reviews, blocks = (rows.select(name).unique().sort(name) for name in ("review_id", "block"))
        arrays = {name: as_array(rows, name, reviews, blocks) for name in ATTRIBUTION_NUMBERS}
        yield dict(zip((*RUN, "branch_norm"), names, strict=True)), blocks["block"].to_list(), arrays


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


def tabulate(
    attribution: Sequence[str], similarity: pl.DataFrame, min_reviews: int, resampling: Mapping[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `attribution` and `mechanism`.

    Args:
        attribution: files of what patterns deliver, of all jobs.
        similarity: the table `similarity`, which says which reviews are accepted.
        min_reviews: fewest reviews with which blocks are tested.
        resampling: fields of `Resampling`.
    """
    drawn, accepted = Resampling(**resampling), keep_accepted(read_tables(attribution), similarity)
    means_of_blocks = attribution_table(accepted, drawn.confidence, min_reviews)
    return means_of_blocks, mechanism_table(accepted, drawn, min_reviews)
