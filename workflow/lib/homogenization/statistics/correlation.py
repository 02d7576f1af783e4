"""Correlations over reviews and layers: pooled, within layers and within reviews, by values and by ranks.

Each is a function of x and y (n, layers) and of weights (draws, n) of the reviews: a bootstrap draws reviews, with all
their layers, since the layers of a review are not independent. With `uniform_weights` it is the correlation of the
sample.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.stats import rankdata

from homogenization.statistics.resampling import weighted_means

# Values that vary by less than this share of their size are constant. In a causal model with BOS, the first token is
# the same in every review up to the rounding of float32, and rounding has no correlation.
_CONSTANT = 1e-6
_NUMBERS_AT_ONCE = 125_000  # resampled ranks in memory: 1 MB per array, which fits into a cache

# x (n, layers), y (n, layers), weights (draws, n) -> (draws,)
Statistic = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def paired(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`x` and `y`, both NaN where either is, and a mask of the places where both have a value; all of one shape."""
    present = ~(np.isnan(x) | np.isnan(y))
    return np.where(present, x, np.nan), np.where(present, y, np.nan), present


def pooled_pearson(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Pearson correlation over all reviews and layers.

    Args:
        x: (n, layers) float64; a review and layer with NaN in `x` or `y` is left out.
        y: (n, layers) float64.
        weights: (draws, n) of the reviews: a bootstrap draws reviews, with all their layers.

    Returns:
        (draws,); NaN where `x` or `y` is constant or fewer than two values are left.
    """
    x, y, present = paired(x, y)
    if not (_varies(x, None) and _varies(y, None)):
        return np.full(len(weights), np.nan)
    moments = _moments(_standardised(x, None), _standardised(y, None), present)
    return _correlation(weights @ moments.sum(axis=2).T)


def pooled_spearman(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """`pooled_pearson` of the ranks, which are taken anew in every draw; ties have their mean rank."""
    review, layer = np.nonzero(paired(x, y)[2])
    return _rank_correlation(x[review, layer], y[review, layer], review, weights)


def pearson_within_layers(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean over layers of the Pearson correlation over reviews, (draws,); arguments as `pooled_pearson`.

    Layers where `x` or `y` is constant are left out.
    """
    x, y, present = paired(x, y)
    counted = _varies(x, 0) & _varies(y, 0)
    x, y = _standardised(x[:, counted], 0), _standardised(y[:, counted], 0)
    moments = _moments(x, y, present[:, counted])
    return _mean_of_layers(_correlation(np.stack([weights @ moment for moment in moments], axis=-1)))


def spearman_within_layers(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """`pearson_within_layers` of the ranks."""
    present = paired(x, y)[2]
    by_layer = np.empty((len(weights), x.shape[1]))
    for layer in range(x.shape[1]):
        review = np.flatnonzero(present[:, layer])
        by_layer[:, layer] = _rank_correlation(x[review, layer], y[review, layer], review, weights)
    return _mean_of_layers(by_layer)


def pearson_within_reviews(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean over reviews of the Pearson correlation over layers, (draws,); arguments as `pooled_pearson`.

    Reviews where `x` or `y` is constant are left out.
    """
    return weighted_means(_correlations_of_reviews(x, y)[:, None], weights)[:, 0]


def spearman_within_reviews(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """`pearson_within_reviews` of the ranks."""
    x, y, _ = paired(x, y)
    counted = (_varies(x, 1) & _varies(y, 1))[:, None]
    x, y = (rankdata(np.where(counted, values, np.nan), axis=1, nan_policy="omit") for values in (x, y))
    return pearson_within_reviews(x, y, weights)


SCOPES: dict[str, tuple[Statistic, Statistic]] = {
    "reviews_and_layers": (pooled_pearson, pooled_spearman),
    "layers": (pearson_within_reviews, spearman_within_reviews),
    "reviews": (pearson_within_layers, spearman_within_layers),
}


def _correlations_of_reviews(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n,) Pearson correlation over the layers of each review; NaN where `x` or `y` is constant."""
    x, y, present = paired(x, y)
    counted = _varies(x, 1) & _varies(y, 1)
    moments = _moments(_standardised(x, 1), _standardised(y, 1), present)
    return np.where(counted, _correlation(np.moveaxis(moments.sum(axis=2), 0, -1)), np.nan)


def _varies(values: np.ndarray, axis: int | None) -> np.ndarray:
    """Whether values vary along an axis by more than rounding."""
    present = ~np.isnan(values)
    largest = values.max(axis=axis, where=present, initial=-np.inf)
    smallest = values.min(axis=axis, where=present, initial=np.inf)
    return largest - smallest > _CONSTANT * np.maximum(np.abs(largest), np.abs(smallest))


def _standardised(values: np.ndarray, axis: int | None) -> np.ndarray:
    """`values` less their mean, over their standard deviation, so that no moment cancels; 0 for NaN."""
    present = ~np.isnan(values)
    counts = np.maximum(present.sum(axis=axis, keepdims=True), 1)
    centred = np.where(present, values - np.nansum(values, axis=axis, keepdims=True) / counts, 0.0)
    spread = np.sqrt((centred**2).sum(axis=axis, keepdims=True) / counts)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)


def _moments(x: np.ndarray, y: np.ndarray, present: np.ndarray) -> np.ndarray:
    """(6, n, layers) of 1, x, y, xx, yy, xy, 0 where a value is missing."""
    return np.stack([present.astype(np.float64), x, y, x * x, y * y, x * y])


def _correlation(sums: np.ndarray) -> np.ndarray:
    """(...,) correlation from the sums (..., 6) of `_moments` of standardised values; NaN for a constant."""
    count, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    count = np.where(count > 0, count, np.nan)
    variances = (xx / count - (x / count) ** 2, yy / count - (y / count) ** 2)
    # in units of the sample's variance
    spread = np.sqrt(np.prod([np.where(variance > _CONSTANT**2, variance, np.nan) for variance in variances], axis=0))
    return ((xy / count - x * y / count**2) / spread).clip(-1, 1)


def _mean_of_layers(by_layer: np.ndarray) -> np.ndarray:
    """(draws, layers) -> (draws,) mean over the layers with a value; NaN without any."""
    counts = (~np.isnan(by_layer)).sum(axis=1)
    return np.nansum(by_layer, axis=1) / np.where(counts > 0, counts, np.nan)


def _rank_correlation(x: np.ndarray, y: np.ndarray, review: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(draws,) Spearman correlation of x and y (values,), value i weighted by weights[:, review[i]]."""
    if not (_varies(x, None) and _varies(y, None)):
        return np.full(len(weights), np.nan)
    order = np.argsort(x, kind="stable")  # neighbours in rank are neighbours in memory
    x, y, review = x[order], y[order], review[order]
    places = [_places(values) for values in (x, y)]
    parts = []
    for rows in _chunks(weights, len(x)):
        of_value = rows[:, review]
        x_ranks, y_ranks = (_centred_ranks(of_value, *place) for place in places)
        weighted = of_value * x_ranks
        products = [
            np.einsum("ij,ij->i", *pair)
            for pair in ((weighted, y_ranks), (weighted, x_ranks), (of_value * y_ranks, y_ranks))
        ]
        spread = np.sqrt(products[1] * products[2])
        enough = spread > 0
        parts.append(np.divide(products[0], spread, out=np.full_like(spread, np.nan), where=enough).clip(-1, 1))
    return np.concatenate(parts)


def _places(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The order that sorts values; for each value, the numbers of smaller ones and of those no larger."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    return order, np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")


def _centred_ranks(weights: np.ndarray, order: np.ndarray, smaller: np.ndarray, no_larger: np.ndarray) -> np.ndarray:
    """(draws, values) twice the mean rank among the weighted values, less its weighted mean.

    Twice the rank is the weight of the smaller values plus the weight of the values that are no larger. Its weighted
    sum over all values is the square of the total weight.
    """
    below = np.zeros((len(weights), len(order) + 1))
    np.cumsum(np.take(weights, order, axis=1), axis=1, out=below[:, 1:])
    return np.take(below, smaller, axis=1) + np.take(below, no_larger, axis=1) - below[:, -1:]


def _chunks(weights: np.ndarray, n_values: int) -> Iterator[np.ndarray]:
    size = max(1, _NUMBERS_AT_ONCE // max(n_values, 1))
    return (weights[start : start + size] for start in range(0, len(weights), size))
