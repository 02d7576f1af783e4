"""Metrics that torch differentiates: values of the study's metrics, gradients of finite differences."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from homogenization.interventions.conditions import cells
from homogenization.interventions.readings import read
from homogenization.metrics.differentiable import cosine_anisotropy, normalized_effective_rank
from measured import degenerate_tokens

METRICS = [cosine_anisotropy, normalized_effective_rank]


@pytest.mark.parametrize("metric", METRICS)
@given(st.integers(2, 30), st.integers(2, 20), st.integers(0, 10_000), st.sampled_from([0.0, 3.0, 100.0]))
def test_the_value_is_that_of_the_study(metric, n, width, seed, shift):
    """Of tokens that share a direction, of which one comes twice: its singular value is zero."""
    tokens = np.random.default_rng(seed).normal(size=(n, width)) + shift
    tokens[-1] = tokens[0]
    of_the_study = dict(zip(cells([metric.__name__]), read([tokens], (), [metric.__name__])[0], strict=True))
    rows = torch.from_numpy(tokens)
    assert float(metric(rows)) == pytest.approx(of_the_study["all_tokens", metric.__name__], rel=1e-6, abs=1e-9)
    if n > 2:
        of_centred = float(metric(rows - rows.mean(dim=0), True))
        assert of_centred == pytest.approx(of_the_study["centred", metric.__name__], rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_the_gradient_is_that_of_finite_differences(metric, shape):
    tokens = torch.from_numpy(np.random.default_rng(0).normal(size=shape) + 1).requires_grad_()
    assert torch.autograd.gradcheck(metric, (tokens,), eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_a_row_of_zeros_has_a_finite_gradient(metric):
    tokens = torch.eye(6, 4, dtype=torch.float64).requires_grad_()  # the last two
    metric(tokens).backward()
    assert torch.isfinite(tokens.grad).all()


@pytest.mark.parametrize("metric", METRICS)
@given(tokens=degenerate_tokens().filter(lambda tokens: len(tokens) > 1))
def test_degenerate_tokens_have_a_value(metric, tokens):
    rows = torch.from_numpy(tokens).double().requires_grad_()
    value = metric(rows)
    value.backward()
    assert torch.isfinite(value)


@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_a_solver_that_fails_has_another_in_its_place(shape, monkeypatch):
    def value_and_slopes(tokens):
        rows = torch.from_numpy(tokens).requires_grad_()
        value = normalized_effective_rank(rows)
        value.backward()
        return float(value.detach()), rows.grad.numpy()

    def failing(_):
        raise torch.linalg.LinAlgError

    tokens = np.random.default_rng(0).normal(size=shape) + 1
    value, slopes = value_and_slopes(tokens)
    monkeypatch.setattr(torch.linalg, "eigvalsh", failing)
    found, by_ql = value_and_slopes(tokens)
    assert found == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(by_ql, slopes, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_tokens_that_are_not_finite_have_no_value(metric):
    """A training that diverges says so by its loss, not by an error of a solver."""
    assert torch.isnan(metric(torch.full((4, 3), torch.nan, dtype=torch.float64)))
