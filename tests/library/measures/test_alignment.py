"""How alike the tokens of a review are: by the definitions, in closed form, and where nothing is defined."""

import numpy as np
import pytest
from hypothesis import given

from homogenization.measures.components import token_alignment
from homogenization.measures.views import TokenGram
from measured import degenerate_tokens, plain_numbers


def aligned(tokens):
    return token_alignment(TokenGram(np.asarray(tokens, dtype=np.float64)))


def test_the_opening_tokens_massive_activation_dominates_one_view_alone():
    rng = np.random.default_rng(0)
    tokens = rng.standard_normal((200, 150))
    tokens[0] *= 1e4
    (_, cosine, share), (_, cosine_rest, share_rest), *_ = aligned(tokens)
    energy = (tokens[0] ** 2).sum() / (tokens**2).sum()
    assert energy <= share < 1
    assert share_rest < 0.1
    assert max(abs(cosine), abs(cosine_rest)) < 0.01


@pytest.mark.parametrize("width", [20, 90, 300])
@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33, 40, 100])
def test_numbers_equal_their_definitions(n, width):
    rng = np.random.default_rng(n)
    tokens = rng.standard_normal((n, width)) * 10 ** rng.uniform(-3, 3, size=(n, 1))  # one may be 10^6 times another
    tokens += 0.3
    found = aligned(tokens)
    for view, seen in enumerate((tokens, tokens[1:])):
        np.testing.assert_allclose(found[view], plain_numbers(seen), rtol=1e-10, atol=1e-12)
        if len(seen) > 2:  # of two centred tokens, rounding decides how opposite they are
            np.testing.assert_allclose(found[view + 2], plain_numbers(seen - seen.mean(axis=0)), rtol=1e-9, atol=1e-9)


def test_numbers_in_closed_form():
    norm = np.sqrt(40 * 41 * 81 / 6)
    np.testing.assert_allclose(aligned(np.ones((5, 1)) * np.arange(1.0, 41.0))[0], [norm, 1, 1], rtol=1e-14)
    np.testing.assert_allclose(aligned(np.eye(40)[:7] * 3)[0], [3, 0, 1 / 7], rtol=1e-14, atol=1e-14)
    opposite = np.array([[1.0], [-1.0]]) @ np.ones((1, 40))
    np.testing.assert_allclose(aligned(opposite)[0], [np.sqrt(40), -1, 1], rtol=1e-14)


def test_what_is_undefined_is_missing():
    one, zeros = aligned(np.ones((1, 8))), aligned(np.zeros((3, 8)))
    np.testing.assert_allclose(one[0], [np.sqrt(8), np.nan, 1], rtol=1e-15)
    assert np.isnan(one[1]).all()
    assert np.isnan(one[2:, 2]).all()  # nothing is left of equal tokens
    assert (zeros[:2, :2] == 0).all()
    assert np.isnan(zeros[:, 2]).all()


@given(tokens=degenerate_tokens())
def test_degenerate_reviews_have_the_numbers_of_the_definitions(tokens):
    for numbers, seen in zip(aligned(tokens)[:2], (tokens, tokens[1:]), strict=True):
        expected = plain_numbers(seen)
        np.testing.assert_allclose(numbers[[0, 2]], [expected[0], expected[2]], rtol=1e-8)
        np.testing.assert_allclose(numbers[1], expected[1], atol=1e-12)
