"""Perplexity against homogenization: the partial rank correlation, its test, its confounds."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import pearsonr, rankdata, spearmanr

from examples import example_table
from homogenization.consequences.schemas import TEXTS_SCHEMA
from homogenization.interventions.schemas import DOSES_SCHEMA, INTERVENED_SCHEMA
from homogenization.names.numbers import NO_HEAD
from homogenization.statistics.predictability import (
    CONFOUNDS,
    NOTHING,
    partial_correlation,
    permutation_p,
    predictability_table,
    rank_residuals,
)
from homogenization.statistics.resampling import Resampling

N = 80
NAMES = [f"r{number:03d}" for number in range(N)]
CONDITION = {"kind": "untouched", "pattern": None, "blocks": "all", "strength": None}


def tables(loss, lengths, types, layers):
    """The texts and the metrics of one model; `layers` (n, layers) is the mean cosine."""
    names = {"model": "m", "variant": "original", "condition": "untouched"}
    numbers = {"cross_entropy": loss, "n_tokens": lengths, "type_token_ratio": types}
    texts = example_table(TEXTS_SCHEMA, **names, **CONDITION, review_id=NAMES, **numbers)
    names |= {"view": "all_tokens", "metric": "cosine_anisotropy"}
    layer, review = (index.ravel() for index in np.indices(layers.T.shape))
    place = {"review_id": [NAMES[number] for number in review], "layer": layer, "depth": layer / 2}
    schema = INTERVENED_SCHEMA | {name: DOSES_SCHEMA[name] for name in CONDITION}
    return example_table(schema, **names, **CONDITION, **place, value=layers.T.ravel()), texts


@pytest.fixture
def confounded():
    """Repeated words raise the cosine of all layers and lower the loss; layer 2 has a part of the loss besides."""
    generator = np.random.default_rng(0)
    types, lengths = generator.uniform(0.3, 0.9, N), generator.integers(50, 300, N)
    loss = 3 * types + 0.3 * generator.standard_normal(N)
    own = -types[:, None] + 0.1 * generator.standard_normal((N, 3))
    own[:, 2] -= 0.5 * loss
    return loss, lengths, types, own


def test_it_equals_the_correlation_of_residuals_of_ranks(confounded):
    """Another way to the same number: regress ranks on ranks, correlate what is left."""
    loss, lengths, types, own = confounded
    found = predictability_table(*tables(loss, lengths, types, own), Resampling(200, 0.95, 0))
    covariates = np.column_stack([np.ones(N), *(rankdata(values) for values in (lengths, types, own[:, 0]))])
    for layer in range(3):
        raw = found.filter(layer=layer, given=NOTHING)["estimate"][0]
        assert raw == pytest.approx(spearmanr(loss, own[:, layer]).statistic, abs=1e-12)
        given = found.filter(layer=layer, given=CONFOUNDS)
        assert len(given) == (layer > 0)
        if layer:
            left = [
                ranks - covariates @ np.linalg.lstsq(covariates, ranks, rcond=None)[0]
                for ranks in (rankdata(loss), rankdata(own[:, layer]))
            ]
            assert given["estimate"][0] == pytest.approx(pearsonr(*left).statistic, abs=1e-9)


def test_what_repeated_words_do_to_both_is_taken_out_and_the_rest_stays(confounded):
    found = predictability_table(*tables(*confounded), Resampling(500, 0.95, 0))
    raw, given = (found.filter(layer=1, given=name).row(0, named=True) for name in (NOTHING, CONFOUNDS))
    assert raw["estimate"] < -0.7
    assert raw["p_value"] <= raw["p_max_t"] < 0.01
    assert given["ci_low"] < 0 < given["ci_high"]
    assert given["p_value"] > 0.05
    remains = found.filter(layer=2, given=CONFOUNDS).row(0, named=True)
    assert remains["ci_high"] < 0
    assert remains["p_value"] == 1 / 501


def test_a_partial_correlation_of_three_is_the_textbook_formula():
    xy, xz, yz = 0.5, 0.3, -0.4
    found = partial_correlation(np.array(xy), np.array([xz]), np.array([yz]), np.ones((1, 1)))
    assert found == pytest.approx((xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2)))
    constant = partial_correlation(np.array(xy), np.array([np.nan]), np.array([np.nan]), np.full((1, 1), np.nan))
    assert constant == pytest.approx(xy)


def test_p_is_uniform_where_nothing_is_related():
    generator = np.random.default_rng(0)
    orders = generator.permuted(np.tile(np.arange(30), (199, 1)), axis=1)
    covariate = generator.standard_normal((30, 1))
    x = rank_residuals(covariate + generator.standard_normal((30, 1)), covariate)[:, 0]
    p = permutation_p(x, rank_residuals(covariate + generator.standard_normal((30, 400)), covariate), orders)[0]
    assert abs((p <= 0.1).mean() - 0.1) < 0.05


def test_a_model_without_a_next_token_has_one_row_with_the_reason(confounded):
    metrics, texts = tables(*confounded)
    without_head = texts.with_columns(cross_entropy=pl.lit(None, pl.Float64))
    found = predictability_table(metrics, without_head, Resampling(200, 0.95, 0))
    assert found.select("model", "reason", "n_reviews").rows() == [("m", NO_HEAD, 0)]
