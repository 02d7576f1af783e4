"""What a variant does beyond disorder: a plain loop, a ladder that explains all, and the spread of made-up studies."""

import numpy as np
import pytest

from homogenization.statistics.estimate import summary
from homogenization.statistics.rest import rest

N = 24


def study(seed, loss=0.8, beyond=0.0, noise=0.3, law=lambda losses: 2 * losses):
    """A variant and a ladder of three steps: a `law` of the loss, and noise; and `beyond` in the variant."""
    generator = np.random.default_rng(seed)

    def changes(loss, more=0.0):
        losses = loss * (1 + 0.2 * generator.uniform(-1, 1, N))
        return law(losses)[:, None] + more + noise * generator.standard_normal((N, 2)), losses

    return changes(loss, beyond), [changes(loss) for loss in (0.3, 1.4, 3.0)]


def plain(variant, ladder):
    """The rest of each cell with numpy's interpolation, over the reviews of the variant."""
    found = []
    for cell in range(variant[0].shape[1]):
        there = ~np.isnan(variant[0][:, cell] + variant[1])
        pairs = [np.stack([loss, of[:, cell]])[:, there] for of, loss in (*ladder, variant)]
        *steps, (at, of) = [tuple(pair[:, ~np.isnan(pair).any(axis=0)].mean(axis=1)) for pair in pairs]
        x, y = zip((0.0, 0.0), *sorted(steps), strict=True)
        found.append(of - np.interp(at, x, y) - min(at, 0) * y[1] / x[1] if at <= x[-1] else np.nan)
    return found


@pytest.mark.parametrize("loss", [-0.4, 0.1, 0.8, 2.5, 9.0])
def test_the_mean_is_that_of_a_plain_loop(loss):
    variant, ladder = study(0, loss)
    variant[0][3] = variant[0][4, 1] = ladder[1][0][5] = ladder[1][0][6, 0] = ladder[2][1][7] = np.nan
    found = rest(variant, ladder)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(variant[0]) | (loss == 9))
    np.testing.assert_allclose(summary(found, 0.95)["mean"], plain(variant, ladder))
    assert np.isnan(rest(variant, ladder[:1])).all()


def test_a_variant_that_lies_on_the_ladder_has_no_rest():
    np.testing.assert_allclose(rest(*study(1, noise=0, beyond=0.5)), 0.5)
    _, ladder = study(2, law=np.sqrt)
    for step in ladder:
        np.testing.assert_allclose(rest(step, ladder), 0, atol=1e-12)


@pytest.mark.parametrize(("loss", "power"), [(0.8, 1), (0.3, 0.5), (1.4, 0.5)])
def test_its_interval_holds_what_a_straight_ladder_and_the_knots_of_a_bent_one_do_not_know(loss, power):
    ends = [summary(rest(*study(seed, loss, law=lambda losses: 2 * losses**power)), 0.95) for seed in range(200)]
    covered = np.mean([(of["ci_low"] <= 0) & (of["ci_high"] >= 0) for of in ends])
    assert covered == pytest.approx(0.95, abs=0.03)
