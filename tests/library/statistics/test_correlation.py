import numpy as np
import pytest
from scipy import stats

from homogenization.statistics.correlation import pearson_within_layers
from homogenization.statistics.resampling import bootstrap_weights, uniform_weights
from library.statistics.shared import within_layers


def pairs(n=15, layers=6, seed=0):
    """(n, layers) values x and y that share a part, with ties and gaps."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((n, layers)).round(1)
    y = (x + generator.standard_normal((n, layers)) + np.arange(layers)).round(1)
    x[generator.random(x.shape) < 0.1] = np.nan
    y[generator.random(x.shape) < 0.1] = np.nan
    return x, y


def test_of_the_sample_and_of_a_draw_is_that_of_scipy():
    """A weight of 2/n is the review twice."""
    x, y = pairs()
    assert pearson_within_layers(x, y, uniform_weights(len(x)))[0] == pytest.approx(within_layers(x, y), abs=1e-12)
    weights = bootstrap_weights(len(x), 20, seed=1)
    for draw, own in zip(weights, pearson_within_layers(x, y, weights), strict=True):
        drawn = np.repeat(np.arange(len(x)), np.rint(draw * len(x)).astype(int))
        assert own == pytest.approx(within_layers(x[drawn], y[drawn]), abs=1e-12)
    np.testing.assert_array_equal((x, y), pairs())  # its arguments stay as they are


def test_turns_with_the_sign_and_ignores_scale_and_offset():
    x, y = pairs()
    weights = bootstrap_weights(len(x), 20, seed=2)
    found = pearson_within_layers(x, y, weights)
    np.testing.assert_allclose(pearson_within_layers(-y, x, weights), -found, atol=1e-12)
    np.testing.assert_allclose(pearson_within_layers(1000 + 1e-1 * x, 1e8 * y, weights), found, atol=1e-8)


def test_of_what_is_the_same_everywhere_is_nan():
    x, y = pairs()
    rounding = 3 + 1e-8 * np.random.default_rng(0).standard_normal(x.shape)
    for constant in (np.full_like(x, 3.0), rounding, np.zeros_like(x), np.full_like(x, np.nan)):
        for arguments in ((constant, y), (y, constant)):
            assert np.isnan(pearson_within_layers(*arguments, bootstrap_weights(len(x), 5, seed=0))).all()


def test_over_layers_both_rise_and_over_reviews_of_a_layer_one_falls():
    generator = np.random.default_rng(0)
    review, layer = np.indices((40, 8))
    x = 10 * layer + review / 40 + 0.01 * generator.standard_normal(review.shape)
    y = 10 * layer - review / 40 + 0.01 * generator.standard_normal(review.shape)
    assert pearson_within_layers(x, y, uniform_weights(40))[0] < -0.9
    assert stats.pearsonr(x.ravel(), y.ravel()).statistic > 0.9


def test_a_layer_without_variation_does_not_count():
    """The first token after BOS has the same norm in every review: only other layers can correlate."""
    x, y = pairs()
    with_constant = np.column_stack([np.full(len(x), 2.0), x]), np.column_stack([y[:, 0], y])
    weights = bootstrap_weights(len(x), 20, seed=0)
    found = pearson_within_layers(*with_constant, weights)
    np.testing.assert_array_equal(found, pearson_within_layers(x, y, weights))
