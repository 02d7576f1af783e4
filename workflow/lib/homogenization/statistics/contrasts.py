"""The table `contrasts`: paired differences between variants, review by review, with intervals and tests."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from homogenization.names.columns import columns
from homogenization.names.consequences import PREDICTED, PREDICTIONS
from homogenization.names.variants import DISORDER, ORIGINAL
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_tables
from homogenization.statistics.estimate import ESTIMATE_SCHEMA, Settings, differences, estimate
from homogenization.statistics.rest import FEWEST_STEPS, rest
from homogenization.statistics.values import Values
from homogenization.tables.comparisons import same_texts, too_few
from homogenization.tables.metrics import VALUES_SCHEMA, values_of

#: A row for each model, contrast, group, point, layer, view and metric, sorted by these, and one for each part of the
#: depth. Differences are variant − minus, review by review, over the reviews that are accepted in both and whose two
#: texts differ. Of a contrast that is not tested, the numbers are NaN.
CONTRASTS_SCHEMA = {
    **columns("model", "variant"),
    #: variant that is subtracted; `disorder`: the difference to the original minus what the ladder of disorder does at
    #: the same change of loss ([beyond disorder](statistics.md#beyond-disorder))
    "minus": pl.String,
    "group": pl.String,  #: null for all reviews; else those with this value in the column `contrasts.by`
    "point": pl.String,  #: `residual_stream`, `final_norm` or `predictions`
    #: null for one layer; `all`, `first`, `middle` or `last`: each review's mean over these layers of the residual
    #: stream, with `layer` and `depth` null
    "layers": pl.String,
    **columns("layer", "depth", "view"),
    #: name, see [metrics](metrics.md); in the view `predictions` `loss_per_word`, `entropy` and `divergence`
    "metric": pl.String,
    **ESTIMATE_SCHEMA,
}
SCHEMAS = {"contrasts": CONTRASTS_SCHEMA}
LOSS = "loss_per_word"
# whose layers, or parts of the depth, `p_max_t` corrects for
_FAMILY = ("point", "view", "metric", pl.col("layers").is_null())
_KEYS = ("model", "variant", "minus", "group", "point", "layers", "layer", "view", "metric")


def contrast_table(
    values: pl.DataFrame,
    contrasts: Mapping[tuple[str, str], str | None],
    similarity: pl.DataFrame,
    settings: Settings,
    *,
    models: Sequence[str] = (),
    ladder: Sequence[str] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
) -> pl.DataFrame:
    """Every contrast of every model, point, layer, view and metric, and part of the depth: `CONTRASTS_SCHEMA`.

    Args:
        values: rows of `VALUES_SCHEMA`, whose reviews of a variant are the accepted ones; those of predictions too.
        contrasts: why each pair (variant, minus) is not tested; None where it is.
        similarity: the table `similarity`, which says of which reviews the two texts are the same.
        settings: draws, levels, margin and fewest reviews.
        models: in the order of the configuration: the first that predicts lends its losses to those that do not.
        ladder: variants that are disorder of more and more of the text; fewer than two are none.
        groups: names of reviews by group, which are contrasted beside all reviews.
    """
    losses, parts = _losses(values, models), [pl.DataFrame(schema=CONTRASTS_SCHEMA)]
    for (model,), rows in sorted(values.partition_by("model", as_dict=True).items()):
        of_model = Values.of(rows)
        for group, reviews in {None: of_model.review_ids, **(groups or {})}.items():
            compared = _Compared(of_model.only(reviews), similarity, losses.get(model, {}), ladder)
            for (variant, minus), reason in contrasts.items():
                for other, changes in compared.changes_of(variant, minus):
                    changes = changes[~np.isnan(changes).all(axis=1)]
                    table = estimate(of_model.cells, changes, settings, _FAMILY, reason)
                    names = {"model": model, "variant": variant, "minus": other, "group": group}
                    named = table.with_columns(pl.lit(name, pl.String).alias(key) for key, name in names.items())
                    parts.append(named.filter((pl.col("metric") != LOSS) | (pl.col("minus") != DISORDER)))
    return pl.concat(part.select(*CONTRASTS_SCHEMA) for part in parts).sort(_KEYS)


@dataclass(frozen=True)
class _Compared:
    """Differences of one model; `losses` by review and variant, without any where no model of the study predicts."""

    values: Values
    similarity: pl.DataFrame
    losses: Mapping[str, Mapping[str, float]]
    ladder: Sequence[str]

    def changes_of(self, variant: str, minus: str) -> Iterator[tuple[str, np.ndarray]]:
        """What is subtracted, and (reviews, cells) differences: of the two variants, and the rest."""
        changes = self._differences(variant, minus)
        yield minus, changes
        steps = [name for name in self.ladder if name in self.losses]
        if minus == ORIGINAL and variant not in self.ladder and variant in self.losses and len(steps) >= FEWEST_STEPS:
            ladder = [(self._differences(name, ORIGINAL), self._loss_of(name)) for name in steps]
            yield DISORDER, rest((changes, self._loss_of(variant)), ladder)

    def _differences(self, variant: str, minus: str) -> np.ndarray:
        """NaN in reviews that are not accepted in both, or whose two texts are the same."""
        found = differences(*map(self.values.of_variant, (variant, minus)))
        same = same_texts(self.similarity, variant, minus)["review_id"].to_list()
        found[np.isin(self.values.review_ids, same)] = np.nan
        return self.values.with_parts(found)

    def _loss_of(self, variant: str) -> np.ndarray:
        """(reviews,) change of the loss per word."""
        own, original = (
            np.array([self.losses[name].get(review, np.nan) for review in self.values.review_ids])
            for name in (variant, ORIGINAL)
        )
        return own - original


def _losses(values: pl.DataFrame, models: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """By model, variant and review: its loss per word; of one that does not predict, that of the first that does."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for model, variant, review, loss in (
        values.filter(metric=LOSS).select("model", "variant", "review_id", "value").rows()
    ):
        found.setdefault(model, {}).setdefault(variant, {})[review] = loss
    first = next((model for model in models if model in found), None)
    return {model: found.get(model, found[first]) for model in models} if first else {}


