"""Correlation of two metrics over reviews, within layers."""

import numpy as np

# Values that vary by less than this share of their size are constant. In a causal model with BOS, the first token is
# the same in every review up to the rounding of float32, and rounding has no correlation.
_CONSTANT = 1e-6


def paired(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`x` and `y`, both NaN where either is, and a mask of the places where both have a value; all of one shape."""
    present = ~(np.isnan(x) | np.isnan(y))
    return np.where(present, x, np.nan), np.where(present, y, np.nan), present


def pearson_within_layers(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean over layers of the Pearson correlation over reviews.

    Args:
        x: (n, layers) float64; a review with NaN in `x` or `y` is left out of the layer, a layer where either is
            constant of the mean.
        y: (n, layers) float64.
        weights: (draws, n) of the reviews: a bootstrap draws reviews, with all their layers, since the layers of a
            review are not independent. With `uniform_weights` it is the correlation of the sample.

    Returns:
        (draws,); NaN where no layer is left.
    """
    x, y, present = paired(x, y)
    counted = _varies(x) & _varies(y)
    x, y = _standardised(x[:, counted]), _standardised(y[:, counted])
    moments = np.stack([present[:, counted].astype(np.float64), x, y, x * x, y * y, x * y])
    by_layer = _correlation(np.stack([weights @ moment for moment in moments], axis=-1))
    counts = (~np.isnan(by_layer)).sum(axis=-1)
    return np.nansum(by_layer, axis=-1) / np.where(counts > 0, counts, np.nan)


def _varies(values: np.ndarray) -> np.ndarray:
    """Whether the values of a layer vary by more than rounding, (layers,)."""
    present = ~np.isnan(values)
    largest = values.max(axis=0, where=present, initial=-np.inf)
    smallest = values.min(axis=0, where=present, initial=np.inf)
    return largest - smallest > _CONSTANT * np.maximum(np.abs(largest), np.abs(smallest))


def _standardised(values: np.ndarray) -> np.ndarray:
    """`values` minus the mean of their layer, over its standard deviation, so that no moment cancels; 0 for NaN."""
    present = ~np.isnan(values)
    counts = np.maximum(present.sum(axis=0, keepdims=True), 1)
    centred = np.where(present, values - np.nansum(values, axis=0, keepdims=True) / counts, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0, keepdims=True) / counts)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)


def _correlation(sums: np.ndarray) -> np.ndarray:
    """(...,) correlation from sums (..., 6) of 1, x, y, xx, yy and xy of standardised values; NaN for a constant."""
    count, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    count = np.where(count > 0, count, np.nan)
    variances = (xx / count - (x / count) ** 2, yy / count - (y / count) ** 2)
    # in units of the sample's variance
    spread = np.sqrt(np.prod([np.where(variance > _CONSTANT**2, variance, np.nan) for variance in variances], axis=0))
    return ((xy / count - x * y / count**2) / spread).clip(-1, 1)
