"""What a variant does beyond disorder: a plain loop, a ladder that explains all, and the spread of made-up studies."""

import numpy as np
import pytest

from homogenization.statistics.rest import halves, rest

N = 24


def study(seed, n=N, beyond=0.0, noise=0.3, slope=2.0):
    """A variant and a ladder of three steps, whose change is `slope` a nat and noise; and `beyond` in the variant."""
    generator = np.random.default_rng(seed)

    def changes(loss, more=0.0):
        losses = loss + 0.1 * generator.standard_normal(n)
        return slope * losses[:, None] + more + noise * generator.standard_normal((n, 2)), losses

    return changes(0.8, beyond), [changes(loss) for loss in (0.3, 1.4, 3.0)]


def plain_residuals(variant, ladder, half):
    """Review by review and cell by cell, with numpy's interpolation."""
    changes, losses = variant
    found = np.full_like(changes, np.nan)
    for review, cell in np.ndindex(changes.shape):
        others = half != half[review]
        steps = sorted((np.nanmean(loss[others]), np.nanmean(of[others, cell])) for of, loss in ladder)
        x, y = zip((0.0, 0.0), *steps, strict=True)
        if losses[review] <= x[-1]:
            below = min(losses[review], 0) * y[1] / x[1]
            found[review, cell] = changes[review, cell] - np.interp(losses[review], x, y) - below
    return found


def test_the_mean_is_that_of_a_plain_loop():
    variant, ladder = study(0)
    variant[1][:2] = (-0.2, 9.0)  # below the first knot, and beyond the last
    ladder[1][0][5] = ladder[1][1][5] = np.nan
    half = halves([f"r{number}" for number in range(N)], seed=3)
    assert half.sum() == N // 2
    found, expected = rest(variant, ladder, half), plain_residuals(variant, ladder, half)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(np.nanmean(found, axis=0), np.nanmean(expected, axis=0))


def test_a_variant_that_lies_on_the_ladder_has_no_rest():
    variant, ladder = study(1, noise=0.0)
    np.testing.assert_allclose(rest(variant, ladder, np.arange(N) % 2), 0, atol=1e-12)
    beyond, ladder = study(1, noise=0.0, beyond=0.5)
    np.testing.assert_allclose(rest(beyond, ladder, np.arange(N) % 2), 0.5)


def test_its_spread_holds_what_the_curve_does_not_know():
    """Over 150 studies, the standard error of a rest is how far rests lie apart; of the residuals, it is too small."""
    half, found, plain = np.arange(N) % 2, [], []
    for seed in range(150):
        variant, ladder = study(seed)
        found.append(rest(variant, ladder, half)[:, 0])
        plain.append(plain_residuals(variant, ladder, half)[:, 0])
    apart = np.mean(found, axis=1).std(ddof=1)
    said, naive = (np.mean(np.var(of, axis=1, ddof=1) / N) ** 0.5 for of in (found, plain))
    assert said == pytest.approx(apart, rel=0.2)
    assert naive < 0.9 * apart