def values_of_predictions(predictions: pl.DataFrame) -> pl.DataFrame:
    """The table `predictions` with a row for each number (`VALUES_SCHEMA`); none of a model that does not predict."""
    rows = predictions.unpivot(PREDICTED, index=["model", "variant", "review_id"], variable_name="metric")
    place = {"point": pl.lit(PREDICTIONS), "view": pl.lit(PREDICTIONS), "layer": None, "depth": None}
    return rows.drop_nulls("value").with_columns(**place).select(*VALUES_SCHEMA).cast(VALUES_SCHEMA)


def tabulate(
    *,
    contrasts: Sequence[tuple[str, str]],
    names: Sequence[str],
    n_reviews: int,
    min_reviews: int,
    resampling: Mapping[str, Any],
    models: Sequence[str],
    ladder: Sequence[str],
    by: str | None = None,
    metrics: pl.DataFrame,
    predictions: pl.DataFrame,
    similarity: pl.DataFrame,
    corpus: Sequence[str] | None = None,
) -> pl.DataFrame:
    """The table `contrasts` of pairs (variant, minus), of the metrics of these `names`.

    `n_reviews` and `min_reviews` are as of `too_few`, `models` and `ladder` as of `contrast_table`; `by` is a column of
    the `corpus`, files of the sample, whose values are groups of reviews.
    """
    reasons = {tuple(pair): too_few(similarity, pair, n_reviews, min_reviews) for pair in contrasts}
    for (variant, minus), reason in reasons.items():
        if reason is not None:
            logging.warning("%s minus %s is not tested: %s", variant, minus, reason)
    values = values_of(metrics).filter(pl.col("metric").is_in(list(names)))
    values = pl.concat([values, values_of_predictions(predictions)])
    groups = groups_of(read_tables(corpus), by) if by else None
    settings = Settings(**resampling, min_reviews=min_reviews)
    return contrast_table(values, reasons, similarity, settings, models=models, ladder=ladder, groups=groups)


def groups_of(corpus: pl.DataFrame, by: str) -> dict[str, list[str]]:
    """Names of reviews by their value in the column `by` of the corpus; a review without one is in no group.

    Raises:
        HomogenizationError: the corpus has no such column.
    """
    if by not in corpus.columns:
        further = ", ".join(sorted({*corpus.columns} - {"review_id", "row", "text", "rank"}))
        raise HomogenizationError(f"contrasts.by: the corpus has no column '{by}' beside its texts. It has {further}.")
    rows = corpus.select("review_id", pl.col(by).cast(pl.String)).drop_nulls()
    return {group: rows.filter(pl.col(by) == group)["review_id"].to_list() for group in rows[by].unique().sort()}
