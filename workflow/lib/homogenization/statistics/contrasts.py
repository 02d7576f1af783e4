"""The table `contrasts`: paired differences between variants, review by review, with intervals and tests."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from homogenization.metrics.catalogue import DEPENDS_ON_LENGTH
from homogenization.names.columns import columns, table_of
from homogenization.names.points import REGIONS, RESIDUAL_STREAM
from homogenization.statistics.estimates import (
    JUDGED_SCHEMA,
    VERDICT_SCHEMA,
    estimates,
    families_of,
    flip_tests,
    judged,
)
from homogenization.statistics.layers import yardsticks_of
from homogenization.statistics.resampling import Resampling, differences, means
from homogenization.tables.comparisons import BALANCE_SCHEMA, COMPARISONS_SCHEMA, comparisons_table, same_texts
from homogenization.tables.metrics import values_of
from homogenization.tables.over_reviews import as_array
from homogenization.tables.regions import at_layers

#: A row for each model, contrast, point, layer, view and metric, sorted by these, and one for each part of the depth.
#: Differences are variant − minus, review by review, over the reviews that are accepted in both and whose two texts
#: differ. A contrast that is not tested has rows with a reason, and NaN for every estimate and p. Intervals are at
#: `contrasts.confidence`.
CONTRASTS_SCHEMA = {
    **columns("model", "variant", "minus", "point"),
    #: null for one layer; `all`, `first`, `middle` or `last`: each review's mean over these layers of the residual
    #: stream, with `layer` and `depth` null
    "layers": pl.String,
    **columns("layer", "depth", "view", "metric"),
    "depends_on_length": pl.Boolean,  #: whether the metric changes with the number of tokens alone
    #: reviews with a value in both variants, whose two texts differ; of a contrast that is not tested, reviews of which
    #: the two texts are accepted and differ
    "n_reviews": pl.Int64,
    #: reviews whose two texts differ / reviews accepted in both and read by the model; NaN without any
    "share_changed": pl.Float64,
    **VERDICT_SCHEMA,
    "mean": pl.Float64,  #: of the differences; NaN without reviews
    #: ends of Student's interval; NaN for fewer than two reviews, also in all later columns
    **dict.fromkeys(("ci_low", "ci_high"), pl.Float64),
    **JUDGED_SCHEMA,
    "p_value": pl.Float64,  #: two-sided sign-flip permutation test of mean 0
    #: p corrected within its family: the layers of the residual stream, or the parts of the depth; equals `p_value` for
    #: `final_norm`
    "p_max_t": pl.Float64,
    "reason": pl.String,  #: why the contrast is not tested, or `one review decides`; otherwise null
}
SCHEMAS = {"contrasts": CONTRASTS_SCHEMA, "comparisons": COMPARISONS_SCHEMA}
INPUT_SCHEMAS = {"balance": BALANCE_SCHEMA}
PARTS = ("all", *REGIONS)  # of the depth
_FAMILY = ("point", "view", "metric")  # whose layers, and parts of the depth, `p_max_t` corrects for
_CELL = (*_FAMILY, "layer")
_KEYS = ("model", "variant", "minus", "point", "layers", "layer", "view", "metric")


def contrast_table(
    metrics: pl.DataFrame,
    comparisons: pl.DataFrame,
    similarity: pl.DataFrame,
    names: Sequence[str],
    resampling: Resampling,
) -> pl.DataFrame:
    """Every contrast of every model, point, layer, view and metric, and part of the depth: the table `contrasts`.

    A contrast has the reviews that are in both variants with texts that differ. One with a reason is not tested: its
    numbers are NaN.

    Args:
        metrics: the values of the table `metrics`, whose reviews of a variant are the accepted ones.
        comparisons: the table `comparisons`, a row for each contrast.
        similarity: the table `similarity`, which says of which reviews the two texts are the same.
        names: metrics to contrast; those that `metrics` lacks are left out.
        resampling: draws, levels and margin.

    Returns:
        `CONTRASTS_SCHEMA`, sorted by its keys. Differences are variant - minus, per review, and 0 within 1e-9 of the
        values.
    """
    sizes = yardsticks_of(metrics)
    parts = [pl.DataFrame(schema=CONTRASTS_SCHEMA)]
    for model in metrics["model"].unique().sort() if len(comparisons) else ():
        rows = metrics.filter(pl.col("model") == model, pl.col("metric").is_in(list(names)))
        if not rows.is_empty():
            parts.append(_contrasts_of_model(model, rows, comparisons, similarity, resampling))
    table = pl.concat(parts).drop("yardstick").join(sizes, on=("model", "view", "metric"), how="left")
    table = judged(table, resampling, "mean").with_columns(depends_on_length=pl.col("metric").is_in(DEPENDS_ON_LENGTH))
    return table.select(*CONTRASTS_SCHEMA).sort(_KEYS)


@dataclass(frozen=True)
class _Cells:
    """What has a row: layers of the model, and after them the parts of the depth of each family.

    Attributes:
        layers: `_CELL` and depth of each layer, with its place `cell`.
        parts: `_FAMILY` and layers of each part, with its place and those of its layers, `members`.
    """

    layers: pl.DataFrame
    parts: pl.DataFrame

    @classmethod
    def of(cls, metrics: pl.DataFrame) -> Self:
        """Those of the metrics of one model."""
        layers = metrics.group_by(_CELL).agg(pl.col("depth").first()).sort(_CELL).with_row_index("cell")
        stream = layers.filter(point=RESIDUAL_STREAM)
        parts = pl.concat(
            stream.filter(at_layers(name)).group_by(_FAMILY).agg(members="cell").with_columns(layers=pl.lit(name))
            for name in PARTS
        )
        return cls(layers, parts.sort(*_FAMILY, "layers").with_row_index("cell", offset=len(layers)))

    @property
    def rows(self) -> pl.DataFrame:
        """The columns that name them, in the order of their places."""
        return pl.concat([self.layers, self.parts.drop("members")], how="diagonal").drop("cell")

    def differences(self, first: pl.DataFrame, second: pl.DataFrame, reviews: pl.DataFrame) -> np.ndarray:
        """(reviews, cells) `first` - `second` at the layers, and then a review's mean over each part of the depth."""
        layers = self.layers.select(_CELL)
        values = differences(*(as_array(of_one, "value", reviews, layers) for of_one in (first, second)))
        of_parts = [means(values[:, members.to_numpy()].T) for members in self.parts["members"]]
        return np.column_stack([values, *of_parts])


