"""Metrics that torch differentiates: values of the study's metrics, gradients of finite differences."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from homogenization.interventions.conditions import cells
from homogenization.interventions.readings import read
from homogenization.metrics.differentiable import DIFFERENTIABLE
from measured import degenerate_tokens


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@given(st.integers(2, 30), st.integers(2, 20), st.integers(0, 10_000), st.sampled_from([0.0, 3.0, 100.0]))
def test_the_value_is_that_of_the_study(name, n, width, seed, shift):
    """Of tokens that share a direction, of which one comes twice: its singular value is zero."""
    tokens = np.random.default_rng(seed).normal(size=(n, width)) + shift
    tokens[-1] = tokens[0]
    of_the_study = dict(zip(cells([name]), read([tokens], (), [name])[0], strict=True))
    rows = torch.from_numpy(tokens)
    assert float(DIFFERENTIABLE[name](rows)) == pytest.approx(of_the_study["all_tokens", name], rel=1e-6, abs=1e-9)
    if n > 2 and ("centred", name) in of_the_study:
        of_centred = float(DIFFERENTIABLE[name](rows - rows.mean(dim=0), True))
        assert of_centred == pytest.approx(of_the_study["centred", name], rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_the_gradient_is_that_of_finite_differences(name, shape):
    tokens = torch.from_numpy(np.random.default_rng(0).normal(size=shape) + 1).requires_grad_()
    assert torch.autograd.gradcheck(DIFFERENTIABLE[name], (tokens,), eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_row_of_zeros_has_a_finite_gradient(name):
    tokens = torch.eye(6, 4, dtype=torch.float64).requires_grad_()  # the last two
    DIFFERENTIABLE[name](tokens).backward()
    assert torch.isfinite(tokens.grad).all()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@given(tokens=degenerate_tokens().filter(lambda tokens: len(tokens) > 1))
def test_degenerate_tokens_have_a_value(name, tokens):
    rows = torch.from_numpy(tokens).double().requires_grad_()
    value = DIFFERENTIABLE[name](rows)
    value.backward()
    assert torch.isfinite(value) == (tokens.any() or name != "max_explainable_variance")


@pytest.mark.parametrize("name", ["max_explainable_variance", "normalized_effective_rank"])
@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_a_solver_that_fails_has_another_in_its_place(name, shape, monkeypatch):
    def value_and_slopes(tokens):
        rows = torch.from_numpy(tokens).requires_grad_()
        value = DIFFERENTIABLE[name](rows)
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


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tokens_that_are_not_finite_have_no_value(name):
    """A training that diverges says so by its loss, not by an error of a solver."""
    assert torch.isnan(DIFFERENTIABLE[name](torch.full((4, 3), torch.nan, dtype=torch.float64)))
