"""Slopes are derivatives: they equal finite differences in float64, and those of single blocks add up."""

import copy

import numpy as np
import pytest
import torch
import transformers

from homogenization.interventions import slopes
from homogenization.interventions.conditions import VIEWS, cells
from homogenization.interventions.patterns import PATTERNS
from homogenization.interventions.readings import read
from homogenization.interventions.recorded import in_float64, record
from homogenization.interventions.schedule import Pack
from homogenization.interventions.slopes import slopes_of_review
from homogenization.metrics.differentiable import DIFFERENTIABLE
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import packed_model
from plain_interventions import derivative_at_0, steered_layers, whole_graph_slopes
from tiny_blocks import NETWORKS
from tiny_models import _GROUPED, CONFIGS, network, random_texts

METRICS = list(DIFFERENTIABLE)
EXPERTS = transformers.MixtralConfig(**_GROUPED, num_local_experts=4, num_experts_per_tok=2)


def difference(model, ids, pattern, blocks):
    """The slope of the metrics after the last block, from the numpy side of the library."""

    def values(strength):
        layers = steered_layers(model, ids, pattern, strength, blocks)
        assert layers[-1].dtype == np.float64
        return read(layers, (), METRICS)[-1]

    return derivative_at_0(values)


@pytest.mark.parametrize(
    ("name", "n_tokens"),  # less and more than the width
    [
        *((name, 30) for name in ("llama", "gemma", "qwen2", "gpt2", "gpt_neox", "bert")),
        ("llama", 90),
        ("gemma2", 90),
    ],
)
def test_slopes_equal_finite_differences_and_add_up(name, n_tokens):
    model = in_float64(packed_model(network(CONFIGS[name])))
    ids = random_texts([n_tokens])[0]
    patterns = list(PATTERNS)
    slopes = slopes_of_review(record(model, ids), b"r", patterns, METRICS)
    assert slopes.shape == (3, len(patterns), len(cells(METRICS)))
    scale = np.abs(slopes).max(axis=(0, 1)) + 1e-9
    for number, pattern in enumerate(patterns):
        blocks = range(3) if pattern in ("first", "permuted") else ()
        found = [difference(model, ids, pattern, {block}) for block in blocks]
        for block, of_block in enumerate(found):
            assert np.abs((slopes[block, number] - of_block) / scale).max() < 1e-4, (pattern, block)
        together = difference(model, ids, pattern, {0, 1, 2})
        assert np.abs((slopes[:, number].sum(axis=0) - together) / scale).max() < 1e-4, pattern
    assert scale.min() > 1e-6


@pytest.mark.parametrize("name", ["llama", "gemma3", "gpt2", "gpt_neox", "bert", "mixtral"])
def test_block_by_block_slopes_are_those_of_one_graph(name):
    """Up to the order in which the two parts of a gradient are added; from weights in bfloat16, which stay so."""
    made = network((NETWORKS | {"mixtral": EXPERTS})[name], torch.bfloat16)
    whole = in_float64(packed_model(copy.deepcopy(made).double()))
    model = in_float64(packed_model(made))
    ids, patterns = random_texts([150])[0], list(PATTERNS)
    found = slopes_of_review(record(model, ids), b"r", patterns, METRICS)
    assert {tensor.dtype for tensor in model.blocks.parameters()} == {torch.bfloat16}
    expected = whole_graph_slopes(whole, ids, patterns, METRICS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_blocks_that_share_more_than_the_stream_are_refused():
    model = in_float64(packed_model(network(CONFIGS["llama"])))
    kept = []
    model.blocks[0].register_forward_hook(lambda _module, _inputs, output: kept.append(output))
    shares = model.blocks[1].forward
    model.blocks[1].forward = lambda states, **named: shares(states + named.pop("value") * 0.1, **named)
    model.blocks[1].register_forward_pre_hook(
        lambda _module, inputs, named: (inputs, named | {"value": kept.pop()}), with_kwargs=True, prepend=True
    )
    with pytest.raises(HomogenizationError, match=r"slopes: block 2 of LlamaModel reads more of the blocks before it"):
        record(model, random_texts([9])[0])


def test_a_review_that_does_not_fit_ends_with_the_cure(monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(slopes, "slopes_of_review", full)
    model = packed_model(network(CONFIGS["llama"]))
    pack = Pack(model, "tiny", ["a"], random_texts([9]), 0)
    with pytest.raises(HomogenizationError, match=r"review a of 9 tokens does not fit .* cpu\. Lower max_tokens"):
        slopes.slopes_tables(model, pack, ["first"], METRICS, {"model": "m", "variant": "v"})


def test_a_single_token_has_no_slope():
    model = in_float64(packed_model(network(CONFIGS["llama"])))
    slopes = slopes_of_review(record(model, [5]), b"r", ["first"], ["cosine_anisotropy"])
    assert np.isnan(slopes).all()
    assert slopes.shape[-1] == len(VIEWS)
