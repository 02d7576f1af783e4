"""What claims are judged by: the tables and settings of a study, and the estimates that statistics share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl

from homogenization.claims.measurement import (
    NO_SIZE,
    Claim,
    Interval,
    Measurement,
    Size,
    UnavailableError,
    is_pooled,
)
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import CHECKS, KEPT, POOLS, REVIEWS
from homogenization.statistics.estimates import ENDS, INFLUENTIAL, estimates
from homogenization.statistics.layers import POOLED_VIEW, LayerValues, depth_ranges, layer_values, pools_as_reviews
from homogenization.statistics.resampling import Resampling, bootstrap_weights, mean_interval, resampled
from homogenization.tables.comparisons import same_texts, too_few_changed, too_few_of_all
from homogenization.tables.opening_tokens import reviews_whose_first_token_stays
from homogenization.tables.regions import at_layers

_INFLUENTIAL_LEAST = 2  # reviews that have to stay

# indices of reviews -> a function of their weights (draws, reviews), (draws,)
OfReviews = Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]]


@dataclass(frozen=True)
class Tables:
    """The tables that claims are judged by, named as their files.

    Attributes:
        metrics: every metric of every review.
        similarity: of every rewritten review.
        contrasts: estimates of differences between variants.
        depth: estimates of changes over depth.
        components: None where no block was taken apart.
        pooled: `POOLED_METRICS_SCHEMA`; None where tokens are not pooled.
        interventions: estimates of what changed attention does; None where none was changed.
        consequences: None where the study has no such section.
        training: None where the study trains no model.
        extrema: None where the study looks for none.
        opening_tokens: None where first tokens are not known.
    """

    metrics: pl.DataFrame
    similarity: pl.DataFrame
    contrasts: pl.DataFrame | None = None
    depth: pl.DataFrame | None = None
    components: pl.DataFrame | None = None
    pooled: pl.DataFrame | None = None
    interventions: pl.DataFrame | None = None
    consequences: pl.DataFrame | None = None
    training: pl.DataFrame | None = None
    extrema: pl.DataFrame | None = None
    opening_tokens: pl.DataFrame | None = None


@dataclass(frozen=True)
class Settings:
    """What claims are judged with.

    Attributes:
        resampling: draws, level and margin.
        variants: names of the study's variants.
        n_reviews: reviews of the sample.
        min_reviews: fewest accepted reviews of rewritten variants with which a claim about these is tested; of a
            comparison, those whose texts differ.
        trained: [model, arm, seed, step] of each trained model.
    """

    resampling: Resampling
    variants: Sequence[str]
    n_reviews: int
    min_reviews: int
    trained: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True)
class Evidence:
    """The tables and settings that claims are judged by, and the estimates that statistics share."""

    tables: Tables
    settings: Settings

    def weights(self, n: int) -> np.ndarray:
        """(draws, n) bootstrap weights of `n` reviews."""
        return _weights(n, self.settings.resampling.draws, self.settings.resampling.seed)

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return self.settings.resampling.confidence

    @cached_property
    def pools(self) -> pl.DataFrame | None:
        """`pooled` as the table of metrics: a pool in place of a review, and the output after the final norm."""
        return None if self.tables.pooled is None else pools_as_reviews(self.tables.pooled)

    def size(self, model: str, view: str, metric: str, pooled: bool = False) -> Size:
        """What depth does to a metric in a model, and how far reviews or pools lie apart (`layers.depth_ranges`)."""
        return self._sizes[pooled].get((model, view, metric), NO_SIZE)

    @cached_property
    def _sizes(self) -> list[dict[tuple[str, ...], Size]]:
        tables = [self.tables.metrics, self.pools if self.pools is not None else self.tables.metrics.clear()]
        filled = [depth_ranges(table).with_columns(pl.col("review_sd").fill_null(np.nan)) for table in tables]
        return [{row[:3]: Size(*row[3:]) for row in table.rows()} for table in filled]

    def change_of(self, claim: Claim, model: str, statistic: str) -> Mapping[str, Any]:
        """The row of the table `depth` that a claim on change over depth is about.

        Raises:
            UnavailableError: the study lacks the metric, variant or view, or it has no value in any review.
        """
        self.values_of(claim, model, claim["variant"])  # names what the study lacks
        keys = {"variant": claim["variant"], "view": self.view_of(claim), "metric": claim["metric"]}
        rows = self.tables.depth.filter(_all_of(model=model, statistic=statistic, **keys))
        if rows.is_empty():
            raise UnavailableError(f"the study measures no change of {claim['metric']} over depth")
        return rows.row(0, named=True)

    def difference_of(self, claim: Claim, model: str) -> Mapping[str, Any]:
        """The row of the table `contrasts` that a claim is about: of one layer, or of a part of the depth.

        Raises:
            UnavailableError: the study lacks the metric, a variant, view, point or the layers, or does not test it.
        """
        keys = {name: claim[name] for name in ("variant", "minus", "point", "view", "metric")}
        rows = self.tables.contrasts.filter(_all_of(model=model, **keys))
        if rows.is_empty():
            for role in ("variant", "minus"):
                self.values_of(claim, model, claim[role])  # names what the study lacks
            raise UnavailableError(f"the study does not compare '{claim['variant']}' with '{claim['minus']}'")
        layers, of_layers = claim["layers"], rows.filter(pl.col("layers").is_null())
        parts = rows.filter(layers=layers)
        chosen = of_layers.filter(at_layers(layers)) if parts.is_empty() else parts
        if len(chosen) != 1:
            raise UnavailableError(f"the study has no values of {claim['metric']} at the layers '{layers}'")
        row = chosen.row(0, named=True)
        if row["reason"]:
            raise UnavailableError(row["reason"])
        if not row["n_reviews"]:
            pair = f"'{claim['variant']}' and '{claim['minus']}'"
            raise UnavailableError(f"no review has {claim['metric']} in both {pair}")
        return row

    @staticmethod
    def view_of(claim: Claim) -> str:
        """The view of a claim's metric in its convention."""
        return POOLED_VIEW if is_pooled(claim) else claim["view"]

    def measured(self, claim: Claim, row: Mapping[str, Any], estimate: str = "estimate") -> Measurement:
        """What a row of a table of estimates says, with its interval, checks, size and p; `estimate` is its column."""
        if not row["n_reviews"]:
            raise UnavailableError("undefined in every review")
        measured = _of_row(row, estimate)
        return replace(measured, unit=POOLS, spread=None, checks={}) if is_pooled(claim) else measured

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
        point, view = claim.get("point", RESIDUAL_STREAM), self.view_of(claim)
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
        return self.size(model, self.view_of(claim), claim["metric"], is_pooled(claim))

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
        found = estimates(values[:, None], self.confidence)
        return _of_row({name: column[0] for name, column in found.items()} | size._asdict(), "mean")

    def mean_over_pools(self, by_pool: pl.DataFrame, size: Size = NO_SIZE) -> Measurement:
        """The mean of `value` over rows, one for each pool, with its interval; NaN for one pool."""
        return self.mean_over(_present(by_pool), POOLS, size)

    def mean_over(self, values: np.ndarray, unit: str, size: Size) -> Measurement:
        """The mean of `values`, one for each `unit`, with its interval; NaN for one."""
        low, high = (float(end[0]) for end in mean_interval(values[:, None], self.confidence))
        return Measurement(Interval(float(values.mean()), low, high), len(values), unit, size=size)

    def over_reviews(self, make: OfReviews, n: int, size: Size = NO_SIZE) -> Measurement:
        """A statistic of `n` reviews that is no mean, with its percentile interval and its check `KEPT`."""
        every = np.arange(n)
        interval = Interval(*resampled(make(every), self.weights(n), self.confidence))
        stay = _least_influential(make(every), n)
        checks = {KEPT: Interval(*resampled(make(stay), self.weights(len(stay)), self.confidence))}
        return Measurement(interval, n, REVIEWS, checks=checks if len(stay) < n else {}, size=size)

    def over_pools(self, statistic: Callable[[np.ndarray], np.ndarray], n: int) -> Measurement:
        """A statistic of `n` pools that is no mean, from its least to its greatest value of a single pool."""
        estimate = float(statistic(np.full((1, n), 1 / n))[0])
        single = statistic(np.eye(n))
        low, high = (float(np.nanmin(single)), float(np.nanmax(single))) if n > 1 else (np.nan, np.nan)
        return Measurement(Interval(estimate, low, high), n, POOLS)


