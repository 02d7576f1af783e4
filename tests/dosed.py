"""Rows of the table `intervened` with known effects, for tests of what is made from it."""

import numpy as np
import polars as pl

from homogenization.statistics.effects import Condition
from homogenization.tables.intervened import INTERVENED_BY_REVIEW_SCHEMA, UNTOUCHED

COSINE = "cosine_anisotropy"
STRENGTHS = (0.05, 0.1, 0.2, 0.4)


def steering(pattern, strength):
    return Condition("steering", pattern, "all", strength)


def intervened_rows(conditions, kl=None, moved=None, size=1.0, branch_norm=False, **names):
    """Rows from the metric (reviews,) of each condition; the untouched run has zeros unless given, a NaN has no row.

    `kl` and `moved` are arrays (reviews,) by condition; the yardstick is `size`.
    """
    n = len(next(iter(conditions.values())))
    conditions = {Condition(UNTOUCHED): np.zeros(n)} | conditions
    parts = [
        {
            "model": "m",
            "variant": "original",
            "review_id": [f"r{number:03d}" for number in range(n)],
            **condition._asdict(),
            **{"layers": "all", "view": "all_tokens", "metric": COSINE, **names},
            "value": np.asarray(values, dtype=float),
            "untouched": np.asarray(conditions[Condition(UNTOUCHED)], dtype=float),
            "kl": (kl or {}).get(condition),
            "sink_moved": (moved or {}).get(condition, False),
            "branch_norm": branch_norm,
            "yardstick": size,
        }
        for condition, values in conditions.items()
    ]
    tables = [pl.DataFrame(columns, schema=INTERVENED_BY_REVIEW_SCHEMA) for columns in parts]
    return pl.concat(tables).filter(pl.col("value").is_not_nan())


def curves(effects, damage, n=40, noise=0.0, seed=0):
    """Conditions and KL of patterns of steering: the change is effect x strength, the KL is damage x strength ** 2.

    `noise` is the standard deviation over reviews of the effect per unit strength, and the relative one of the KL.
    """
    generator = np.random.default_rng(seed)
    conditions, kl = {}, {}
    for pattern, effect in effects.items():
        own = effect + noise * generator.standard_normal(n)
        dose = damage[pattern] * np.exp(noise * generator.standard_normal(n))
        for strength in STRENGTHS:
            conditions[steering(pattern, strength)] = own * strength
            kl[steering(pattern, strength)] = dose * strength**2
    return conditions, kl