def _contrasts_of_model(
    model: str, metrics: pl.DataFrame, comparisons: pl.DataFrame, similarity: pl.DataFrame, resampling: Resampling
) -> pl.DataFrame:
    cells = _Cells.of(metrics)
    rows, by_variant = cells.rows, metrics.partition_by("variant", as_dict=True)
    families = families_of(rows, *_FAMILY, pl.col("layers").is_null())
    parts = []
    compared = comparisons.select("variant", "minus", "reason", "n_changed", "share_changed", "n_needed")
    for variant, minus, reason, n_reviews, share, n_needed in compared.rows():
        if reason is None:
            pair = [by_variant.get((name,), metrics.clear()) for name in (variant, minus)]
            # sorted, so that neither the order of rows nor other models decide which review gets which weight
            read = pair[0].select("review_id").unique().join(pair[1], on="review_id", how="semi").sort("review_id")
            same = same_texts(similarity, variant, minus)
            reviews = read.join(same, on="review_id", how="anti", maintain_order="left")
            n_changed, n_reviews = n_reviews, len(reviews)
            share = n_reviews / len(read) if len(read) else None
            if n_reviews < n_needed:  # long reviews can be left out
                reason = f"{n_reviews} of {n_changed} accepted reviews read by {model}; at least {n_needed} are needed"
        columns = {"n_reviews": n_reviews}
        if reason is None:
            values = cells.differences(*pair, reviews)
            columns = estimates(values, resampling.confidence, "mean")
            columns |= flip_tests(values, families, resampling.sign_flips(len(reviews)))
        names = {"model": model, "variant": variant, "minus": minus, "share_changed": share}
        columns = {"reason": reason} | columns
        parts.append(table_of(rows.to_dict() | names | columns, CONTRASTS_SCHEMA))
    table = pl.concat([pl.DataFrame(schema=CONTRASTS_SCHEMA), *parts])
    # what is not tested has no numbers
    return table.with_columns((pl.selectors.float() - pl.selectors.by_name("depth")).fill_null(np.nan))


def tabulate(
    contrasts: Sequence[tuple[str, str]],
    names: Sequence[str],
    n_reviews: int,
    min_reviews: int,
    resampling: Mapping[str, Any],
    *,
    metrics: pl.DataFrame,
    similarity: pl.DataFrame,
    balance: pl.DataFrame,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `contrasts` and `comparisons`.

    Args:
        contrasts: pairs (variant, minus).
        names: names of metrics.
        n_reviews: reviews of the sample.
        min_reviews: fewest reviews, accepted in both variants with texts that differ, with which a contrast is tested.
        resampling: fields of `Resampling`.
        metrics: the table `metrics`.
        similarity: the table `similarity`.
        balance: the table `balance`, without rows where the study has no controls.
    """
    comparisons = comparisons_table(similarity, contrasts, n_reviews, min_reviews, balance)
    for variant, minus, reason in comparisons.filter(~pl.col("tested")).select("variant", "minus", "reason").rows():
        logging.warning("%s minus %s is not tested: %s", variant, minus, reason)
    if len(comparisons) and not comparisons["tested"].any():
        logging.warning("no comparison of variants is tested: the study describes the originals alone")
    drawn = Resampling(**resampling)
    return contrast_table(values_of(metrics), comparisons, similarity, names, drawn), comparisons
