import numpy as np
import pytest

from homogenization.statistics import correlation as module
from homogenization.statistics.correlation import SCOPES, pooled_pearson
from homogenization.statistics.resampling import bootstrap_weights, uniform_weights
from library.statistics.shared import by_scipy, of_one_pair

BY_SCOPE = {scope: (pearson, of_one_pair(spearmans)) for scope, (pearson, spearmans) in SCOPES.items()}
STATISTICS = [statistic for pair in BY_SCOPE.values() for statistic in pair]


def pairs(n=15, layers=6, seed=0):
    """(n, layers) values x and y that share a part, with ties and gaps."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((n, layers)).round(1)
    y = (x + generator.standard_normal((n, layers)) + np.arange(layers)).round(1)
    x[generator.random(x.shape) < 0.1] = np.nan
    y[generator.random(x.shape) < 0.1] = np.nan
    return x, y


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.__name__)
class TestStatistics:
    def test_of_the_sample_is_that_of_scipy(self, statistic):
        x, y = pairs()
        assert statistic(x, y, uniform_weights(len(x)))[0] == pytest.approx(by_scipy(statistic, x, y), abs=1e-12)

    def test_of_a_draw_is_that_of_the_reviews_drawn(self, statistic):
        """A weight of 2/n is the review twice: ranks and ties are those of the repeated values."""
        x, y = pairs()
        weights = bootstrap_weights(len(x), 20, seed=1)
        found = statistic(x, y, weights)
        for draw, own in zip(weights, found, strict=True):
            drawn = np.repeat(np.arange(len(x)), np.rint(draw * len(x)).astype(int))
            assert own == pytest.approx(by_scipy(statistic, x[drawn], y[drawn]), abs=1e-12)

    def test_is_symmetric_and_turns_with_the_sign(self, statistic):
        x, y = pairs()
        weights = bootstrap_weights(len(x), 20, seed=2)
        np.testing.assert_allclose(statistic(y, x, weights), statistic(x, y, weights), atol=1e-12)
        np.testing.assert_allclose(statistic(-x, y, weights), -statistic(x, y, weights), atol=1e-12)

    def test_ignores_scale_and_offset(self, statistic):
        x, y = pairs()
        weights = bootstrap_weights(len(x), 20, seed=2)
        moved = statistic(1000 + 1e-1 * x, 1e8 * y, weights)
        np.testing.assert_allclose(moved, statistic(x, y, weights), atol=1e-8)

    def test_of_what_is_the_same_everywhere_is_nan(self, statistic):
        x, y = pairs()
        rounding = 3 + 1e-8 * np.random.default_rng(0).standard_normal(x.shape)
        for constant in (np.full_like(x, 3.0), rounding, np.zeros_like(x), np.full_like(x, np.nan)):
            for arguments in ((constant, y), (y, constant)):
                assert np.isnan(statistic(*arguments, bootstrap_weights(len(x), 5, seed=0))).all()

    def test_does_not_depend_on_how_many_draws_are_taken_at_once(self, statistic, monkeypatch):
        x, y = pairs()
        weights = bootstrap_weights(len(x), 50, seed=2)
        at_once = statistic(x, y, weights)
        monkeypatch.setattr(module, "_NUMBERS_AT_ONCE", 7 * x.size)
        np.testing.assert_array_equal(statistic(x, y, weights), at_once)
        np.testing.assert_array_equal((x, y), pairs())  # its arguments stay as they are


@pytest.mark.parametrize("of_ranks", [False, True])
def test_the_scopes_tell_apart_what_pooling_mixes(of_ranks):
    """Over layers both rise; over reviews of a layer one falls as the other rises."""
    generator = np.random.default_rng(0)
    review, layer = np.indices((40, 8))
    x = 10 * layer + review / 40 + 0.01 * generator.standard_normal(review.shape)
    y = 10 * layer - review / 40 + 0.01 * generator.standard_normal(review.shape)
    found = {scope: pair[of_ranks](x, y, uniform_weights(40))[0] for scope, pair in BY_SCOPE.items()}
    assert found["reviews_and_layers"] > 0.9
    assert found["layers"] > 0.9
    assert found["reviews"] < -0.9


@pytest.mark.parametrize("statistic", BY_SCOPE["reviews"])
def test_a_layer_without_variation_does_not_count(statistic):
    """The first token after BOS has the same norm in every review: only other layers can correlate."""
    x, y = pairs()
    with_constant = np.column_stack([np.full(len(x), 2.0), x]), np.column_stack([y[:, 0], y])
    weights = bootstrap_weights(len(x), 20, seed=0)
    np.testing.assert_array_equal(statistic(*with_constant, weights), statistic(x, y, weights))


@pytest.mark.parametrize("statistic", BY_SCOPE["layers"])
def test_a_review_without_variation_does_not_count(statistic):
    x, y = pairs()
    more = np.vstack([x, np.full(x.shape[1], 2.0)]), np.vstack([y, y[:1]])
    assert statistic(*more, uniform_weights(len(x) + 1))[0] == pytest.approx(by_scipy(statistic, x, y), abs=1e-12)


@pytest.mark.parametrize("statistic", [spearman for _, spearman in BY_SCOPE.values()])
def test_ranks_ignore_a_monotone_scale(statistic):
    x, y = pairs()
    weights = bootstrap_weights(len(x), 20, seed=2)
    np.testing.assert_allclose(statistic(np.exp(3 * x), y**3, weights), statistic(x, y, weights), atol=1e-12)


def test_intervals_cover_the_correlation_of_reviews_that_hang_together():
    """Layers of a review are alike, so that treating them as independent would give intervals far too short."""
    n, layers, trials, correlation = 60, 8, 300, 0.6
    covered = {True: 0, False: 0}
    for trial in range(trials):
        generator = np.random.default_rng(trial)
        review = generator.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], size=n)
        noise = 0.05 * generator.standard_normal((2, n, layers))
        x, y = (review[:, [side]] + noise[side] for side in (0, 1))
        drawn = bootstrap_weights(n, 400, trial)
        alone = bootstrap_weights(n * layers, 400, trial)
        for by_review, draws in (
            (True, pooled_pearson(x, y, drawn)),
            (False, pooled_pearson(x.reshape(-1, 1), y.reshape(-1, 1), alone)),
        ):
            low, high = np.quantile(draws, [0.025, 0.975])
            covered[by_review] += low <= correlation / (1 + 0.05**2) <= high
    # four standard errors of 300 trials at .95 are .05; the percentile interval itself is a little short
    assert 0.89 < covered[True] / trials <= 1
    assert covered[False] / trials < 0.7
