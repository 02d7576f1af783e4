"""Tests by sign flips, and their correction: closed forms, answers of scipy, and simulations whose rates are known."""

import itertools

import numpy as np
import pytest
from scipy import stats

from homogenization.statistics.resampling import (
    flip_p,
    sign_flips,
)
from library.statistics.simulated import ERRORS, skewed, with_gaps


def corrected(sample):
    """t of the mean after Hall's transformation, by scipy's moments."""
    n, t = len(sample), stats.ttest_1samp(sample, 0).statistic
    bend = stats.skew(sample) / (3 * np.sqrt(n))
    return t + bend * t**2 + bend**2 * t**3 / 3 + bend / 2


def single_p(values, flips):
    return flip_p(values, flips)[0]


def max_t_p(values, flips):
    return flip_p(values, flips)[1]


class TestFlips:
    def test_all_of_them_where_they_fit(self):
        flips = sign_flips(4, 16, seed=0)
        assert sorted(map(tuple, flips)) == sorted(itertools.product((-1.0, 1.0), repeat=4))
        assert (flips[0] == 1).all()

    def test_random_ones_where_they_do_not(self):
        flips = sign_flips(5, 31, seed=0)
        assert flips.shape == (31, 5)
        assert (flips[0] == 1).all()
        many = sign_flips(40, 20_000, seed=1)[1:]
        assert set(np.unique(many)) == {-1.0, 1.0}
        assert np.abs(many.mean(axis=0)).max() < 5 / np.sqrt(len(many))
        np.testing.assert_array_equal(many, sign_flips(40, 20_000, seed=1)[1:])


class TestSignFlips:
    @pytest.mark.parametrize("n", [7, 9])
    def test_against_scipy_exactly(self, n):
        values = np.random.default_rng(0).normal(0.4, 1, (n, 8))
        p = single_p(values, sign_flips(n, 512, seed=0))
        for cell, column in enumerate(values.T):
            reference = stats.permutation_test(
                (column,), corrected, permutation_type="samples", n_resamples=np.inf, vectorized=False
            )
            assert p[cell] == pytest.approx(reference.pvalue, rel=1e-12)

    def test_random_flips_approach_the_exact_p(self):
        values = np.random.default_rng(3).normal(0.3, 1, (14, 5))
        exact = single_p(values, sign_flips(14, 2**14, seed=0))
        drawn = single_p(values, sign_flips(14, 16_000, seed=1))
        assert np.abs(drawn - exact).max() <= ERRORS * np.sqrt(0.25 / 16_000)

    def test_ties_and_trivial_cells(self):
        values = np.full((8, 5), np.nan)
        values[:, 0] = 0.1  # sums of .1 in different orders differ by rounding
        values[:, 1] = 0.0
        values[:, 2] = [0.1, 0.2, 0.3, -0.1, -0.2, -0.3, 0.7, -0.7]  # as far on either side
        values[0, 3] = 1.0
        p = single_p(values, sign_flips(8, 256, seed=0))
        np.testing.assert_array_equal(p, [2 / 256, 1, 1, np.nan, np.nan])

    def test_never_zero(self):
        p = single_p(np.random.default_rng(0).normal(9, 1, (60, 3)), sign_flips(60, 200, seed=0))
        np.testing.assert_array_equal(p, 1 / 200)

    def test_sign_and_scale_are_nothing_to_it(self):
        values, flips = with_gaps(skewed(20, 6)), sign_flips(20, 500, seed=0)
        np.testing.assert_array_equal(single_p(values, flips), single_p(-1e-9 * values, flips))
        np.testing.assert_array_equal(max_t_p(values, flips), max_t_p(-1e9 * values, flips))


class TestMaxT:
    @staticmethod
    def by_definition(values, flips):
        """Step by step: the least significant cell by itself, then the two least, and so on."""

        def sizes(signs):
            flipped = (values * signs[:, None]).T
            return [abs(corrected(column[~np.isnan(column)])) for column in flipped]

        size = np.array([sizes(signs) for signs in flips])
        order = np.argsort(size[0])
        steps = [
            (size[:, order[: step + 1]].max(axis=1) >= size[0, cell] - 1e-9).mean() for step, cell in enumerate(order)
        ]
        p = np.empty(len(order))
        p[order] = [max(steps[step:]) for step in range(len(order))]
        return p

    @pytest.mark.parametrize("gaps", [False, True])
    def test_by_definition(self, gaps):
        values = np.random.default_rng(5).normal(0.5, 1, (12, 4)) * [1, 10, 0.1, 1]
        values = with_gaps(values) if gaps else values
        flips = sign_flips(12, 200, seed=1)
        np.testing.assert_allclose(max_t_p(values, flips), self.by_definition(values, flips), rtol=1e-12)

    def test_one_cell_is_the_plain_test(self):
        values, flips = with_gaps(skewed(25, 8)), sign_flips(25, 999, seed=1)
        alone = np.concatenate([max_t_p(values[:, [cell]], flips) for cell in range(8)])
        np.testing.assert_array_equal(alone, single_p(values, flips))
        assert (max_t_p(values, flips) >= alone).all()

    def test_copies_of_a_cell_cost_nothing(self):
        values, flips = skewed(25, 1), sign_flips(25, 999, seed=1)
        copies = max_t_p(np.repeat(values, 12, axis=1) * np.arange(1, 13), flips)
        np.testing.assert_array_equal(copies, np.repeat(single_p(values, flips), 12))

    def test_trivial_cells_do_not_count(self):
        values = np.full((10, 5), np.nan)
        values[:, 0] = np.random.default_rng(0).normal(0.5, 1, 10)
        values[:, 1] = 0.0
        values[0, 2] = 1.0
        values[:, 4] = 0.1  # t is infinite
        flips = sign_flips(10, 1024, seed=0)
        p = max_t_p(values[:, :4], flips)
        np.testing.assert_array_equal(p, [single_p(values[:, :1], flips)[0], 1, np.nan, np.nan])
        assert max_t_p(values, flips)[4] == 2 / 1024
        assert np.isnan(max_t_p(values[:, 2:4], flips)).all()
        np.testing.assert_array_equal(max_t_p(values[:, 1:2], flips), 1)
