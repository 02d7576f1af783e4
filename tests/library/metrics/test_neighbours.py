"""Intrinsic dimension, neighbourhood overlap and curvature, against closed forms and numbers of another package."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.metrics.geometry import (
    TokenMatrix,
    curvature,
    first_token_energy_share,
    first_token_explained_variance,
    intrinsic_dimension,
    neighbourhood_overlap,
)
from measured import degenerate_tokens


def test_numbers_of_dadapy():
    """`compute_id_2NN(algorithm="ml")` and `return_data_overlap(k=10)` of dadapy 0.3.4."""
    rng = np.random.default_rng(7)
    tokens = rng.standard_normal((200, 20)) * np.arange(1, 21) ** -0.7
    later = tokens + 0.3 * rng.standard_normal(tokens.shape)
    assert intrinsic_dimension(TokenMatrix(tokens)) == pytest.approx(11.59558222069379, rel=1e-12)
    assert neighbourhood_overlap(TokenMatrix(later, TokenMatrix(tokens).neighbours)) == pytest.approx(0.29, rel=1e-12)


@pytest.mark.parametrize(("width", "n", "expected"), [(5, 60, 4.36), (5, 1000, 4.62), (10, 60, 7.8), (10, 1000, 8.4)])
def test_dimension_of_a_cube(width, n, expected):
    """The mean over draws, which lies below the width: few points have neighbours on all sides."""
    rng = np.random.default_rng(0)
    found = [intrinsic_dimension(TokenMatrix(rng.uniform(size=(n, width)))) for _ in range(40 if n < 100 else 4)]
    assert np.mean(found) == pytest.approx(expected, abs=4 * np.std(found) / np.sqrt(len(found)))


@pytest.mark.parametrize("copies", [1, 3])
def test_dimension_ignores_copies_scale_and_place(copies):
    tokens = np.random.default_rng(1).standard_normal((60, 8))
    expected = intrinsic_dimension(TokenMatrix(tokens))
    assert intrinsic_dimension(TokenMatrix(np.tile(7 * tokens + 3, (copies, 1)))) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 11, 12, 40])
def test_without_the_first_token_is_a_matrix_of_the_others(n):
    rng = np.random.default_rng(n)
    tokens, before = rng.standard_normal((2, n, 5)) * ([[100.0]] + [[1.0]] * (n - 1))
    found = TokenMatrix(tokens, TokenMatrix(before).neighbours).without_first
    expected = TokenMatrix(tokens[1:], TokenMatrix(before[1:]).neighbours)
    for metric in (intrinsic_dimension, neighbourhood_overlap, curvature):
        assert metric(found) == pytest.approx(metric(expected), rel=1e-9, nan_ok=True)


def test_curvature_in_closed_form():
    tokens = np.random.default_rng(3).standard_normal((3000, 64))
    assert curvature(TokenMatrix(tokens)) == pytest.approx(120, abs=0.5)
    assert curvature(TokenMatrix(tokens.cumsum(axis=0))) == pytest.approx(90, abs=0.5)
    assert curvature(TokenMatrix(np.outer(np.arange(9), tokens[0]))) == pytest.approx(0, abs=1e-5)
    assert curvature(TokenMatrix(np.outer([0, 1] * 4, tokens[0]))) == pytest.approx(180, abs=1e-5)


@given(tokens=degenerate_tokens(), seed=st.integers(0, 100))
def test_degenerate_tokens_have_numbers_within_bounds(tokens, seed):
    tokens = tokens.astype(np.float64)
    matrix = TokenMatrix(tokens, TokenMatrix(np.random.default_rng(seed).permutation(tokens)).neighbours)
    for seen in (matrix, matrix.without_first):
        dimension, overlap, angle = intrinsic_dimension(seen), neighbourhood_overlap(seen), curvature(seen)
        assert np.isnan(dimension) or dimension > 0
        assert np.isnan(overlap) or 0 <= overlap <= 1
        assert np.isnan(angle) or 0 <= angle <= 180
    squares = np.linalg.svd(tokens, compute_uv=False) ** 2
    if len(tokens) and squares[0] > 0:
        share = first_token_explained_variance(matrix)
        assert squares[0] / squares.sum() >= share - 1e-9
        assert share >= first_token_energy_share(matrix) - 1e-9
