"""Correlations over reviews and layers: pooled, within layers and within reviews, by values and by ranks.

Each is a function of x and y (n, layers) and of weights (draws, n) of the reviews: a bootstrap draws reviews, with all
their layers, since the layers of a review are not independent. With `uniform_weights` it is the correlation of the
sample.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from scipy.stats import rankdata

from homogenization.statistics.resampling import chunks, weighted_means

# Values that vary by less than this share of their size are constant. In a causal model with BOS, the first token is
# the same in every review up to the rounding of float32, and rounding has no correlation.
_CONSTANT = 1e-6
_NUMBERS_AT_ONCE = 125_000  # resampled ranks in memory: 1 MB per array, which fits into a cache


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


def pooled_spearmans(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """`pooled_pearson` of the ranks of each x with those of each y, (xs, ys, draws).

    Ranks are taken anew in every draw, of what several pairs share once; ties have their mean rank.
    """
    found = np.empty((len(xs), len(ys), len(weights)))
    for present, pairs in _pairs_by_presence(xs, ys):
        review, layer = np.nonzero(present)
        values = {number: both[review, layer] for number, both in enumerate((*xs, *ys))}
        for (x, y), draws in _rank_correlations(values, [(x, len(xs) + y) for x, y in pairs], review, weights):
            found[x, y - len(xs)] = draws
    return found


def pearson_within_layers(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean over layers of the Pearson correlation over reviews, (draws,); arguments as `pooled_pearson`.

    Layers where `x` or `y` is constant are left out.
    """
    x, y, present = paired(x, y)
    counted = _varies(x, 0) & _varies(y, 0)
    x, y = _standardised(x[:, counted], 0), _standardised(y[:, counted], 0)
    moments = _moments(x, y, present[:, counted])
    return _mean_of_layers(_correlation(np.stack([weights @ moment for moment in moments], axis=-1)))


def spearmans_within_layers(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """`pearson_within_layers` of the ranks of each x with those of each y, (xs, ys, draws)."""
    of_layers = zip(*(np.split(values, values.shape[1], axis=1) for values in (*xs, *ys)), strict=True)
    by_layer = [pooled_spearmans(columns[: len(xs)], columns[len(xs) :], weights) for columns in of_layers]
    return _mean_of_layers(np.stack(by_layer, axis=-1))


def pearson_within_reviews(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean over reviews of the Pearson correlation over layers, (draws,); arguments as `pooled_pearson`.

    Reviews where `x` or `y` is constant are left out.
    """
    return weighted_means(_correlations_of_reviews(x, y)[:, None], weights)[:, 0]


def spearmans_within_reviews(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """`pearson_within_reviews` of the ranks of each x with those of each y, (xs, ys, draws)."""

    def of_pair(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y, _ = paired(x, y)
        counted = (_varies(x, 1) & _varies(y, 1))[:, None]
        ranks = (rankdata(np.where(counted, values, np.nan), axis=1, nan_policy="omit") for values in (x, y))
        return pearson_within_reviews(*ranks, weights)

    return np.array([[of_pair(x, y) for y in ys] for x in xs])


# scope -> Pearson correlation, and Spearman's of each of several x with each of several y
SCOPES: dict[str, tuple[Callable, Callable]] = {
    "reviews_and_layers": (pooled_pearson, pooled_spearmans),
    "layers": (pearson_within_reviews, spearmans_within_reviews),
    "reviews": (pearson_within_layers, spearmans_within_layers),
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
    """`values` minus their mean, over their standard deviation, so that no moment cancels; 0 for NaN."""
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
    """(..., layers) -> (...,) mean over the layers with a value; NaN without any."""
    counts = (~np.isnan(by_layer)).sum(axis=-1)
    return np.nansum(by_layer, axis=-1) / np.where(counts > 0, counts, np.nan)


def _pairs_by_presence(
    xs: Sequence[np.ndarray], ys: Sequence[np.ndarray]
) -> Iterator[tuple[np.ndarray, list[tuple[int, int]]]]:
    """The pairs (x, y) by the places where both have a value, which decide what is ranked."""
    groups: dict[bytes, tuple[np.ndarray, list[tuple[int, int]]]] = {}
    for place in product(range(len(xs)), range(len(ys))):
        present = paired(xs[place[0]], ys[place[1]])[2]
        groups.setdefault(present.tobytes(), (present, []))[1].append(place)
    yield from groups.values()


def _rank_correlations(
    values: Mapping[int, np.ndarray], pairs: Sequence[tuple[int, int]], review: np.ndarray, weights: np.ndarray
) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """(draws,) Spearman correlation of each of `pairs` of `values` (values,); value i has the weight of review[i]."""
    varying = {number for pair in pairs for number in pair if _varies(values[number], None)}
    places = {number: _places(values[number], review) for number in varying}
    found = {pair: np.full(len(weights), np.nan) for pair in pairs}
    tested = [pair for pair in pairs if varying.issuperset(pair)]
    for draws in chunks(len(weights), len(review), _NUMBERS_AT_ONCE):
        of_review = weights[draws]
        of_value = np.take(of_review, review, axis=1)
        ranks = {number: _centred_ranks(of_review, *place) for number, place in places.items()}
        weighted = {number: of_value * own for number, own in ranks.items()}
        squares = {number: np.einsum("ij,ij->i", weighted[number], own) for number, own in ranks.items()}
        for x, y in tested:
            spread = np.sqrt(squares[x] * squares[y])
            products = np.einsum("ij,ij->i", weighted[x], ranks[y])
            found[x, y][draws] = np.divide(products, spread, out=np.full_like(spread, np.nan), where=spread > 0).clip(
                -1, 1
            )
    yield from found.items()


def _places(values: np.ndarray, review: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The reviews of values in ascending order; for each value, the numbers of smaller ones and of those no larger."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    return review[order], np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")


def _centred_ranks(weights: np.ndarray, ordered: np.ndarray, smaller: np.ndarray, no_larger: np.ndarray) -> np.ndarray:
    """(draws, values) twice the mean rank among the weighted values, minus its weighted mean.

    Twice the rank is the weight of the smaller values plus the weight of the values that are no larger. Its weighted
    sum over all values is the square of the total weight.

    Args:
        weights: (draws, n) weights of the reviews.
        ordered: (values,) reviews of the values in ascending order.
        smaller: (values,) for each value, the number of smaller ones.
        no_larger: (values,) for each value, the number of those that are no larger.
    """
    below = np.zeros((len(weights), len(ordered) + 1))
    np.cumsum(np.take(weights, ordered, axis=1), axis=1, out=below[:, 1:])
    ranks = np.take(below, smaller, axis=1)
    ranks += np.take(below, no_larger, axis=1)
    ranks -= below[:, -1:]
    return ranks
