"""Values of simulated studies, and whether the rate of what was found in them is the nominal one."""

import numpy as np

ERRORS = 4.0  # Monte-Carlo standard errors


def skewed(n, cells, seed=0):
    return np.random.default_rng(seed).exponential(size=(n, cells)) - 0.3


def with_gaps(values, seed=0):
    """A fifth of the values is missing."""
    return np.where(np.random.default_rng(seed).random(values.shape) < 0.2, np.nan, values)


def assert_rate(name, hits, nominal, slack=0.0):
    """The share of `hits` is the nominal rate within `ERRORS` standard errors and a known `slack`."""
    error = np.sqrt(nominal * (1 - nominal) / len(hits))
    rate = np.mean(hits)
    print(f"{name}: {rate:.4f}, nominal {nominal:.4f}, standard error {error:.4f}")
    assert abs(rate - nominal) <= ERRORS * error + slack, name
