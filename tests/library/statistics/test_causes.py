import numpy as np
import pytest

from homogenization.statistics.causes import CAUSES
from library.statistics.shared import mean_cosine

N, WIDTH = 128, 256
UNRANGED = [name for name, cause in CAUSES.items() if not cause.ranged]


def gaussian(n=N, seed=0):
    return np.random.default_rng(seed).standard_normal((n, WIDTH))


def made(cause, strength=1.0, n=N, seed=0):
    return CAUSES[cause].distort(gaussian(n, seed), strength, np.random.default_rng(seed + 100))


@pytest.mark.parametrize("cause", UNRANGED)
def test_without_strength_the_tokens_stay_as_they_are_and_the_given_ones_always_do(cause):
    tokens = gaussian()
    np.testing.assert_allclose(CAUSES[cause].distort(tokens, 0.0, np.random.default_rng(1)), tokens, atol=1e-13)
    CAUSES[cause].distort(tokens, 1.0, np.random.default_rng(1))
    np.testing.assert_array_equal(tokens, gaussian())


def test_a_collapse_shrinks_all_distances_alike_and_keeps_the_mean():
    tokens, collapsed = gaussian(), made("collapse")
    np.testing.assert_allclose(collapsed.mean(axis=0), tokens.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(collapsed[1:] - collapsed[:-1], 1e-3 * (tokens[1:] - tokens[:-1]), atol=1e-13)
    assert mean_cosine(collapsed) > 0.999
    # half the strength twice: equal steps are equal rounds of averaging
    step = CAUSES["collapse"].distort(made("collapse", 0.5), 0.5, np.random.default_rng(0))
    np.testing.assert_allclose(step, collapsed, atol=1e-13)


def test_compression_leaves_few_dimensions_and_no_common_direction():
    tokens, compressed = gaussian(), made("compression")
    assert np.linalg.matrix_rank(compressed) == N / 16
    assert np.linalg.norm(compressed) == pytest.approx(np.linalg.norm(tokens))
    assert abs(mean_cosine(compressed)) < 0.02
    spectrum = np.linalg.svd(compressed, compute_uv=False)[:8]
    assert spectrum[0] < 2 * spectrum[-1]  # within the subspace, no direction rules


@pytest.mark.parametrize("n", [N, N + 1])
def test_antipodal_pairs_have_rank_one_and_no_mean_direction(n):
    pairs = made("antipodal_pairs", n=n)
    assert np.linalg.matrix_rank(pairs) == 1
    cosines = pairs[1:] @ pairs[0] / WIDTH
    np.testing.assert_allclose(cosines, np.where(np.arange(1, n) % 2, -1, 1))
    resultant = (n % 2) / n
    assert mean_cosine(pairs) == pytest.approx((n * resultant**2 - 1) / (n - 1))


def test_a_cone_keeps_differences_and_has_a_mean_cosine():
    tokens, cone = gaussian(), made("cone")
    np.testing.assert_allclose(cone[1:] - cone[:-1], tokens[1:] - tokens[:-1], atol=1e-12)
    assert mean_cosine(cone) == pytest.approx(1.5**2 / (1 + 1.5**2), abs=0.02)


@pytest.mark.parametrize(("cause", "place"), [("massive_first_token", 0), ("massive_later_token", N // 2)])
def test_one_token_alone_grows_massive(cause, place):
    tokens, massive = gaussian(), made(cause)
    factors = np.ones(N)
    factors[place] = 100
    np.testing.assert_allclose(massive, factors[:, None] * tokens)


@pytest.mark.parametrize("ratio", CAUSES["matrix_shape"].strengths)
def test_the_shape_of_noise_is_its_strength(ratio):
    noise = made("matrix_shape", ratio)
    assert noise.shape == (ratio * WIDTH, WIDTH)
    assert noise.std() == pytest.approx(1, abs=0.03)