# most claims of a study are about the same number of reviews, or about those without the most influential
_weights = lru_cache(maxsize=4)(bootstrap_weights)


def _present(by_review: pl.DataFrame) -> np.ndarray:
    values = by_review.drop_nulls("value").filter(pl.col("value").is_not_nan()).sort("review_id")["value"].to_numpy()
    if not len(values):
        raise UnavailableError("undefined in every review")
    return values


def _of_row(row: Mapping[str, Any], estimate: str) -> Measurement:
    """What a row of a table of estimates, or of `estimates`, says."""
    number = float(row[estimate])
    checks = {name: Interval(*(float(row[f"{name}{end}"]) for end in ENDS)) for name in CHECKS}
    return Measurement(
        Interval(number, float(row["ci_low"]), float(row["ci_high"])),
        int(row["n_reviews"]),
        spread=number / row["effect_size"] if row["effect_size"] else np.nan,
        checks=checks,
        size=Size(row["depth_range"], row["review_sd"]),
        **{name: row.get(name, np.nan) for name in ("p_value", "p_max_t")},
    )


def _all_of(**values: Any) -> pl.Expr:
    return pl.all_horizontal(*(pl.col(name) == value for name, value in values.items()))


def _least_influential(statistic: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """The reviews without which a statistic moves least, sorted: all but the `INFLUENTIAL` share, rounded up."""
    if n - np.ceil(INFLUENTIAL * n) < _INFLUENTIAL_LEAST:
        return np.arange(n)
    without_each = statistic((1 - np.eye(n)) / (n - 1))
    moved = np.nan_to_num(np.abs(without_each - statistic(np.full((1, n), 1 / n))), nan=np.inf)
    order = np.argsort(-moved, kind="stable")
    return np.sort(order[int(np.ceil(INFLUENTIAL * n)) :])
