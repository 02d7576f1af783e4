"""The tridiagonal forms have the eigenvalues of the rows by their definition, all of them or the largest alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.measures.tridiagonal import tridiagonal_forms
from homogenization.measures.views import TokenGram, look_of, view_rows


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 40),
    width=st.integers(1, 40),
    massive=st.sampled_from([0.0, 1.0, 1e4]),
    view=st.sampled_from(["raw", "centred", "unit"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_largest_eigenvalue_is_that_of_the_rows_with_and_without_the_first_token(n, width, massive, view, seed):
    tokens = np.random.default_rng(seed).standard_normal((n, width))
    tokens[0] *= massive
    forms = tridiagonal_forms(look_of(view)[0], TokenGram(tokens))
    for form, name in zip(forms, (view, f"{view}_without_first"), strict=True):
        rows = view_rows(name, tokens)
        expected = np.linalg.svd(rows, compute_uv=False) ** 2
        assert len(form.diagonal) == len(expected)
        largest = form.largest_eigenvalue()
        assert np.isnan(largest) if not len(expected) else largest == pytest.approx(expected[0], rel=1e-13, abs=1e-13)
        np.testing.assert_allclose(form.eigenvalues()[::-1], expected, rtol=1e-10, atol=1e-11 * expected.max(initial=1))
