"""Correlations with the first token: scipy's within layers, and what has none."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.statistics.estimate import Settings
from homogenization.statistics.first_token import OUTCOME, PREDICTORS, correlations
from measured import metric_rows

NORM, *_, ATTENTION = PREDICTORS
SETTINGS = Settings(draws=200, confidence=0.9, seed=3)


def study(n=30, layers=4, seed=0, alike=0.5):
    """Outcome and predictors of random numbers; attention begins after the first block."""
    generator = np.random.default_rng(seed)
    outcome = generator.random((n, layers)) + 0.1
    values = {("raw", OUTCOME): outcome, ("raw_without_first", OUTCOME): generator.random((n, layers))}
    values |= {("all_tokens", name): alike * outcome + generator.random((n, layers)) for name in PREDICTORS}
    values["all_tokens", ATTENTION][:, 0] = np.nan
    return values


def table_of(values, *more):
    rows = [metric_rows(of_metric, metric, view) for (view, metric), of_metric in values.items()]
    return correlations(pl.concat([*rows, *more]), SETTINGS)


def test_it_is_the_mean_over_layers_of_scipys():
    values = study()
    values["all_tokens", NORM][4, 1] = np.nan  # of a text of one token
    others = metric_rows(study(seed=1)["raw", OUTCOME], OUTCOME, variant="front")
    table = table_of(values, others)
    assert len(table) == 2 * len(PREDICTORS)
    for row in table.iter_rows(named=True):
        first = int(row["statistic"] == ATTENTION)  # layer that has values
        x, y = values["all_tokens", row["statistic"]], values[row["view"], OUTCOME]
        there = ~np.isnan(x[:, 1])
        expected = [stats.spearmanr(x[there, layer], y[there, layer]).statistic for layer in range(first, 4)]
        assert row["mean"] == pytest.approx(np.mean(expected))
        assert row["n_reviews"] == there.sum()
        assert (row["verdict"] == "higher") == (row["ci_low"] > 0)


def test_a_first_token_that_is_the_same_in_every_review_has_none():
    values = study()
    values["all_tokens", NORM][:, :2] = 7 + 1e-7 * study(seed=2)["raw", OUTCOME][:, :2]
    found = table_of(values).filter(statistic=NORM, view="raw").row(0, named=True)
    x, y = values["all_tokens", NORM], values["raw", OUTCOME]
    assert found["mean"] == pytest.approx(np.mean([stats.spearmanr(x[:, n], y[:, n]).statistic for n in (2, 3)]))
    values["all_tokens", NORM] = np.full((30, 4), 7.0)
    said = table_of(values).filter(statistic=NORM).select("verdict", "reason").unique().rows()
    assert said == [("not tested", f"{NORM} is the same in every review")]
