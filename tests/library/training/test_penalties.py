"""Penalties are the metrics of the study, have the gradients of finite differences, and read the pre-norm states."""

import copy

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

import tiny_models
from homogenization.interventions.conditions import cells
from homogenization.interventions.readings import read
from homogenization.metrics.differentiable import cosine_anisotropy
from homogenization.models.blocks import blocks_of
from homogenization.training.penalties import (
    METRICS,
    centred_effective_rank,
    metric_of_batch,
    states_captured,
)

CELLS = {
    "cosine": ("all_tokens", "cosine_anisotropy"),
    "centred_effective_rank": ("centred", "normalized_effective_rank"),
}


def of_the_study(name: str, tokens: np.ndarray) -> float:
    """The metric of a token matrix, first token left out, as tables have it."""
    metrics = [CELLS[name][1]]
    return dict(zip(cells(metrics), read([tokens[1:]], (), metrics)[0], strict=True))[CELLS[name]]


@pytest.mark.parametrize("name", METRICS)
@given(st.integers(4, 40), st.integers(2, 24), st.integers(0, 10_000), st.sampled_from([0.0, 3.0, 100.0]))
def test_a_penalty_is_the_metric_of_the_study(name, n, width, seed, shift):
    """Of padded reviews, whose first token is massive, and whose tokens share a direction."""
    rng = np.random.default_rng(seed)
    reviews = [rng.normal(size=(n + more, width)) + shift for more in (0, 3)]
    padded = torch.full((2, n + 7, width), 9.0)
    for row, tokens in enumerate(reviews):
        tokens[0] *= 100
        padded[row, : len(tokens)] = torch.from_numpy(tokens)
    rounded = [padded[row, : len(tokens)].numpy() for row, tokens in enumerate(reviews)]
    expected = np.mean([of_the_study(name, tokens.astype(np.float64)) for tokens in rounded])
    found = metric_of_batch(METRICS[name][0], padded, [len(tokens) for tokens in reviews])
    assert float(found) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("metric", [cosine_anisotropy, centred_effective_rank])
@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_the_gradient_is_that_of_finite_differences(metric, shape):
    """Of centred rows one singular value is zero, where a root without a floor has none."""
    tokens = torch.from_numpy(np.random.default_rng(0).normal(size=shape) + 1).requires_grad_()
    assert torch.autograd.gradcheck(metric, (tokens,), eps=1e-6, atol=1e-6)


def test_tokens_that_are_equal_have_finite_gradients():
    tokens = torch.ones(6, 4, dtype=torch.float64) + 1e-6 * torch.eye(6, 4, dtype=torch.float64)
    for metric, _ in METRICS.values():
        leaf = tokens.clone().requires_grad_()
        metric(leaf).backward()
        assert torch.isfinite(leaf.grad).all()


@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2"])
def test_states_are_those_before_the_final_norm(name):
    config = copy.deepcopy(tiny_models.CONFIGS[name])
    torch.manual_seed(0)
    network = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    (ids,) = tiny_models.random_texts([12])
    with torch.no_grad(), states_captured(blocks_of(network), range(4)) as taken:
        output = network(torch.tensor([ids]), output_hidden_states=True)
    for layer in range(3):
        torch.testing.assert_close(taken[layer], output.hidden_states[layer])
    assert not torch.allclose(taken[3], output.hidden_states[3])
    norm = next(module for module in (getattr(network.base_model, key, None) for key in ("norm", "ln_f")) if module)
    torch.testing.assert_close(norm(taken[3]), output.hidden_states[3])
