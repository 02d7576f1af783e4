"""What claims are judged by: the tables and settings of a study, and the estimates that statistics share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
import polars as pl

from homogenization.claims.measurement import (
    KEPT,
    NO_SIZE,
    ROBUST,
    Claim,
    Interval,
    Measurement,
    Size,
    UnavailableError,
    is_pooled,
)
from homogenization.inference.layers import LayerValues, depth_ranges, layer_values
from homogenization.inference.resampling import bootstrap_weights, mean_interval, resampled, sign_flips
from homogenization.inference.robust import INFLUENTIAL, hodges_lehmann, trimmed_mean
from homogenization.run.parquet import read_table
from homogenization.tables.comparisons import same_texts, too_few_changed, too_few_of_all
from homogenization.tables.opening_tokens import reviews_whose_first_token_stays
from homogenization.tables.regions import at_layers
from homogenization.vocabulary.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.vocabulary.variants import ORIGINAL
from homogenization.vocabulary.verdicts import POOLS, REVIEWS

POOLED_VIEW = "pooled_centred"
_INFLUENTIAL_LEAST = 2  # reviews that have to stay

# indices of reviews -> a function of their weights (draws, reviews), (draws,)
OfReviews = Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]]


@dataclass(frozen=True)
class Tables:
    """The tables that claims are judged by, named as their files.

    Attributes:
        metrics: every metric of every review.
        similarity: of every rewritten review.
        components: None where no block was taken apart.
        pooled: `POOLED_METRICS_SCHEMA`; None where tokens are not pooled.
        intervened: None where no attention was changed.
        consequences: None where the study has no such section.
        training: None where the study trains no model.
        extrema: None where the study looks for none.
        opening_tokens: None where first tokens are not known.
    """

    metrics: pl.DataFrame
    similarity: pl.DataFrame
    components: pl.DataFrame | None = None
    pooled: pl.DataFrame | None = None
    intervened: pl.DataFrame | None = None
    consequences: pl.DataFrame | None = None
    training: pl.DataFrame | None = None
    extrema: pl.DataFrame | None = None
    opening_tokens: pl.DataFrame | None = None

    @classmethod
    def read(cls, inputs: Any) -> Self:
        """The tables of `inputs`, a rule's files by name; those that the study lacks are empty lists or not there."""
        return cls(**{table.name: read_table(inputs[table.name]) for table in fields(cls) if inputs.get(table.name)})


@dataclass(frozen=True)
class Settings:
    """What claims are judged with.

    Attributes:
        draws: number of bootstrap draws, and of sign flips, of the reviews.
        confidence: level of the intervals, between 0 and 1.
        seed: seed of the draws.
        variants: names of the study's variants.
        n_reviews: reviews of the sample.
        min_reviews: fewest accepted reviews of rewritten variants with which a claim about these is tested; of a
            comparison, those whose texts differ.
        margin: share of what depth does to a metric, or of how far reviews lie apart where that is more, within which a
            difference is negligible.
        trained: [model, arm, seed, step] of each trained model.
    """

    draws: int
    confidence: float
    seed: int
    variants: Sequence[str]
    n_reviews: int
    min_reviews: int
    margin: float
    trained: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True)
