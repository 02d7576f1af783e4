import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.measures.views import VIEWS, TokenGram, look_of, view_rows


def token_matrix(seed, n, width, massive=1.0, cone=0.0):
    generator = np.random.default_rng(seed)
    tokens = generator.standard_normal((n, width)) + cone * generator.standard_normal(width)
    tokens[0] *= massive
    return tokens


def spectrum(rows, length):
    """Singular values, filled up with zeros."""
    values = np.linalg.svd(rows, compute_uv=False) if len(rows) else np.empty(0)
    return np.pad(values, (0, max(0, length - len(values))))[:length]


def test_definitions():
    tokens = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])
    expected = {
        "raw": tokens,
        "centred": tokens - [4 / 3, 2],
        "unit": [[0.6, 0.8], [1, 0], [0, 1]],
        "raw_without_first": tokens[1:],
        "centred_without_first": [[0.5, -1], [-0.5, 1]],
        "unit_without_first": [[1, 0], [0, 1]],
    }
    assert set(expected) == set(VIEWS)
    for view, rows in expected.items():
        np.testing.assert_allclose(view_rows(view, tokens), rows, atol=1e-15)


def test_zero_token_has_no_direction():
    rows = view_rows("unit", np.array([[0.0, 0.0], [0.0, 5.0]]))
    np.testing.assert_array_equal(rows, [[0, 0], [0, 1]])


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 9), width=st.integers(1, 9), cone=st.sampled_from([0.0, 30.0]))
@settings(deadline=None)
def test_nested_rows_hold_both_views(seed, n, width, cone):
    """The promise of `Look.nested`: all of its rows give the one view, all but the first the other."""
    tokens = token_matrix(seed, n, width, cone=cone)
    for view in VIEWS:
        look, without_first = look_of(view)
        nested = look.nested(tokens)[1 if without_first else 0 :]
        expected = spectrum(view_rows(view, tokens), max(n, width))
        np.testing.assert_allclose(spectrum(nested, max(n, width)), expected, atol=1e-12 * (1 + expected[0]))


@pytest.mark.parametrize("massive", [1.0, 1e4])
@pytest.mark.parametrize("massive_at", [0, 5])
@pytest.mark.parametrize("cone", [0.0, 100.0])
def test_gram_is_that_of_nested_rows(massive, massive_at, cone):
    tokens = token_matrix(0, 12, 40, cone=cone)
    tokens[massive_at] *= massive
    gram = TokenGram(tokens)
    for view in VIEWS[:3]:
        look, _ = look_of(view)
        rows = look.nested(tokens)
        norms = np.linalg.norm(rows, axis=1)
        deviation = np.abs(look.gram(gram) - rows @ rows.T) / np.outer(norms, norms)
        assert deviation.max() < 1e-13


def test_centring_before_normalising_would_leak_the_first_token():
    """Why no view does both: after centring, every row points along a massive first token."""
    tokens = token_matrix(1, 300, 1000, massive=1e4)
    leaked = view_rows("unit", view_rows("centred", tokens))
    assert np.linalg.svd(leaked, compute_uv=False)[0] ** 2 / 300 > 0.99
    assert np.linalg.svd(view_rows("unit", tokens), compute_uv=False)[0] ** 2 / 300 < 0.02
