"""Rows of the table `intervened` with known effects, for tests of what is made from it."""

import numpy as np
import polars as pl

from homogenization.statistics.effects import Condition
from homogenization.tables.intervened import INTERVENED_BY_REVIEW_SCHEMA, UNTOUCHED

COSINE = "cosine_anisotropy"
STRENGTHS = (0.05, 0.1, 0.2, 0.4)


def steering(pattern, strength, blocks="all"):
    return Condition("steering", pattern, blocks, strength)


def intervened_rows(
    conditions,
    kl=None,
    moved=None,
    layers="all",
    metric=COSINE,
    view="all_tokens",
    model="m",
    size=1.0,
    branch_norm=False,
):
    """Rows from the metric (reviews,) of each condition.

    Args:
        conditions: values by condition; the untouched run has zeros where it is not given. A NaN has no row.
        kl: (reviews,) by condition; null without.
        moved: (reviews,) bool by condition; False without.
        layers, metric, view, model: names of all rows.
        size: the yardstick.
        branch_norm: whether a norm follows attention inside its branch.
    """
    n = len(next(iter(conditions.values())))
    parts = []
    conditions = {Condition(UNTOUCHED): np.zeros(n)} | conditions
    for condition, values in conditions.items():
        columns = {
            "model": model,
            "variant": "original",
            "review_id": [f"r{number:03d}" for number in range(n)],
            **condition._asdict(),
            "layers": layers,
            "view": view,
            "metric": metric,
            "value": np.asarray(values, dtype=float),
            "untouched": np.asarray(conditions[Condition(UNTOUCHED)], dtype=float),
            "kl": (kl or {}).get(condition),
            "sink_moved": (moved or {}).get(condition, False),
            "branch_norm": branch_norm,
            "yardstick": size,
        }
        parts.append(pl.DataFrame(columns, schema=INTERVENED_BY_REVIEW_SCHEMA))
    return pl.concat(parts).filter(pl.col("value").is_not_nan())


def curves(effects, damage, n=40, noise=0.0, seed=0):
    """Conditions and KL of patterns of steering: the change is effect x strength, the KL is damage x strength ** 2.

    Args:
        effects: change per unit strength by pattern; a tuple is that of each review.
        damage: KL per squared strength by pattern.
        n: number of reviews.
        noise: standard deviation over reviews of the effect per unit strength, and relative one of the KL.
        seed: of the noise.
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