class Evidence:
    """The tables and settings that claims are judged by, and the estimates that statistics share."""

    tables: Tables
    settings: Settings

    def weights(self, n: int) -> np.ndarray:
        """(draws, n) bootstrap weights of `n` reviews."""
        return _weights(n, self.settings.draws, self.settings.seed)

    def flips(self, n: int) -> np.ndarray:
        """(rows, n) signs of `n` reviews."""
        return _flips(n, self.settings.draws, self.settings.seed)

    @cached_property
    def pools(self) -> pl.DataFrame | None:
        """`pooled` as the table of metrics: a pool in place of a review, and the output after the final norm."""
        if self.tables.pooled is None:
            return None
        last = pl.col("point") == FINAL_NORM
        after_norm = self.tables.pooled.filter(last).with_columns(pl.lit(RESIDUAL_STREAM).alias("point"))
        keys = ["model", "variant", "shard", "layer", "view", "metric"]
        before = self.tables.pooled.filter(~last).join(after_norm, on=keys, how="anti")
        rows = pl.concat([before, after_norm.select(before.columns)]).rename({"shard": "review_id"})
        return rows.filter(pl.col("view") == POOLED_VIEW)

    def size(self, model: str, view: str, metric: str, pooled: bool = False) -> Size:
        """What depth does to a metric in a model, and how far reviews or pools lie apart (`layers.depth_ranges`)."""
        return self._sizes[pooled].get((model, view, metric), NO_SIZE)

    @cached_property
    def _sizes(self) -> list[dict[tuple[str, ...], Size]]:
        tables = [self.tables.metrics, self.pools if self.pools is not None else self.tables.metrics.clear()]
        filled = [depth_ranges(table).with_columns(pl.col("review_sd").fill_null(np.nan)) for table in tables]
        return [{row[:3]: Size(*row[3:]) for row in table.rows()} for table in filled]

    def values_of(self, claim: Claim, model: str, variant: str) -> pl.DataFrame:
        """review_id, layer, depth, view, metric, value of the claim's metric, without NaN, sorted.

        Raises:
            UnavailableError: the study lacks the metric, variant, view or point.
        """
        pooled = is_pooled(claim)
        table = self.pools if pooled else self.tables.metrics
        if table is None:
            raise UnavailableError("the study does not pool the tokens of its texts")
        if variant.endswith(" control"):
            raise UnavailableError(f"the study has no {variant} of '{claim['variant']}'")
        point, view = claim.get("point", RESIDUAL_STREAM), POOLED_VIEW if pooled else claim["view"]
        rows = table.filter(pl.col("model") == model)
        for column, value, lacking in (
            ("metric", claim["metric"], f"no metric {claim['metric']}"),
            ("variant", variant, f"no variant '{variant}'"),
            ("view", view, f"no view '{view}' of {claim['metric']}"),
            ("point", point, f"no values of {claim['metric']} at {point}"),
        ):
            rows = rows.filter(pl.col(column) == value)
            if rows.is_empty():
                raise UnavailableError(f"the study has {lacking}{' of pooled tokens' if pooled else ''}")
        rows = rows.filter(pl.col("value").is_not_nan()).sort("review_id", "layer")
        if rows.is_empty():
            raise UnavailableError(f"{claim['metric']} is undefined in every review")
        return rows.select("review_id", "layer", "depth", "view", "metric", "value")

    def where_texts_differ(self, rows: pl.DataFrame, claim: Claim) -> tuple[pl.DataFrame, float]:
        """The rows of the reviews in which the texts `variant` and `minus` of a claim differ, and the share of these.

        Of pooled tokens, whose numbers no review can be left out of, all rows; the share is NaN.

        Raises:
            UnavailableError: the texts of too few reviews differ.
        """
        # a perturbed text is one of the original
        pair = [name if name in self.settings.variants else ORIGINAL for name in (claim["variant"], claim["minus"])]
        similarity = self.tables.similarity
        if is_pooled(claim):
            reason, differing, share = too_few_of_all(similarity, *pair), rows, np.nan
        else:
            differing = rows.join(same_texts(similarity, *pair), on="review_id", how="anti", maintain_order="left")
            n_changed, n_reviews = (table["review_id"].n_unique() for table in (differing, rows))
            reason = too_few_changed(pair, n_changed, n_reviews, self.settings.min_reviews)
            share = n_changed / n_reviews
        if reason is not None:
            raise UnavailableError(reason)
        return differing, share

    def layer_values_of(self, model: str, *sides: Claim) -> LayerValues:
        """The values by review and layer of the cells of one or several claims about one variant of a model."""
        return layer_values(pl.concat([self.values_of(side, model, sides[0]["variant"]) for side in sides]))

    def at_layers(self, claim: Claim, rows: pl.DataFrame) -> pl.DataFrame:
        """review_id and value, the mean over the claim's layers, in the order of `rows`."""
        chosen = rows.filter(at_layers(claim["layers"]))
        if chosen.is_empty():
            raise UnavailableError(f"the study has no values of {claim['metric']} at the layers '{claim['layers']}'")
        return chosen.group_by("review_id", maintain_order=True).agg(pl.col("value").mean())

    def size_of(self, claim: Claim, model: str) -> Size:
        """What depth does to the claim's metric in the model, seen as the claim sees it."""
        pooled = is_pooled(claim)
        return self.size(model, POOLED_VIEW if pooled else claim["view"], claim["metric"], pooled)

    def mean(self, claim: Claim, rows: pl.DataFrame, size: Size = NO_SIZE) -> Measurement:
        """The mean of `value` over rows, one for each review, or for each pool in the convention of the thesis."""
        return (self.mean_over_pools if is_pooled(claim) else self.mean_over_reviews)(rows, size)

    def mean_of_texts(self, model: str, texts: tuple[str, str], by_review: pl.DataFrame, size: Size) -> Measurement:
        """The mean of `value`, a difference between two texts, also over the reviews whose first token stays.

        In a model that begins texts with no token of its own, the first word is the sink, and another word another one.
        """
        measurement, openings = self.mean_over_reviews(by_review, size), self.tables.opening_tokens
        stay = None if openings is None else reviews_whose_first_token_stays(openings, model, texts)
        if stay is None:
            return measurement
        kept = by_review.filter(pl.col("review_id").is_in(stay), pl.col("value").is_not_nan())
        interval = measurement.interval if len(kept) == measurement.n else None
        if interval is None and len(kept) >= max(self.settings.min_reviews, 1):
            interval = self.mean_over_reviews(kept, size).interval
        return replace(measurement, n_same_first=len(kept), same_first=interval)

    def mean_over_reviews(self, by_review: pl.DataFrame, size: Size = NO_SIZE) -> Measurement:
        """The mean of `value` over rows, one for each review, with its interval and its checks."""
        return self.mean_of(_present(by_review), size)

    def mean_of(self, values: np.ndarray, size: Size = NO_SIZE) -> Measurement:
        """The mean of `values`, one for each review, with its interval and its checks."""
        checks = {
            ROBUST: _first_cell(hodges_lehmann(values[:, None], self.settings.confidence)),
            KEPT: _first_cell(trimmed_mean(values[:, None], self.settings.confidence)),
        }
        return Measurement(self._interval(values), len(values), REVIEWS, values, checks, size)

    def _interval(self, values: np.ndarray) -> Interval:
        bounds = mean_interval(values[:, None], self.settings.confidence)
        return Interval(float(values.mean()), *(float(bound[0]) for bound in bounds))

    def mean_over_pools(self, by_pool: pl.DataFrame, size: Size = NO_SIZE) -> Measurement:
        """The mean of `value` over rows, one for each pool, with its interval; NaN for one pool."""
        return self.mean_over(_present(by_pool), POOLS, size)

    def mean_over(self, values: np.ndarray, unit: str, size: Size) -> Measurement:
        """The mean of `values`, one for each `unit`, with its interval; NaN for one."""
        return Measurement(self._interval(values), len(values), unit, size=size)

    def over_reviews(self, make: OfReviews, n: int, size: Size = NO_SIZE) -> Measurement:
        """A statistic of `n` reviews that is no mean, with its percentile interval and its check `KEPT`."""
        every = np.arange(n)
        interval = Interval(*resampled(make(every), self.weights(n), self.settings.confidence))
        stay = _least_influential(make(every), n)
        checks = {KEPT: Interval(*resampled(make(stay), self.weights(len(stay)), self.settings.confidence))}
        return Measurement(interval, n, REVIEWS, checks=checks if len(stay) < n else {}, size=size)

    def over_pools(self, statistic: Callable[[np.ndarray], np.ndarray], n: int) -> Measurement:
        """A statistic of `n` pools that is no mean, from its least to its greatest value of a single pool."""
        estimate = float(statistic(np.full((1, n), 1 / n))[0])
        single = statistic(np.eye(n))
        low, high = (float(np.nanmin(single)), float(np.nanmax(single))) if n > 1 else (np.nan, np.nan)
        return Measurement(Interval(estimate, low, high), n, POOLS)


# most claims of a study are about the same number of reviews, or about those without the most influential
_weights = lru_cache(maxsize=4)(bootstrap_weights)
_flips = lru_cache(maxsize=2)(sign_flips)


def _present(by_review: pl.DataFrame) -> np.ndarray:
    values = by_review.drop_nulls("value").filter(pl.col("value").is_not_nan()).sort("review_id")["value"].to_numpy()
    if not len(values):
        raise UnavailableError("undefined in every review")
    return values


def _first_cell(estimates: tuple[np.ndarray, ...]) -> Interval:
    return Interval(*(float(column[0]) for column in estimates))


def _least_influential(statistic: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """The reviews without which a statistic moves least, sorted: all but the `INFLUENTIAL` share, rounded up."""
    if n - np.ceil(INFLUENTIAL * n) < _INFLUENTIAL_LEAST:
        return np.arange(n)
    without_each = statistic((1 - np.eye(n)) / (n - 1))
    moved = np.nan_to_num(np.abs(without_each - statistic(np.full((1, n), 1 / n))), nan=np.inf)
    order = np.argsort(-moved, kind="stable")
    return np.sort(order[int(np.ceil(INFLUENTIAL * n)) :])
