"""Values of simulated studies, and whether the rate of what was found in them is the nominal one."""

import numpy as np

ERRORS = 4.0  # Monte-Carlo standard errors


def skewed(n, cells, seed=0):
    return np.random.default_rng(seed).exponential(size=(n, cells)) - 0.3


def with_gaps(values, seed=0):
    """A fifth of the values is missing."""
    return np.where(np.random.default_rng(seed).random(values.shape) < 0.2, np.nan, values)
